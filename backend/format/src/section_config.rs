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

use crate::text::quote;

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

/// Room for the properties that a section usually has.
const USUAL_PROPERTIES: usize = 8;

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
        let mut inside = false;
        for (line, content) in (1..).zip(text.lines()) {
            let syntax = |expected| SectionConfigError::Syntax {
                line,
                expected,
                found: quote(content),
            };
            if content.trim().is_empty() {
                inside = false;
            } else if let Some(section) = sections.last_mut().filter(|_| inside) {
                section
                    .props
                    .push(parse_property(content).ok_or_else(|| syntax(PROPERTY))?);
            } else {
                let (ty, id) = parse_header(content).ok_or_else(|| syntax(HEADER))?;
                if let Some(first) = lines_of.insert(id, line) {
                    let id = id.to_owned();
                    return Err(SectionConfigError::DuplicateSection { line, first, id });
                }
                sections.push(Section {
                    ty: ty.to_owned(),
                    id: id.to_owned(),
                    props: Vec::with_capacity(USUAL_PROPERTIES),
                    line,
                });
                inside = true;
            }
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
    } else if text.contains(['\n', '\r']) {
        Some("it holds a line break")
    } else if text.trim() != text {
        Some("it begins or ends with white space")
    } else {
        None
    }
}

fn is_key(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn is_type(text: &str) -> bool {
    is_key(text) && text.starts_with(|first: char| first.is_ascii_alphabetic())
}

fn parse_header(line: &str) -> Option<(&str, &str)> {
    let (ty, id) = line.split_once(':')?;
    let id = id.trim();
    (is_type(ty) && unwritable(id).is_none()).then_some((ty, id))
}

fn parse_property(line: &str) -> Option<(String, String)> {
    if !line.starts_with(char::is_whitespace) {
        return None;
    }
    let (key, value) = line.trim().split_once(char::is_whitespace)?;
    let value = value.trim();
    (is_key(key) && unwritable(value).is_none()).then(|| (key.to_owned(), value.to_owned()))
}
