//! A place in a JSON document of a stranger: every step knows the way to it, and writes it down only for an error.

use std::fmt::Write as _;

pub(super) use super::document::parse;

use crate::text::quote;

use super::document::Value;
use super::{Found, ImportError, Place, Source};

/// A value and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    source: &'a Source<'a>,
    /// The line, when every line is a document of its own.
    line: Option<usize>,
    /// What it is a part of.
    outer: Option<&'a Self>,
    step: Step<'a>,
    pub(super) value: &'a Value<'a>,
}

/// From a value to a part of it.
#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Element(usize),
}

impl<'a> Node<'a> {
    pub(super) fn root(source: &'a Source<'a>, value: &'a Value<'a>, line: Option<usize>) -> Self {
        Self {
            source,
            line,
            outer: None,
            step: Step::Root,
            value,
        }
    }

    fn part(&'a self, step: Step<'a>, value: &'a Value<'a>) -> Self {
        Self {
            outer: Some(self),
            step,
            value,
            ..*self
        }
    }

    /// Such as `jobs[0].read.bw`.
    fn path(&self) -> String {
        let mut steps = vec![self.step];
        let mut at = self.outer;
        while let Some(node) = at {
            steps.push(node.step);
            at = node.outer;
        }
        let mut path = String::new();
        for step in steps.iter().rev() {
            step.append(&mut path);
        }
        path
    }

    pub(super) fn place(&self) -> Place {
        self.place_of(&self.path())
    }

    fn place_of(&self, path: &str) -> Place {
        let path = quote(path);
        match (self.line, path.is_empty()) {
            (Some(line), true) => Place::Line(line),
            (Some(line), false) => Place::LineField(line, path),
            (None, true) => Place::Start,
            (None, false) => Place::Field(path),
        }
    }

    pub(super) fn error(&self, expected: &str) -> ImportError {
        let found = match self.value {
            Value::Object(_) => "an object".to_owned(),
            Value::List(_) => "an array".to_owned(),
            Value::Text(text) => format!("\"{text}\""),
            other => other.to_string(),
        };
        self.source.error(self.place(), expected, &found)
    }

    /// The field `key`, if it is there and not null.
    pub(super) fn get(&'a self, key: &'a str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| **value != Value::Null)?;
        Some(self.part(Step::Field(key), value))
    }

    /// The field `key`, which has to be there.
    pub(super) fn field(&'a self, key: &'a str) -> Result<Self, ImportError> {
        self.get(key).ok_or_else(|| {
            let mut path = self.path();
            Step::Field(key).append(&mut path);
            self.source.error(self.place_of(&path), "a value", "nothing")
        })
    }

    pub(super) fn str(&self) -> Result<&'a str, ImportError> {
        self.value.as_str().ok_or_else(|| self.error("a text"))
    }

    pub(super) fn number(&self) -> Result<f64, ImportError> {
        self.value.as_f64().ok_or_else(|| self.error("a number"))
    }

    /// The elements of an array, one at a time.
    pub(super) fn elements(&'a self) -> Result<impl ExactSizeIterator<Item = Self>, ImportError> {
        let Value::List(list) = self.value else {
            return Err(self.error("an array"));
        };
        Ok(list
            .iter()
            .enumerate()
            .map(|(index, value)| self.part(Step::Element(index), value)))
    }

    /// The fields of an object with their names, one at a time, in the order of the names.
    pub(super) fn fields(&'a self) -> Result<impl Iterator<Item = (&'a str, Self)>, ImportError> {
        let Value::Object(fields) = self.value else {
            return Err(self.error("an object"));
        };
        Ok(fields
            .iter()
            .map(|(key, value)| (key.as_ref(), self.part(Step::Field(key), value))))
    }

    /// Keeps every leaf below whose name `skip` does not know; an array of plain values is one fact.
    ///
    /// # Errors
    /// When it is more than may be kept.
    pub(super) fn keep_facts(&self, found: &mut Found<'_>, skip: &[&str]) -> Result<(), ImportError> {
        self.keep_below(found, skip, &mut self.path())
    }

    fn keep_below(&self, found: &mut Found<'_>, skip: &[&str], path: &mut String) -> Result<(), ImportError> {
        let length = path.len();
        match self.value {
            Value::Object(fields) => {
                for (key, value) in fields.iter().filter(|(key, _)| !skip.contains(&key.as_ref())) {
                    let step = Step::Field(key);
                    step.append(path);
                    Self { value, ..*self }.keep_below(found, skip, path)?;
                    path.truncate(length);
                }
            }
            Value::List(list)
                if list
                    .iter()
                    .any(|value| matches!(value, Value::Object(_) | Value::List(_))) =>
            {
                for (index, value) in list.iter().enumerate() {
                    Step::Element(index).append(path);
                    Self { value, ..*self }.keep_below(found, skip, path)?;
                    path.truncate(length);
                }
            }
            leaf => {
                // What has no room is refused before it is written down twice.
                found.room_for_fact(path.len(), || self.place_of(path))?;
                let text = leaf.as_str().map_or_else(|| leaf.to_string(), str::to_owned);
                let name = self
                    .line
                    .map_or_else(|| path.clone(), |line| format!("{line}: {path}"));
                found.fact(name, text)?;
            }
        }
        Ok(())
    }
}

impl Step<'_> {
    fn append(self, path: &mut String) {
        match self {
            Self::Root => {}
            Self::Field(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Self::Element(index) => {
                // Writing into a String cannot fail.
                let _ = write!(path, "[{index}]");
            }
        }
    }
}
