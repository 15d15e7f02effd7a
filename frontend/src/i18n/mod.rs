//! Every text of the page, in one table a language. A language that lacks a text does not compile.

mod bench_de;
mod bench_en;
mod de;
mod en;

use std::cell::Cell;

pub use bench_en::BenchTexts;
pub use en::Texts;

/// A language of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English.
    En,
    /// German.
    De,
}

impl Language {
    /// Its tag in `<html lang>` and in storage.
    pub fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
        }
    }

    /// The language of a tag such as `de-AT`; English when there is no table for it.
    pub fn from_tag(tag: &str) -> Self {
        if tag.get(..2).is_some_and(|head| head.eq_ignore_ascii_case("de")) {
            Self::De
        } else {
            Self::En
        }
    }
}

thread_local! {
    static CURRENT: Cell<Language> = const { Cell::new(Language::En) };
}

/// The language in use.
pub fn current() -> Language {
    CURRENT.with(Cell::get)
}

/// Switches the language; the caller draws the page again.
pub fn set(language: Language) {
    CURRENT.with(|slot| slot.set(language));
}

/// The table in use.
pub fn texts() -> &'static Texts {
    match current() {
        Language::En => &en::EN,
        Language::De => &de::DE,
    }
}

/// Puts values into the places `{name}` of a text.
pub fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, tail)) = after.split_once('}') else {
            out.push('{');
            rest = after;
            continue;
        };
        match values.iter().find(|(key, _)| *key == name) {
            Some((_, value)) => out.push_str(value),
            None => {
                out.push('{');
                out.push_str(name);
                out.push('}');
            }
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// `t!(key)` is a text, `t!(key, n = 3)` one with its places filled; `t!(bench.key)` is one of the benchmark lab.
#[macro_export]
macro_rules! t {
    ($($key:ident).+) => {
        $crate::i18n::texts().$($key).+
    };
    ($($key:ident).+, $($name:ident = $value:expr),+ $(,)?) => {
        $crate::i18n::fill($crate::i18n::texts().$($key).+, &[$((stringify!($name), &$value.to_string())),+])
    };
}

/// `tn!(n, key_one, key)`: the text for one, or for any other number; `{n}` is filled with the number as people write it.
/// Both languages here have these two forms.
#[macro_export]
macro_rules! tn {
    ($n:expr, $($one:ident).+, $($other:ident).+ $(, $name:ident = $value:expr)* $(,)?) => {{
        let n: u64 = $n;
        let texts = $crate::i18n::texts();
        let text = if n == 1 { texts.$($one).+ } else { texts.$($other).+ };
        $crate::i18n::fill(text, &[("n", &$crate::model::format::integer(n)), $((stringify!($name), &$value.to_string())),*])
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_and_unknown_ones_stay_visible() {
        assert_eq!(fill("{n} of {m}", &[("n", "3"), ("m", "{n}")]), "3 of {n}");
        assert_eq!(fill("a {x} {", &[]), "a {x} {");
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(tn!(1, n_groups_one, n_groups), "1 group");
        assert_eq!(tn!(0, n_groups_one, n_groups), "0 groups");
        assert_eq!(tn!(2_003, n_groups_one, n_groups), "2,003 groups");
        set(Language::De);
        let german = tn!(1, strip_jobs_one, strip_jobs, queued = 2);
        set(Language::En);
        assert_eq!(german, "1 läuft, 2 in der Schlange");
    }

    #[test]
    fn a_regional_tag_finds_its_language() {
        assert_eq!(Language::from_tag("de-AT"), Language::De);
        assert_eq!(Language::from_tag("fr"), Language::En);
        assert_eq!(Language::from_tag("é"), Language::En);
    }

    #[test]
    fn both_tables_have_the_same_places() {
        let places = |text: &str| {
            let mut found: Vec<String> = text
                .split('{')
                .skip(1)
                .filter_map(|p| p.split_once('}').map(|p| p.0.to_owned()))
                .collect();
            found.sort();
            found
        };
        let both = |a: Vec<_>, b| a.into_iter().chain(b).collect::<Vec<(&str, &str)>>();
        let english = both(en::EN.entries(), en::EN.bench.entries());
        let german = both(de::DE.entries(), de::DE.bench.entries());
        for ((key, en), (_, de)) in english.into_iter().zip(german) {
            assert_eq!(places(en), places(de), "{key}");
            assert!(!de.is_empty() && !en.is_empty(), "{key}");
        }
    }
}
