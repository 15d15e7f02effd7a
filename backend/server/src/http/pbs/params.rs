//! Parameters of a call, wherever they stand (API.md §1).
//!
//! GET and DELETE: the query. POST and PUT: a JSON body alone, or a form together with the query. `_dc`, which
//! browsers add against caches, is ignored; what a handler did not ask for is refused.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::{Method, StatusCode, header};
use actix_web::{FromRequest, HttpRequest};
use fleethold_format::names::{
    ArchiveName, Authid, BackupId, BackupTime, BackupType, DatastoreName, Namespace, Userid,
};
use futures_util::StreamExt as _;
use serde_json::Value;
use zeroize::Zeroizing;

use super::envelope::PbsError;
use crate::http::{BODY_TIME, MAX_BODY, MAX_URI};

/// The parameters of one call. Take them, then [`Params::finish`].
#[derive(Default)]
pub(super) struct Params {
    values: BTreeMap<String, Vec<Zeroizing<String>>>,
}

/// A type that a parameter can have.
pub(super) trait Param: Sized {
    /// The value, or what was expected.
    fn parse(text: &str) -> Result<Self, String>;
}

impl Param for String {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}

/// A secret: wiped when dropped.
impl Param for Zeroizing<String> {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(Self::new(text.to_owned()))
    }
}

impl Param for bool {
    fn parse(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "on" | "yes" => Ok(true),
            "0" | "false" | "off" | "no" => Ok(false),
            _ => Err("expected a boolean (1, 0, true, false, on, off, yes, no)".to_owned()),
        }
    }
}

impl Param for u64 {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| "expected a number, at least 0".to_owned())
    }
}

impl Param for i64 {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "expected a number".to_owned())
    }
}

impl Param for BackupTime {
    fn parse(text: &str) -> Result<Self, String> {
        let epoch = <i64 as Param>::parse(text)?;
        Self::from_epoch(epoch).map_err(|error| error.to_string())
    }
}

macro_rules! name_params {
    ($($name:ty),+) => {$(
        impl Param for $name {
            fn parse(text: &str) -> Result<Self, String> {
                <$name>::parse(text).map_err(|error| error.to_string())
            }
        }
    )+};
}
name_params!(
    ArchiveName,
    Authid,
    BackupId,
    BackupType,
    DatastoreName,
    Namespace,
    Userid
);

impl Params {
    /// A parameter that must be there.
    pub(super) fn required<T: Param>(&mut self, name: &str) -> Result<T, PbsError> {
        self.optional(name)?
            .ok_or_else(|| failed(name, "parameter is missing and it is not optional"))
    }

    /// A parameter that may be left out.
    pub(super) fn optional<T: Param>(&mut self, name: &str) -> Result<Option<T>, PbsError> {
        match self.values.remove(name).as_deref() {
            None => Ok(None),
            Some([value]) => T::parse(value).map(Some).map_err(|reason| failed(name, &reason)),
            Some(_) => Err(failed(name, "given more than once")),
        }
    }

    /// A parameter that has a value when it is left out.
    pub(super) fn or<T: Param>(&mut self, name: &str, default: T) -> Result<T, PbsError> {
        Ok(self.optional(name)?.unwrap_or(default))
    }

    /// A parameter that may be given several times.
    pub(super) fn all<T: Param>(&mut self, name: &str) -> Result<Vec<T>, PbsError> {
        let values = self.values.remove(name).unwrap_or_default();
        values
            .iter()
            .map(|value| T::parse(value).map_err(|reason| failed(name, &reason)))
            .collect()
    }

    /// Whether anything was given that was not taken yet.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Refuses what nobody took.
    pub(super) fn finish(self) -> Result<(), PbsError> {
        let unknown = |name: &String| format!("'{name}': schema does not allow additional properties");
        let reasons: Vec<String> = self.values.keys().map(unknown).collect();
        match reasons.as_slice() {
            [] => Ok(()),
            [reason] => Err(PbsError::bad_request(format!(
                "parameter verification failed - {reason}"
            ))),
            reasons => {
                let list: String = reasons.iter().map(|reason| format!("- {reason}\n")).collect();
                Err(PbsError::bad_request(format!(
                    "parameter verification failed:\n{list}"
                )))
            }
        }
    }

    fn add(&mut self, name: String, value: String) {
        let value = Zeroizing::new(value);
        if name != "_dc" {
            self.values.entry(name).or_default().push(value);
        }
    }

    fn add_form(&mut self, text: &[u8]) -> Result<(), PbsError> {
        let pairs: Vec<(String, String)> = serde_urlencoded::from_bytes(text)
            .map_err(|error| PbsError::bad_request(format!("cannot read the parameters: {error}")))?;
        pairs.into_iter().for_each(|(name, value)| self.add(name, value));
        Ok(())
    }

    fn add_json(&mut self, body: &[u8]) -> Result<(), PbsError> {
        let unreadable = |reason: &dyn std::fmt::Display| {
            PbsError::bad_request(format!("cannot read the parameters: {reason}"))
        };
        let Value::Object(object) = serde_json::from_slice(body).map_err(|error| unreadable(&error))? else {
            return Err(unreadable(&"expected a JSON object"));
        };
        for (name, value) in object {
            let values = match value {
                Value::Array(values) => values,
                value => vec![value],
            };
            for value in values {
                let text = match value {
                    Value::String(text) => text,
                    Value::Bool(_) | Value::Number(_) => value.to_string(),
                    _ => return Err(failed(&name, "expected a text, a number or a boolean")),
                };
                self.add(name.clone(), text);
            }
        }
        Ok(())
    }

    async fn read(request: &HttpRequest, mut payload: Payload) -> Result<Self, PbsError> {
        let uri_len = request
            .uri()
            .path_and_query()
            .map_or(0, |text| text.as_str().len());
        if uri_len > MAX_URI {
            let text = format!("path and query of {uri_len} bytes, expected at most {MAX_URI}");
            return Err(PbsError::new(StatusCode::URI_TOO_LONG, text));
        }
        let mut params = Self::default();
        let takes_body = matches!(*request.method(), Method::POST | Method::PUT);
        let mut body = Zeroizing::new(Vec::new());
        while let Some(piece) = payload.next().await {
            let piece =
                piece.map_err(|error| PbsError::bad_request(format!("cannot read the body: {error}")))?;
            if body.len() + piece.len() > MAX_BODY {
                return Err(PbsError::bad_request(format!(
                    "body too large, expected at most {MAX_BODY} bytes"
                )));
            }
            body.extend_from_slice(&piece);
        }
        if takes_body && is_json(request) {
            params.add_json(&body)?;
            return Ok(params);
        }
        if takes_body {
            params.add_form(&body)?;
        }
        params.add_form(request.query_string().as_bytes())?;
        Ok(params)
    }
}

fn failed(name: &str, reason: &str) -> PbsError {
    PbsError::bad_request(format!("parameter verification failed - '{name}': {reason}"))
}

fn is_json(request: &HttpRequest) -> bool {
    request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

impl FromRequest for Params {
    type Error = PbsError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, PbsError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let late = |_elapsed| {
                PbsError::bad_request(format!("body not complete after {} s", BODY_TIME.as_secs()))
            };
            tokio::time::timeout(BODY_TIME, Self::read(&request, payload))
                .await
                .map_err(late)?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    async fn read(request: TestRequest) -> Result<Params, PbsError> {
        let (request, mut payload) = request.to_http_parts();
        Params::from_request(&request, &mut payload).await
    }

    #[actix_web::test]
    async fn from_query_form_and_json() {
        let mut params = read(TestRequest::get().uri("/?ns=a/b&verbose=yes&_dc=17&x=1"))
            .await
            .unwrap();
        assert_eq!(params.required::<Namespace>("ns").unwrap().as_str(), "a/b");
        assert!(params.or("verbose", false).unwrap());
        let error = params.finish().unwrap_err();
        assert_eq!(
            error.to_string(),
            "parameter verification failed - 'x': schema does not allow additional properties"
        );

        let form = TestRequest::post()
            .uri("/?b=2")
            .insert_header(header::ContentType::form_url_encoded());
        let mut params = read(form.set_payload("a=x%2By+z&s=1&s=2")).await.unwrap();
        assert_eq!(params.required::<String>("a").unwrap(), "x+y z");
        assert_eq!(params.required::<u64>("b").unwrap(), 2);
        assert!(params.optional::<String>("s").is_err(), "given twice");

        let json = TestRequest::put()
            .uri("/?ignored=1")
            .insert_header(header::ContentType::json());
        let mut params = read(json.set_payload(r#"{"flag":true,"n":7,"list":["a","b"]}"#))
            .await
            .unwrap();
        assert!(params.required::<bool>("flag").unwrap());
        assert_eq!(params.required::<u64>("n").unwrap(), 7);
        assert_eq!(params.all::<String>("list").unwrap(), ["a", "b"]);
        params.finish().unwrap();
    }

    #[actix_web::test]
    async fn bad_parameters_say_which_and_why() {
        for (query, says) in [
            ("/?backup-time=0", "'backup-time'"),
            ("/?backup-time=x", "'backup-time': expected a number"),
            ("/", "'backup-time': parameter is missing"),
        ] {
            let mut params = read(TestRequest::get().uri(query)).await.unwrap();
            let error = params.required::<BackupTime>("backup-time").unwrap_err();
            assert_eq!(error.status(), StatusCode::BAD_REQUEST);
            assert!(error.to_string().contains(says), "{error}");
        }
        let mut params = read(TestRequest::get().uri("/?ns=../etc&verbose=maybe"))
            .await
            .unwrap();
        assert!(params.optional::<Namespace>("ns").is_err());
        assert!(params.or("verbose", false).is_err());

        let json = |text: &'static str| {
            read(
                TestRequest::post()
                    .insert_header(header::ContentType::json())
                    .set_payload(text),
            )
        };
        for text in ["[]", "{", r#"{"a":{}}"#, r#"{"a":null}"#] {
            assert!(json(text).await.is_err(), "{text}");
        }
        let long = TestRequest::get().uri(&format!("/?a={}", "x".repeat(MAX_URI)));
        assert_eq!(read(long).await.err().unwrap().status(), StatusCode::URI_TOO_LONG);
        let large = TestRequest::post().set_payload(vec![b'a'; MAX_BODY + 1]);
        assert!(read(large).await.is_err());
    }
}
