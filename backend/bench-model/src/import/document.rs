//! A JSON document of a stranger in little memory: texts stay in the file, fields stand in a list, and what is taken
//! has a limit that is checked before the memory is.
//!
//! A value takes 32 bytes, a field 56 and an object without fields none on the heap, so [`MAX_VALUES`] are half a
//! gigabyte at most, whatever the file looks like.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use crate::sample::MAX_SAMPLES;

use super::{ImportError, Place, Source};

/// Values of a document at most, objects and lists counted as well: a sample and its number of iterations for every
/// sample that a file may have.
pub(super) const MAX_VALUES: usize = 2 * MAX_SAMPLES;

/// A value of a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    List(Vec<Value<'a>>),
    /// Sorted by name; every name stands once.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl Value<'_> {
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(fields) = self else {
            return None;
        };
        let at = fields.binary_search_by(|(name, _)| name.as_ref().cmp(key));
        at.ok().and_then(|at| fields.get(at)).map(|(_, value)| value)
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.as_f64(),
            _ => None,
        }
    }
}

/// As JSON.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |text: &str| serde_json::to_string(text).map_err(|_| fmt::Error);
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(value) => f.write_str(&text(value)?),
            Self::List(list) => {
                for (index, value) in list.iter().enumerate() {
                    write!(f, "{}{value}", if index == 0 { '[' } else { ',' })?;
                }
                f.write_str(if list.is_empty() { "[]" } else { "]" })
            }
            Self::Object(fields) => {
                for (index, (name, value)) in fields.iter().enumerate() {
                    let before = if index == 0 { '{' } else { ',' };
                    write!(f, "{before}{}:{value}", text(name)?)?;
                }
                f.write_str(if fields.is_empty() { "{}" } else { "}" })
            }
        }
    }
}

/// Parses `text` as one document. `line` is its line when every line is a document.
pub(super) fn parse<'a>(
    source: &Source<'_>,
    text: &'a str,
    line: Option<usize>,
) -> Result<Value<'a>, ImportError> {
    let seen = Seen::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Reader(&seen)
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    read.map_err(|error| {
        let place = Place::Line(line.unwrap_or(error.line()));
        if let Some(name) = seen.twice.take() {
            return source.error(place, "every field of an object once", &format!("{name} twice"));
        }
        if seen.values.get() > MAX_VALUES {
            let expected = format!("at most {MAX_VALUES} values in a JSON document");
            return source.error(place, expected, "more");
        }
        let expected = if error.is_eof() {
            "the rest of the JSON document"
        } else {
            "JSON"
        };
        source.error(place, expected, &error.to_string())
    })
}

/// What was seen on the way.
#[derive(Default)]
struct Seen {
    values: Cell<usize>,
    /// The name of a field that stands twice: nobody can tell which of the two is meant.
    twice: Cell<Option<String>>,
}

/// Reads a value and counts it.
#[derive(Clone, Copy)]
struct Reader<'c>(&'c Seen);

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        let values = &self.0.values;
        values.set(values.get() + 1);
        if values.get() > MAX_VALUES {
            return Err(D::Error::custom("too many values"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'de>, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'de>, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'de>, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = access.next_element_seed(self)? {
            list.push(value);
        }
        list.shrink_to_fit();
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value<'de>, A::Error> {
        let mut fields: Vec<(Cow<'de, str>, Value<'de>)> = Vec::new();
        while let Some(name) = access.next_key_seed(Name)? {
            fields.push((name, access.next_value_seed(self)?));
        }
        fields.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut pairs = fields.iter().zip(fields.iter().skip(1));
        if let Some(((name, _), _)) = pairs.find(|((one, _), (next, _))| one == next) {
            self.0.twice.set(Some(name.clone().into_owned()));
            return Err(A::Error::custom("a field twice"));
        }
        fields.shrink_to_fit();
        Ok(Value::Object(fields))
    }
}

/// Reads the name of a field.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(value.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value<'_>, ImportError> {
        parse(&Source::new("file.json", b"").unwrap(), text, None)
    }

    #[test]
    fn a_document_is_what_serde_json_reads() {
        for text in [
            r#"{"b":[1,2.5,-3,1e300,18446744073709551615],"a":{"x":null,"y":true,"z":"\u00e4\n\""},"b2":[],"c":{}}"#,
            "[[[]],{}]",
            "\"text\"",
        ] {
            let expected: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(read(text).unwrap().to_string(), expected.to_string());
        }
        assert_eq!(
            read(r#"{"b":1,"a":2}"#).unwrap().get("b").unwrap().as_f64(),
            Some(1.0)
        );
        for text in ["", "{", "[1,]", "{} {}", "{\"a\" 1}", "nul"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_field_that_stands_twice_is_refused() {
        for text in ["{\"a\":1,\n\"b\":2,\"a\":3}\n", "[{\"a\":{},\n\"\\u0061\":{}}]\n"] {
            let error = read(text).unwrap_err();
            assert_eq!(
                error.to_string(),
                "import file.json, line 2: expected every field of an object once, found `a twice`"
            );
        }
        assert!(read(r#"[{"a":1},{"a":2}]"#).is_ok());
    }

    #[test]
    fn a_value_is_small() {
        assert!(size_of::<Value<'_>>() <= 32, "{}", size_of::<Value<'_>>());
    }

    #[test]
    fn too_many_values_are_refused_where_the_first_of_them_stands() {
        let line = format!("[{}1],\n", "1,".repeat(999_998));
        let error = read(&format!("[{}1]", line.repeat(8))).unwrap_err();
        assert_eq!(error.place, Place::Line(8));
        assert_eq!(error.expected, "at most 8000000 values in a JSON document");
        assert_eq!(error.found, "more");
    }
}
