//! JSON into the types of the API.
//!
//! The text is read into a tree first, and each type from there. Reading types from the text itself makes the compiler
//! write the parser out for each of them, and twice, as a struct may come as an array there: 80 KiB of code.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess,
    SeqAccess, VariantAccess, Visitor, value::Error,
};

/// A value of JSON.
pub(super) enum Node {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// Reads a text.
///
/// # Errors
/// It is no JSON, or has another shape.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    T::deserialize(tree(text)?)
}

/// The tree of a text.
///
/// # Errors
/// It is no JSON.
pub(super) fn tree(text: &str) -> Result<Node, Error> {
    serde_json::from_str(text).map_err(Error::custom)
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tree;
        impl<'de> Visitor<'de> for Tree {
            type Value = Node;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Node::Null)
            }

            fn visit_bool<E>(self, v: bool) -> Result<Node, E> {
                Ok(Node::Bool(v))
            }

            fn visit_u64<E>(self, v: u64) -> Result<Node, E> {
                Ok(Node::Unsigned(v))
            }

            fn visit_i64<E>(self, v: i64) -> Result<Node, E> {
                Ok(Node::Signed(v))
            }

            fn visit_f64<E>(self, v: f64) -> Result<Node, E> {
                Ok(Node::Float(v))
            }

            fn visit_str<E>(self, v: &str) -> Result<Node, E> {
                Ok(Node::Text(v.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
                let mut nodes = Vec::new();
                while let Some(node) = list.next_element()? {
                    nodes.push(node);
                }
                Ok(Node::List(nodes))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let mut nodes = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    nodes.push(entry);
                }
                Ok(Node::Map(nodes))
            }
        }
        deserializer.deserialize_any(Tree)
    }
}

impl Node {
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Unsigned(_) | Self::Signed(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
        }
    }

    #[inline(never)]
    fn other_than(&self, expected: &str) -> Error {
        Error::custom(format_args!("expected {expected}, found {}", self.kind()))
    }
}

/// The rest of a list.
struct List(std::vec::IntoIter<Node>);

impl<'de> SeqAccess<'de> for List {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|node| seed.deserialize(node)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The rest of an object, and the value of the key that was read last.
struct Map {
    rest: std::vec::IntoIter<(String, Node)>,
    value: Option<Node>,
    key: String,
}

impl Map {
    fn next(&mut self) -> Option<Node> {
        let (key, value) = self.rest.next()?;
        self.value = Some(value);
        self.key.clone_from(&key);
        Some(Node::Text(key))
    }

    /// Says in which field it went wrong.
    #[inline(never)]
    fn within(&self, error: &Error) -> Error {
        Error::custom(format_args!("{}: {error}", self.key))
    }
}

impl<'de> MapAccess<'de> for Map {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.next().map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let value = self.value.take().unwrap_or(Node::Null);
        seed.deserialize(value).map_err(|error| self.within(&error))
    }
}

/// A variant: its name, and what is in it.
struct Variant {
    name: String,
    content: Node,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Error;
    type Variant = Node;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Node), Error> {
        Ok((seed.deserialize(Node::Text(self.name))?, self.content))
    }
}

impl<'de> VariantAccess<'de> for Node {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self {
            Self::Null => Ok(()),
            other => Err(other.other_than("nothing")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }
}

/// One for all kinds of numbers.
macro_rules! number {
    ($($name:ident)+) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self {
                Self::Unsigned(v) => visitor.visit_u64(v),
                Self::Signed(v) => visitor.visit_i64(v),
                Self::Float(v) => visitor.visit_f64(v),
                other => Err(other.other_than("a number")),
            }
        }
    )+};
}

impl<'de> Deserializer<'de> for Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Null => visitor.visit_unit(),
            Self::Bool(v) => visitor.visit_bool(v),
            Self::Unsigned(v) => visitor.visit_u64(v),
            Self::Signed(v) => visitor.visit_i64(v),
            Self::Float(v) => visitor.visit_f64(v),
            Self::Text(v) => visitor.visit_string(v),
            list @ Self::List(_) => list.deserialize_seq(visitor),
            map @ Self::Map(_) => map.deserialize_map(visitor),
        }
    }

    number! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Bool(v) => visitor.visit_bool(v),
            other => Err(other.other_than("a boolean")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Text(v) => visitor.visit_str(&v),
            other => Err(other.other_than("a text")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Text(v) => visitor.visit_string(v),
            other => Err(other.other_than("a text")),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Null => visitor.visit_none(),
            some => visitor.visit_some(some),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Null => visitor.visit_unit(),
            other => Err(other.other_than("null")),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::List(nodes) => visitor.visit_seq(List(nodes.into_iter())),
            other => Err(other.other_than("a list")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Map(entries) => visitor.visit_map(Map {
                rest: entries.into_iter(),
                value: None,
                key: String::new(),
            }),
            other => Err(other.other_than("an object")),
        }
    }

    /// A struct is an object, never a list.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let (name, content) = match self {
            Self::Text(name) => (name, Self::Null),
            Self::Map(mut entries) if entries.len() == 1 => match entries.pop() {
                Some(entry) => entry,
                None => return Err(Error::custom("expected a variant, found none")),
            },
            other => return Err(other.other_than("a variant")),
        };
        visitor.visit_enum(Variant { name, content })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleethold_api_types::{
        Event, EventKind,
        bench::{Comparison, JudgedCell},
    };

    #[test]
    fn what_serde_json_reads_is_read_the_same() {
        let text = r#"{"metric":"rate","samples":[{"side":"before","value":1},{"side":"after","value":-2.5e3}],
            "samples_total":18446744073709551615,"ratio":{"estimate":1.5,"low":null,"confidence":0.95},
            "threshold_ratio":0.03,"verdict":{"outcome":"inconclusive","more_runs":4},"unknown":{"a":[1,{}]},
            "before":{"runs":8,"min":1,"lower_quartile":1,"median":2,"upper_quartile":3,"max":3,"mad":0,
            "two_peaks":{"lower":1,"upper":3,"lower_share":0.5}},"series":-7}"#;
        let ours: JudgedCell = read(text).expect("it is a cell");
        assert_eq!(
            ours,
            serde_json::from_str::<JudgedCell>(text).expect("it is a cell")
        );
        assert_eq!((ours.samples_total, ours.series), (u64::MAX, Some(-7)));
    }

    #[test]
    fn a_whole_comparison_comes_back() {
        let whole = crate::model::bench::testing::comparison();
        let text = serde_json::to_string(&whole).expect("it is written");
        let theirs: Comparison = serde_json::from_str(&text).expect("it is read");
        assert_eq!(read::<Comparison>(&text).expect("it is read"), theirs);
    }

    #[test]
    fn events_are_read_as_the_server_writes_them() {
        let text = r#"{"standing":2,"alerts":[]}"#;
        let ours = Event::read(EventKind::Alert, tree(text).expect("it is JSON")).expect("it is an event");
        assert_eq!(
            ours,
            Event::parse(EventKind::Alert, text).expect("it is an event")
        );
    }

    #[test]
    fn an_error_says_where_and_what() {
        let text = r#"{"metric":"rate","samples":[{"side":"before","value":"fast"}]}"#;
        let error = read::<JudgedCell>(text)
            .expect_err("a text is no number")
            .to_string();
        assert_eq!(error, "samples: value: expected a number, found a text");
        let error = read::<JudgedCell>(r#"{"metric":1}"#)
            .expect_err("no text")
            .to_string();
        assert_eq!(error, "metric: expected a text, found a number");
        assert!(read::<JudgedCell>("[]").is_err() && read::<JudgedCell>("{").is_err());
        assert!(read::<Vec<u32>>("[1,-1]").is_err());
    }
}
