//! Why a file was not read.

use std::fmt;

/// Where in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// At the beginning: the file as a whole.
    Start,
    /// A line, counted from 1.
    Line(usize),
    /// A field of a JSON document, such as `jobs[0].read.bw`.
    Field(String),
    /// A field of a JSON document that is one line of many.
    LineField(usize, String),
    /// A byte, counted from 0.
    Byte(usize),
    /// At the end: something is missing.
    End,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("beginning"),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Field(field) => write!(f, "field `{field}`"),
            Self::LineField(line, field) => write!(f, "line {line}, field `{field}`"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::End => f.write_str("end"),
        }
    }
}

/// A file that cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("import {file}, {place}: expected {expected}, found `{found}`")]
pub struct ImportError {
    /// Name of the file, as the caller gave it.
    pub file: String,
    /// Where.
    pub place: Place,
    /// What could stand there.
    pub expected: String,
    /// What stood there, shortened.
    pub found: String,
}
