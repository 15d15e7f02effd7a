//! The query of a request as a type. Unlike actix's, what is wrong is said with the name of the parameter, what was expected
//! and what was found.

use std::future::{Ready, ready};
use std::ops::Deref;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use serde::de::value::{Error, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer as _, MapAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::problem::ApiError;
use crate::services::error::ServiceError;

/// A query of type `T`.
pub struct Query<T>(T);

impl<T> Query<T> {
    /// What was asked for.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Query<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: DeserializeOwned> FromRequest for Query<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let parsed = parse(request.query_string());
        ready(
            parsed.map(Self).map_err(|error| {
                ServiceError::bad_request("invalid-query", format!("query: {error}")).into()
            }),
        )
    }
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(text).map_err(Error::custom)?;
    T::deserialize(Pairs {
        rest: pairs.into_iter(),
        value: None,
    })
}

struct Pairs {
    rest: std::vec::IntoIter<(String, String)>,
    /// Behind a name that was given out.
    value: Option<(String, String)>,
}

impl<'de> Deserializer<'de> for Pairs {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Pairs {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.value = self.rest.next();
        match &self.value {
            Some((name, _)) => {
                let name: StrDeserializer<'_, Error> = name.as_str().into_deserializer();
                seed.deserialize(name).map(Some)
            }
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (name, text) = self.value.take().unwrap_or_default();
        seed.deserialize(Text(&text))
            .map_err(|error| Error::custom(format!("{name}: {error}, found {text:?}")))
    }
}

/// The value of one parameter.
struct Text<'t>(&'t str);

macro_rules! numbers {
    ($($method:ident, $visit:ident: $number:ty, $expected:literal;)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let number: $number = self.0.parse().map_err(|_| Error::custom($expected))?;
            visitor.$visit(number)
        }
    )+};
}

impl<'de> Deserializer<'de> for Text<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    numbers! {
        deserialize_bool, visit_bool: bool, "expected true or false";
        deserialize_u32, visit_u32: u32, "expected a whole number from 0 to 4294967295";
        deserialize_u64, visit_u64: u64, "expected a whole number, at least 0";
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if !variants.contains(&self.0) {
            return Err(Error::custom(format!("expected one of {}", variants.join(", "))));
        }
        let text: StrDeserializer<'_, Error> = self.0.into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use fleethold_api_types::{ContentQuery, HistoryQuery, JobState};

    use super::*;

    #[test]
    fn parameters_and_what_is_wrong_with_them() {
        let query: HistoryQuery = parse("store=a%2Fb&state=ok&limit=7&unknown=1&text=x+y").unwrap();
        let expected = HistoryQuery {
            store: Some("a/b".into()),
            state: Some(JobState::Ok),
            text: Some("x y".into()),
            cursor: None,
            limit: Some(7),
        };
        assert_eq!(query, expected);
        assert_eq!(parse::<HistoryQuery>("").unwrap(), HistoryQuery::default());
        for (text, says) in [
            (
                "limit=x",
                "limit: expected a whole number from 0 to 4294967295, found \"x\"",
            ),
            (
                "limit=-1",
                "limit: expected a whole number from 0 to 4294967295, found \"-1\"",
            ),
            (
                "state=good",
                "state: expected one of queued, running, ok, failed, cancelled, interrupted, found \"good\"",
            ),
            ("limit=1&limit=2", "duplicate field `limit`"),
        ] {
            assert_eq!(
                parse::<HistoryQuery>(text).unwrap_err().to_string(),
                says,
                "{text}"
            );
        }
        let missing = parse::<ContentQuery>("file=x").unwrap_err().to_string();
        assert_eq!(missing, "missing field `snapshot`");
    }
}
