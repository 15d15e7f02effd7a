//! The query part of an address: what a filter, sort or selection is written as, so that a link shows what was seen.

/// An ordered set of `key=value` pairs; empty values are never written.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct QueryMap(Vec<(String, String)>);

impl QueryMap {
    /// Reads `?a=1&b=x%20y`; unreadable text counts as empty, as a browser would.
    pub fn parse(text: &str) -> Self {
        let text = text.strip_prefix('?').unwrap_or(text);
        Self(serde_urlencoded::from_str(text).unwrap_or_default())
    }

    /// The value of a key, `""` when it is absent.
    pub fn get(&self, key: &str) -> &str {
        self.0.iter().find(|(k, _)| k == key).map_or("", |(_, v)| v)
    }

    /// The same map with one value changed; an empty value removes the key.
    #[must_use]
    pub fn with(&self, key: &str, value: &str) -> Self {
        let mut pairs: Vec<_> = self.0.iter().filter(|(k, _)| k != key).cloned().collect();
        if !value.is_empty() {
            pairs.push((key.to_owned(), value.to_owned()));
        }
        Self(pairs)
    }

    /// `?a=1&b=2`, or nothing at all when empty.
    pub fn to_search(&self) -> String {
        match serde_urlencoded::to_string(&self.0) {
            Ok(text) if !text.is_empty() => format!("?{text}"),
            _ => String::new(),
        }
    }
}

/// Encodes one path or query component as the API expects it.
pub fn encode(component: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(component.len());
    for byte in component.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // writing to a String cannot fail
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_survives_the_round_trip() {
        let map = QueryMap::default()
            .with("q", "state:error used>80")
            .with("sort", "-used");
        let text = map.to_search();
        assert_eq!(QueryMap::parse(&text), map);
        assert_eq!(map.with("q", "").to_search(), "?sort=-used");
        assert_eq!(QueryMap::parse("").to_search(), "");
    }

    #[test]
    fn components_are_encoded_byte_by_byte() {
        assert_eq!(
            encode("vm/100/2024-05-01T10:00:00Z"),
            "vm%2F100%2F2024-05-01T10%3A00%3A00Z"
        );
        assert_eq!(encode("é "), "%C3%A9%20");
    }
}
