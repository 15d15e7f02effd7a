//! The text form of configuration files such as `datastore.cfg` (CONFIG.md §1).
//!
//! ```text
//! <type>: <id>            header in the first column
//! <TAB>key value          any leading white space; the rest of the line is the value
//!                         a blank line ends the section
//! ```
//! There are no comments and no quoting. What types and keys mean, and whether a key may repeat, is the
//! caller's business: [`Section::get`] refuses a repeated key, [`Section::get_all`] does not.

use std::collections::HashMap;
use std::fmt::Write;

use memchr::{memchr, memchr2};

use crate::text::quote;

mod edit;

pub use edit::SectionEdit;

/// A whole file: sections in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SectionConfig {
    /// The sections, ids unique.
    pub sections: Vec<Section>,
}

/// One section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Type, the word before the colon.
    pub ty: String,
    /// Id, the text after it.
    pub id: String,
    /// Keys and values in the file's order.
    pub props: Vec<(String, String)>,
    /// Line of the header, from 1; 0 for a section that was never in a file.
    pub line: usize,
}

/// Why a file cannot be read or written; `line` counts from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SectionConfigError {
    /// Neither a header nor a property nor blank.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Syntax {
        /// Where.
        line: usize,
        /// What could stand there.
        expected: &'static str,
        /// What stands there, shortened.
        found: String,
    },
    /// An id twice.
    #[error("line {line}: section `{id}` already stands at line {first}")]
    DuplicateSection {
        /// Where the second stands.
        line: usize,
        /// Where the first stands.
        first: usize,
        /// The id.
        id: String,
    },
    /// A key twice that may stand once.
    #[error("line {line}: property `{key}` of section `{id}` stands twice")]
    DuplicateProperty {
        /// Where the second stands.
        line: usize,
        /// The section.
        id: String,
        /// The key.
        key: String,
    },
    /// A value that would not be read back as it is.
    #[error("section `{id}`: {what} `{found}` cannot be written: {reason}")]
    Unwritable {
        /// The section.
        id: String,
        /// Type, id, key or value.
        what: &'static str,
        /// The text, shortened.
        found: String,
        /// Why.
        reason: &'static str,
    },
}

/// Reads a file section by section and copies nothing. Whether an id stands twice is for the caller to see.
#[derive(Debug)]
pub struct Sections<'t> {
    text: &'t str,
    /// Bytes read.
    at: usize,
    /// Lines read.
    line: usize,
    props: Vec<(&'t str, &'t str)>,
}

/// One section as it stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionText<'r, 't> {
    /// Type, the word before the colon.
    pub ty: &'t str,
    /// Id, the text after it.
    pub id: &'t str,
    /// Line of the header, from 1.
    pub line: usize,
    /// The lines of the properties, for [`properties`].
    pub text: &'t str,
    /// Keys and values in the file's order.
    pub props: &'r [(&'t str, &'t str)],
}

impl<'t> Sections<'t> {
    /// Reads `text` from its beginning.
    pub fn new(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            line: 0,
            props: Vec::new(),
        }
    }

    /// The next section; `None` behind the last.
    ///
    /// # Errors
    /// [`SectionConfigError::Syntax`] with the line.
    pub fn next_section(&mut self) -> Result<Option<SectionText<'_, 't>>, SectionConfigError> {
        let header = loop {
            match self.next_line() {
                None => return Ok(None),
                Some(content) if trim(content).is_empty() => {}
                Some(content) => break content,
            }
        };
        let (ty, id) = parse_header(header).ok_or_else(|| self.syntax(HEADER, header))?;
        let (line, from) = (self.line, self.at);
        self.props.clear();
        let to = loop {
            let end = self.at;
            let Some(content) = self.next_line() else {
                break end;
            };
            match parse_property(content) {
                Some(property) => self.props.push(property),
                None if trim(content).is_empty() => break end,
                None => return Err(self.syntax(PROPERTY, content)),
            }
        };
        Ok(Some(SectionText {
            ty,
            id,
            line,
            text: self.text.get(from..to).unwrap_or_default(),
            props: &self.props,
        }))
    }

    fn next_line(&mut self) -> Option<&'t str> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let line = match memchr(b'\n', rest.as_bytes()) {
            Some(length) => {
                self.at += length + 1;
                let line = rest.get(..length)?;
                line.strip_suffix('\r').unwrap_or(line)
            }
            None => {
                self.at = self.text.len();
                rest
            }
        };
        self.line += 1;
        Some(line)
    }

    fn syntax(&self, expected: &'static str, content: &str) -> SectionConfigError {
        SectionConfigError::Syntax {
            line: self.line,
            expected,
            found: quote(content),
        }
    }
}

impl<'t> SectionText<'_, 't> {
    /// The value of a key that may stand once, and its line.
    ///
    /// # Errors
    /// [`SectionConfigError::DuplicateProperty`] when it stands twice.
    pub fn get(&self, key: &str) -> Result<Option<(usize, &'t str)>, SectionConfigError> {
        let mut found = self
            .props
            .iter()
            .zip(self.line + 1..)
            .filter(|((name, _), _)| *name == key);
        let first = found.next().map(|((_, value), line)| (line, *value));
        match found.next() {
            None => Ok(first),
            Some((_, line)) => Err(SectionConfigError::DuplicateProperty {
                line,
                id: self.id.to_owned(),
                key: key.to_owned(),
            }),
        }
    }
}

/// Keys and values in the lines of one section's properties.
pub fn properties(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(parse_property)
}

const HEADER: &str = "a header `type: id` in the first column";
const PROPERTY: &str = "a property (white space, key, white space, value) or a blank line";

impl SectionConfig {
    /// Parses a file.
    ///
    /// # Errors
    /// [`SectionConfigError`] with the line.
    pub fn parse(text: &str) -> Result<Self, SectionConfigError> {
        let mut sections: Vec<Section> = Vec::new();
        let mut lines_of: HashMap<&str, usize> = HashMap::new();
        let mut reader = Sections::new(text);
        while let Some(section) = reader.next_section()? {
            let SectionText {
                ty, id, line, props, ..
            } = section;
            if let Some(first) = lines_of.insert(id, line) {
                let id = id.to_owned();
                return Err(SectionConfigError::DuplicateSection { line, first, id });
            }
            sections.push(Section {
                ty: ty.to_owned(),
                id: id.to_owned(),
                props: props
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                    .collect(),
                line,
            });
        }
        Ok(Self { sections })
    }

    /// The section with this id.
    pub fn section(&self, id: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.id == id)
    }

    /// The section with this id, to change it.
    pub fn section_mut(&mut self, id: &str) -> Option<&mut Section> {
        self.sections.iter_mut().find(|section| section.id == id)
    }

    /// Writes the file: one tab before a property, one blank line between sections.
    ///
    /// # Errors
    /// [`SectionConfigError::Unwritable`] for a text which would be read back as something else.
    pub fn write(&self) -> Result<String, SectionConfigError> {
        let mut out = String::new();
        for section in &self.sections {
            section.check_writable()?;
            if !out.is_empty() {
                out.push('\n');
            }
            // Writing to a `String` cannot fail.
            let _ = writeln!(out, "{}: {}", section.ty, section.id);
            for (key, value) in &section.props {
                let _ = writeln!(out, "\t{key} {value}");
            }
        }
        Ok(out)
    }
}

impl Section {
    /// A section without properties.
    pub fn new(ty: &str, id: &str) -> Self {
        Self {
            ty: ty.to_owned(),
            id: id.to_owned(),
            props: Vec::new(),
            line: 0,
        }
    }

    /// The value of a key that may stand once.
    ///
    /// # Errors
    /// [`SectionConfigError::DuplicateProperty`] when it stands twice.
    pub fn get(&self, key: &str) -> Result<Option<&str>, SectionConfigError> {
        let mut found = self.props.iter().enumerate().filter(|(_, (name, _))| name == key);
        let first = found.next().map(|(_, (_, value))| value.as_str());
        match found.next() {
            None => Ok(first),
            Some((position, _)) => Err(SectionConfigError::DuplicateProperty {
                line: self.line_of(position),
                id: self.id.clone(),
                key: key.to_owned(),
            }),
        }
    }

    /// All values of a key that may repeat.
    pub fn get_all<'s>(&'s self, key: &'s str) -> impl Iterator<Item = &'s str> {
        self.props
            .iter()
            .filter(move |(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// Sets a key that may stand once, in its old place or at the end.
    pub fn set(&mut self, key: &str, value: &str) {
        match self.props.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => value.clone_into(old),
            None => self.props.push((key.to_owned(), value.to_owned())),
        }
    }

    /// Removes a key; whether it was there.
    pub fn unset(&mut self, key: &str) -> bool {
        let before = self.props.len();
        self.props.retain(|(name, _)| name != key);
        self.props.len() != before
    }

    /// Line of property number `position`: nothing may stand between header and properties.
    pub fn line_of(&self, position: usize) -> usize {
        self.line + 1 + position
    }

    fn check_writable(&self) -> Result<(), SectionConfigError> {
        let refuse = |what, found: &str, reason| SectionConfigError::Unwritable {
            id: quote(&self.id),
            what,
            found: quote(found),
            reason,
        };
        if !is_type(&self.ty) {
            return Err(refuse(
                "type",
                &self.ty,
                "expected a letter, then letters, digits, `_` or `-`",
            ));
        }
        if let Some(reason) = unwritable(&self.id) {
            return Err(refuse("id", &self.id, reason));
        }
        for (key, value) in &self.props {
            if !is_key(key) {
                return Err(refuse("key", key, "expected letters, digits, `_` or `-`"));
            }
            if let Some(reason) = unwritable(value) {
                return Err(refuse("value", value, reason));
            }
        }
        Ok(())
    }
}

/// Why a text does not survive at the end of a line.
fn unwritable(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("it is empty")
    } else if memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
        Some("it holds a line break")
    } else if trim(text).len() != text.len() {
        Some("it begins or ends with white space")
    } else {
        None
    }
}

/// As [`str::trim`], quickly where both ends are ASCII.
fn trim(text: &str) -> &str {
    let inner = trim_start(text);
    match inner.as_bytes().iter().rposition(|byte| !is_space(*byte)) {
        Some(last) if inner.as_bytes().get(last).is_some_and(u8::is_ascii) => {
            inner.get(..=last).unwrap_or(inner)
        }
        Some(_) => inner.trim_end(),
        None => "",
    }
}

/// As [`str::trim_start`], quickly where the text begins with ASCII.
fn trim_start(text: &str) -> &str {
    match text.as_bytes().iter().position(|byte| !is_space(*byte)) {
        Some(first) if text.as_bytes().get(first).is_some_and(u8::is_ascii) => {
            text.get(first..).unwrap_or(text)
        }
        Some(_) => text.trim_start(),
        None => "",
    }
}

/// White space of Unicode that is ASCII.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 0x09..=0x0d)
}

fn is_key_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-')
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_key_byte)
}

fn is_type(text: &str) -> bool {
    is_key(text) && text.starts_with(|first: char| first.is_ascii_alphabetic())
}

fn parse_header(line: &str) -> Option<(&str, &str)> {
    let (ty, id) = line.split_once(':')?;
    let id = trim(id);
    (is_type(ty) && unwritable(id).is_none()).then_some((ty, id))
}

fn parse_property(line: &str) -> Option<(&str, &str)> {
    if !line.starts_with(char::is_whitespace) {
        return None;
    }
    let content = trim(line);
    let end = content.bytes().position(|byte| !is_key_byte(byte))?;
    let (key, rest) = content.split_at_checked(end)?;
    if key.is_empty() || !rest.starts_with(char::is_whitespace) {
        return None;
    }
    // What ends the line was trimmed with it.
    let value = trim_start(rest);
    (!value.is_empty() && memchr2(b'\n', b'\r', value.as_bytes()).is_none()).then_some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trims_as_the_standard_library_does() {
        let pieces = [
            "", " ", "\t", "\u{b}", "\u{1c}", "\u{85}", "\u{a0}", "\u{3000}", "a", "\u{e4}", "\r",
        ];
        for first in pieces {
            for second in pieces {
                for third in pieces {
                    let text = format!("{first}{second}{third}");
                    assert_eq!(trim(&text), text.trim(), "{text:?}");
                    assert_eq!(trim_start(&text), text.trim_start(), "{text:?}");
                }
            }
        }
    }
}
