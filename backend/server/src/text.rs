//! Texts of strangers on their way to a terminal, a log or a list: names in a datastore, messages about damaged files.

use std::borrow::Cow;

/// Whether a character does something to the text around it: control characters, and those that change its direction.
#[must_use]
pub fn is_odd(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text in one line that does nothing to a terminal: odd characters as `\u{1b}`.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_odd(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(printable("Büro/disk-0.img"), "Büro/disk-0.img");
        assert_eq!(
            printable("a\u{1b}[2Jb\nc\u{202e}d\u{9b}"),
            "a\\u{1b}[2Jb\\nc\\u{202e}d\\u{9b}"
        );
    }
}
