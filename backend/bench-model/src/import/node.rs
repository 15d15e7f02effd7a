//! A place in a JSON document of a stranger: every step knows its path for the error.

use serde_json::Value;

use super::{Found, ImportError, Place, Source};

/// A value with its path.
#[derive(Clone)]
pub(super) struct Node<'a> {
    source: &'a Source<'a>,
    /// The line, when every line is a document of its own.
    line: Option<usize>,
    path: String,
    pub(super) value: &'a Value,
}

/// Parses `text` as one document. `line` is its line when every line is a document.
pub(super) fn parse(source: &Source<'_>, text: &str, line: Option<usize>) -> Result<Value, ImportError> {
    serde_json::from_str(text).map_err(|error| {
        let expected = if error.is_eof() {
            "the rest of the JSON document".to_owned()
        } else {
            "JSON".to_owned()
        };
        source.error(
            Place::Line(line.unwrap_or(error.line())),
            expected,
            &error.to_string(),
        )
    })
}

impl<'a> Node<'a> {
    pub(super) fn root(source: &'a Source<'a>, value: &'a Value, line: Option<usize>) -> Self {
        Self {
            source,
            line,
            path: String::new(),
            value,
        }
    }

    fn at(&self, path: String, value: &'a Value) -> Self {
        Self {
            source: self.source,
            line: self.line,
            path,
            value,
        }
    }

    pub(super) fn place(&self) -> Place {
        match (self.line, self.path.is_empty()) {
            (Some(line), true) => Place::Line(line),
            (Some(line), false) => Place::LineField(line, self.path.clone()),
            (None, true) => Place::Start,
            (None, false) => Place::Field(self.path.clone()),
        }
    }

    pub(super) fn error(&self, expected: &str) -> ImportError {
        let found = match self.value {
            Value::Object(_) => "an object".to_owned(),
            Value::Array(_) => "an array".to_owned(),
            other => other.to_string(),
        };
        self.source.error(self.place(), expected, &found)
    }

    /// The field `key`, if it is there and not null.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(self.at(join(&self.path, key), value))
    }

    /// The field `key`, which has to be there.
    pub(super) fn field(&self, key: &str) -> Result<Self, ImportError> {
        self.get(key).ok_or_else(|| {
            let missing = self.at(join(&self.path, key), &Value::Null);
            self.source.error(missing.place(), "a value", "nothing")
        })
    }

    pub(super) fn str(&self) -> Result<&'a str, ImportError> {
        self.value.as_str().ok_or_else(|| self.error("a text"))
    }

    pub(super) fn number(&self) -> Result<f64, ImportError> {
        self.value.as_f64().ok_or_else(|| self.error("a number"))
    }

    /// The elements of an array.
    pub(super) fn elements(&self) -> Result<Vec<Self>, ImportError> {
        let list = self.value.as_array().ok_or_else(|| self.error("an array"))?;
        Ok(list
            .iter()
            .enumerate()
            .map(|(index, value)| self.at(format!("{}[{index}]", self.path), value))
            .collect())
    }

    /// The fields of an object with their names.
    pub(super) fn fields(&self) -> Result<Vec<(&'a str, Self)>, ImportError> {
        let map = self.value.as_object().ok_or_else(|| self.error("an object"))?;
        Ok(map
            .iter()
            .map(|(key, value)| (key.as_str(), self.at(join(&self.path, key), value)))
            .collect())
    }

    /// Keeps every leaf below whose name `skip` does not know; an array of plain values is one fact.
    pub(super) fn keep_facts(&self, found: &mut Found<'_>, skip: &[&str]) {
        match self.value {
            Value::Object(map) => {
                for (key, value) in map.iter().filter(|(key, _)| !skip.contains(&key.as_str())) {
                    self.at(join(&self.path, key), value).keep_facts(found, skip);
                }
            }
            Value::Array(list) if list.iter().any(|value| value.is_object() || value.is_array()) => {
                for (index, value) in list.iter().enumerate() {
                    self.at(format!("{}[{index}]", self.path), value)
                        .keep_facts(found, skip);
                }
            }
            leaf => {
                let text = leaf.as_str().map_or_else(|| leaf.to_string(), str::to_owned);
                let name = self
                    .line
                    .map_or_else(|| self.path.clone(), |line| format!("{line}: {}", self.path));
                found.fact(name, text);
            }
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
