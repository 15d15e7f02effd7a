//! Every text of the page, in one table a language. A language that lacks a text does not compile.

mod de;
mod en;

use std::cell::Cell;

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

/// `t!(key)` is a text, `t!(key, n = 3)` one with its places filled.
#[macro_export]
macro_rules! t {
    ($key:ident) => {
        $crate::i18n::texts().$key
    };
    ($key:ident, $($name:ident = $value:expr),+ $(,)?) => {
        $crate::i18n::fill($crate::i18n::texts().$key, &[$((stringify!($name), &$value.to_string())),+])
    };
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
        for ((key, en), (_, de)) in en::EN.entries().into_iter().zip(de::DE.entries()) {
            assert_eq!(places(en), places(de), "{key}");
            assert!(!de.is_empty() && !en.is_empty(), "{key}");
        }
    }
}
