//! A client of the PBS face.

use std::time::Duration;

use reqwest::{Method, Response, StatusCode, header};
use serde_json::Value;

use crate::server::{SERVER, Server};

pub(crate) struct Client {
    http: reqwest::Client,
    pub(crate) server: &'static Server,
    pub(crate) ticket: Option<String>,
    pub(crate) csrf: Option<String>,
}

/// Status and text of a reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) async fn read(response: Response) -> Self {
        let content_type = response.headers()[header::CONTENT_TYPE]
            .to_str()
            .unwrap()
            .to_owned();
        assert_eq!(content_type, "application/json;charset=UTF-8", "of errors, too");
        Self {
            status: response.status(),
            text: response.text().await.unwrap(),
        }
    }

    /// The whole envelope of a good reply.
    pub(crate) fn envelope(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        serde_json::from_str(&self.text).unwrap()
    }

    pub(crate) fn data(&self) -> Value {
        self.envelope()["data"].take()
    }

    /// The text of a 400.
    pub(crate) fn refusal(&self) -> &str {
        assert_eq!(self.status, StatusCode::BAD_REQUEST, "{}", self.text);
        &self.text
    }
}

impl Client {
    /// Nobody yet.
    pub(crate) fn stranger() -> Self {
        // The server of this program installed it first, or we do: both are the same.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let http = reqwest::Client::builder()
            .tls_danger_accept_invalid_certs(true)
            .timeout(Duration::from_secs(60))
            .build()
            .unwrap();
        Self {
            http,
            server: &SERVER,
            ticket: None,
            csrf: None,
        }
    }

    /// The administrator.
    pub(crate) async fn signed_in() -> Self {
        Self::signed_in_as(&SERVER.user, &SERVER.password).await
    }

    /// Somebody.
    pub(crate) async fn signed_in_as(user: &str, password: &str) -> Self {
        let mut client = Self::stranger();
        let form = [("username", user), ("password", password)];
        let session = client.post("/access/ticket", &form).await.data();
        client.ticket = session["ticket"].as_str().map(str::to_owned);
        client.csrf = session["CSRFPreventionToken"].as_str().map(str::to_owned);
        client
    }

    /// A request below `/api2/json`, with what this client has to show.
    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let mut request = self
            .http
            .request(method, format!("{}/api2/json{path}", self.server.url));
        if let Some(ticket) = &self.ticket {
            request = request.header(header::COOKIE, format!("PBSAuthCookie={ticket}"));
        }
        if let Some(csrf) = &self.csrf {
            request = request.header("CSRFPreventionToken", csrf);
        }
        request
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Reply {
        Reply::read(request.send().await.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(self.request(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> Reply {
        self.send(self.request(Method::POST, path).form(form)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send(self.request(Method::DELETE, path)).await
    }

    /// A restore to nowhere through our own face: the PBS face has nothing that makes a task. Its UPID.
    pub(crate) async fn restore(&self, latency_ms: u64) -> String {
        let request = serde_json::json!({
            "source": {
                "store": "golden",
                "snapshot": "vm/100/2024-05-01T10:00:00Z",
                "archive": "drive-scsi0.img",
            },
            "target": { "kind": "null" },
            "parallel": 1,
            "simulate_latency_ms": latency_ms,
        });
        let created = self
            .http
            .post(format!("{}/api/v1/restores", self.server.url))
            .header(
                header::COOKIE,
                format!("PBSAuthCookie={}", self.ticket.as_deref().unwrap()),
            )
            .header("CSRFPreventionToken", self.csrf.as_deref().unwrap())
            .json(&request)
            .send()
            .await
            .unwrap();
        assert_eq!(created.status(), StatusCode::ACCEPTED);
        let job: Value = created.json().await.unwrap();
        job["upid"].as_str().unwrap().to_owned()
    }
}
