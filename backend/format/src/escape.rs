//! systemd's escaping of a text into one path component (API.md §3.2).
//!
//! `/` becomes `-`; everything but letters, digits, `_` and `.` (not in first place) becomes `\xNN`. Unlike
//! systemd, `:` is escaped, too: it separates the fields of a task identifier.

/// A text that [`escape`] never writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnescapeError {
    /// A backslash without `xNN` behind it.
    #[error("escaped text at byte {position}: expected `\\x` and two hex digits")]
    Sequence {
        /// Byte offset of the backslash.
        position: usize,
    },
    /// The bytes are not text.
    #[error("escaped text is not UTF-8 from byte {position} on")]
    Utf8 {
        /// Offset in the unescaped bytes.
        position: usize,
    },
}

/// Escapes `text`: the worker id of a task identifier, the path that a lock file stands for.
pub fn escape(text: &str) -> String {
    use std::fmt::Write;

    let mut out = String::with_capacity(text.len());
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            b'/' => out.push('-'),
            b'.' if position > 0 => out.push('.'),
            byte if byte.is_ascii_alphanumeric() || byte == b'_' => out.push(char::from(byte)),
            byte => {
                // Writing to a `String` cannot fail.
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out
}

/// Reverses [`escape`].
///
/// # Errors
/// [`UnescapeError`] with the position of what cannot be read.
pub fn unescape(text: &str) -> Result<String, UnescapeError> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes().enumerate();
    while let Some((position, byte)) = bytes.next() {
        out.push(match byte {
            b'-' => b'/',
            b'\\' => {
                let x = bytes.next().map(|(_, byte)| byte);
                let mut digit = || bytes.next().and_then(|(_, byte)| char::from(byte).to_digit(16));
                match (x, digit(), digit()) {
                    (Some(b'x'), Some(high), Some(low)) => {
                        u8::try_from(high * 16 + low).map_err(|_| UnescapeError::Sequence { position })?
                    }
                    _ => return Err(UnescapeError::Sequence { position }),
                }
            }
            byte => byte,
        });
    }
    String::from_utf8(out).map_err(|error| UnescapeError::Utf8 {
        position: error.utf8_error().valid_up_to(),
    })
}
