//! What all textual types share: conversions through their text, and quoting of strangers' input in errors.

/// `Display`, `Debug` and serde of a type through its text; needs `as_text(&self) -> impl Display` and `FromStr`.
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

/// Decodes exactly `N` bytes of hex in lower case; anything else is `None`.
pub(crate) fn lower_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let mut out = [0; N];
    hex::decode_to_slice(text, &mut out).ok()?;
    Some(out)
}
