//! What texts share: quoting a stranger's input in errors, numbers for people, serde through text.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

/// At most this many characters of a stranger's text are repeated in an error.
const QUOTE_MAX: usize = 80;

/// A stranger's text as it appears in an error: shortened, control characters escaped.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(QUOTE_MAX) {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    if text.chars().nth(QUOTE_MAX).is_some() {
        out.push('…');
    }
    out
}

/// Reads a map in which every name stands once: of two values nobody can tell which is meant.
pub(crate) fn each_once<'de, D, K, V>(reader: D) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: Deserialize<'de> + Ord + ToString,
    V: Deserialize<'de>,
{
    struct Map<K, V>(PhantomData<(K, V)>);

    impl<'de, K: Deserialize<'de> + Ord + ToString, V: Deserialize<'de>> Visitor<'de> for Map<K, V> {
        type Value = BTreeMap<K, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((name, value)) = access.next_entry::<K, V>()? {
                match map.entry(name) {
                    Entry::Vacant(free) => free.insert(value),
                    Entry::Occupied(taken) => {
                        let text = format!("duplicate field `{}`", quote(&taken.key().to_string()));
                        return Err(A::Error::custom(text));
                    }
                };
            }
            Ok(map)
        }
    }

    reader.deserialize_map(Map(PhantomData))
}

/// `value` with at most `digits` significant digits, without an exponent, without trailing zeros behind the point.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "nan".to_owned()
        } else if value > 0.0 {
            "inf".to_owned()
        } else {
            "-inf".to_owned()
        };
    }
    let magnitude = if value == 0.0 {
        0
    } else {
        value.abs().log10().floor() as i32
    };
    let places = usize::try_from(i32::try_from(digits).unwrap_or(i32::MAX) - 1 - magnitude).unwrap_or(0);
    let text = format!("{value:.0$}", places.min(20));
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    // Nothing is left of a tiny negative number but its sign.
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// `text` with everything outside printable ASCII replaced, for mail: tabs and line ends become spaces.
pub(crate) fn ascii(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            ' '..='~' => c,
            c if c.is_whitespace() || c.is_control() => ' ',
            '\u{b5}' | '\u{3bc}' => 'u',
            _ => '?',
        })
        .collect()
}

/// `text` cut to `width` characters; what was cut off is marked with a `~` at the end.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        out.push('~');
    }
    out
}

/// `Serialize` and `Deserialize` of a type through `Display` and `FromStr`.
macro_rules! via_text {
    ($($name:ty),+ $(,)?) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}
pub(crate) use via_text;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_digits() {
        for (value, digits, text) in [
            (0.0, 4, "0"),
            (1.0, 4, "1"),
            (0.123_45, 3, "0.123"),
            (123.456, 4, "123.5"),
            (98_765.0, 4, "98765"),
            (-0.000_000_001, 3, "-0.000000001"),
            (f64::INFINITY, 3, "inf"),
        ] {
            assert_eq!(significant(value, digits), text);
        }
    }

    #[test]
    fn mail_text_is_ascii_and_fits() {
        assert_eq!(ascii("a\tb\u{e4}\u{b5}s\n"), "a b?us ");
        assert_eq!(fit("abcdef", 4), "abc~");
        assert_eq!(fit("abcd", 4), "abcd");
    }
}
