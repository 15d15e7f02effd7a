//! Several values inside one property: `key=value,key="quoted, value"` (CONFIG.md §1).

use crate::text::quote;

/// Why a property string cannot be read; `position` is a byte offset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PropertyStringError {
    /// Something else than expected.
    #[error("property string `{text}` at byte {position}: expected {expected}")]
    Syntax {
        /// The whole text, shortened.
        text: String,
        /// Where.
        position: usize,
        /// What could stand there.
        expected: &'static str,
    },
    /// A key twice.
    #[error("property string `{text}` at byte {position}: key `{key}` stands twice")]
    Duplicate {
        /// The whole text, shortened.
        text: String,
        /// Where the second stands.
        position: usize,
        /// The key.
        key: String,
    },
}

/// Parses `text` into keys and values in their order. The first element may be a bare value of `default_key`.
///
/// # Errors
/// [`PropertyStringError`] with the byte offset.
pub fn parse(text: &str, default_key: Option<&str>) -> Result<Vec<(String, String)>, PropertyStringError> {
    let mut parsed: Vec<(String, String)> = Vec::new();
    if text.is_empty() {
        return Ok(parsed);
    }
    let mut position = 0;
    loop {
        let syntax = |position, expected| PropertyStringError::Syntax {
            text: quote(text),
            position,
            expected,
        };
        let start = position;
        let rest = text.get(position..).unwrap_or_default();
        let key_len = rest.bytes().take_while(|&byte| is_key_byte(byte)).count();
        let key = if key_len > 0 && rest.as_bytes().get(key_len) == Some(&b'=') {
            position += key_len + 1;
            rest.get(..key_len).unwrap_or_default()
        } else {
            default_key
                .filter(|_| start == 0)
                .ok_or_else(|| syntax(start, "`key=value`"))?
        };
        let (value, len) = parse_value(text.get(position..).unwrap_or_default())
            .map_err(|(at, expected)| syntax(position + at, expected))?;
        if parsed.iter().any(|(known, _)| known == key) {
            return Err(PropertyStringError::Duplicate {
                text: quote(text),
                position: start,
                key: key.to_owned(),
            });
        }
        parsed.push((key.to_owned(), value));
        position += len;
        match text.as_bytes().get(position) {
            None => return Ok(parsed),
            Some(b',') => position += 1,
            Some(_) => return Err(syntax(position, "`,` or the end")),
        }
    }
}

/// Reads a value at the beginning of `rest`: its text and the bytes it took, or where which thing was expected.
fn parse_value(rest: &str) -> Result<(String, usize), (usize, &'static str)> {
    if !rest.starts_with('"') {
        let value = rest.split(',').next().unwrap_or_default();
        return Ok((value.to_owned(), value.len()));
    }
    let mut value = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((value, at + 1)),
            '\\' => value.push(match chars.next() {
                Some((_, 'n')) => '\n',
                Some((_, escaped @ ('"' | '\\'))) => escaped,
                _ => return Err((at, "`\\\"`, `\\\\` or `\\n`")),
            }),
            c => value.push(c),
        }
    }
    Err((rest.len(), "a closing `\"`"))
}

/// Writes keys and values; a value of `default_key` in first place is written bare where that can be read back.
pub fn format(values: &[(String, String)], default_key: Option<&str>) -> String {
    let mut out = String::new();
    for (position, (key, value)) in values.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        let bare =
            position == 0 && Some(key.as_str()) == default_key && !value.is_empty() && !value.contains('=');
        if !bare {
            out.push_str(key);
            out.push('=');
        }
        if value.contains([',', '"', '\\', '\n']) {
            let escaped = value
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('\n', "\\n");
            out.push('"');
            out.push_str(&escaped);
            out.push('"');
        } else {
            out.push_str(value);
        }
    }
    out
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
