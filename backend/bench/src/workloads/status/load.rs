//! The load: 16 requests under way at once, each timed, over TLS to one server that is known by its certificate.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use sha2::{Digest, Sha256};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::failed;
use super::server::{Server, TOKEN, USER};
use crate::clock;
use crate::data::hex;
use crate::error::BenchError;

/// Requests under way at once, as in the thread.
pub(super) const AT_ONCE: usize = 16;
/// Requests of each store in a row.
pub(super) const REQUESTS: usize = 5;
/// A server that does not answer for so long has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a request proves who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Login {
    Cookie,
    Token,
}

/// How a request gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Connections {
    /// One connection for each of those under way.
    Kept,
    /// One for each request.
    Each,
}

/// A server that is known by the fingerprint of its certificate.
#[derive(Clone)]
pub(super) struct Target {
    address: SocketAddr,
    tls: TlsConnector,
}

impl Target {
    pub(super) fn new(address: SocketAddr, fingerprint: &str) -> Result<Self, BenchError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let only = Arc::new(OnlyThis {
            fingerprint: fingerprint.replace(':', "").to_lowercase(),
            provider: Arc::clone(&provider),
        });
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .dangerous()
            .with_custom_certificate_verifier(only)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // Each of the thread's curl processes began anew.
        config.resumption = Resumption::disabled();
        Ok(Self {
            address,
            tls: TlsConnector::from(Arc::new(config)),
        })
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, BenchError> {
        let stream = TcpStream::connect(self.address).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let name = ServerName::from(self.address.ip());
        let stream = self.tls.connect(name, stream).await.map_err(failed)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
        tokio::spawn(async move {
            // Whoever waits for an answer on it learns of the failure, too.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection of the load ended");
            }
        });
        Ok(sender)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, HeaderValue)],
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, BenchError> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.address.to_string());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request.body(Full::new(body)).map_err(failed)
    }
}

/// The answer to one request.
async fn send(
    connection: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Result<Bytes, BenchError> {
    let path = request.uri().path().to_owned();
    let talk = async {
        connection.ready().await.map_err(failed)?;
        let answer = connection.send_request(request).await.map_err(failed)?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(failed)?.to_bytes();
        Ok::<_, BenchError>((status, body))
    };
    let (status, body) = tokio::time::timeout(PATIENCE, talk)
        .await
        .map_err(|_| failed(format!("{path}: no answer in {PATIENCE:?}")))??;
    if status == StatusCode::OK {
        return Ok(body);
    }
    let text: String = String::from_utf8_lossy(&body).chars().take(500).collect();
    Err(failed(format!(
        "{path}: expected status 200, found {status}: {text}"
    )))
}

/// What proves who asks, both ways.
pub(super) struct Session {
    cookie: (HeaderName, HeaderValue),
    token: (HeaderName, HeaderValue),
}

impl Session {
    fn header(&self, login: Login) -> &(HeaderName, HeaderValue) {
        match login {
            Login::Cookie => &self.cookie,
            Login::Token => &self.token,
        }
    }
}

/// Logs in, and has the token's slow hash checked once: neither is part of what is measured.
pub(super) async fn sign_in(target: &Target, server: &Server) -> Result<Session, BenchError> {
    let mut connection = target.connect().await?;
    let form = format!("username={USER}&password={}", server.secret);
    let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
    let path = "/api2/json/access/ticket";
    let request = target.request(Method::POST, path, &[(CONTENT_TYPE, kind)], form.into())?;
    let answer: serde_json::Value =
        serde_json::from_slice(&send(&mut connection, request).await?).map_err(failed)?;
    let ticket = answer
        .pointer("/data/ticket")
        .and_then(serde_json::Value::as_str)
        .ok_or_else(|| failed(format!("{path}: expected a ticket in the answer, found none")))?;
    let value = |text: String| HeaderValue::from_str(&text).map_err(failed);
    let session = Session {
        cookie: (COOKIE, value(format!("PBSAuthCookie={ticket}"))?),
        token: (
            AUTHORIZATION,
            value(format!("PBSAPIToken={TOKEN}:{}", server.secret))?,
        ),
    };
    for login in [Login::Cookie, Login::Token] {
        let header = session.header(login).clone();
        let request = target.request(Method::GET, "/api2/json/version", &[header], Bytes::new())?;
        send(&mut connection, request).await?;
    }
    Ok(session)
}

/// The server looks at each store once after its start; that is no part of what is measured.
pub(super) async fn until_all_are_scanned(
    target: &Target,
    session: &Session,
    stores: usize,
) -> Result<(), BenchError> {
    let start = clock::now();
    let mut connection = target.connect().await?;
    loop {
        let header = session.cookie.clone();
        let request = target.request(Method::GET, "/api/v1/fleet/summary", &[header], Bytes::new())?;
        let summary: serde_json::Value =
            serde_json::from_slice(&send(&mut connection, request).await?).map_err(failed)?;
        let count = |name: &str| summary.get(name).and_then(serde_json::Value::as_u64);
        if count("stores") == Some(stores as u64) && count("unknown") == Some(0) {
            return Ok(());
        }
        if clock::since(start) > PATIENCE {
            return Err(failed(format!(
                "expected {stores} stores that the server looked at in {PATIENCE:?}, found {summary}"
            )));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The loop of the thread.
pub(super) struct Load<'a> {
    pub(super) stores: &'a [&'a str],
    pub(super) passes: usize,
    pub(super) login: Login,
    pub(super) connections: Connections,
}

/// What came of it.
pub(super) struct Loop {
    pub(super) time: Duration,
    pub(super) server_cpu: Duration,
    pub(super) latencies: Vec<Latency>,
}

/// One request.
pub(super) struct Latency {
    pub(super) seconds: f64,
    /// The first of its store since the server's start.
    pub(super) cold: bool,
}

impl Load<'_> {
    /// Runs it. Any answer but 200 with figures ends it.
    pub(super) async fn run(
        &self,
        target: &Target,
        session: &Session,
        server: &Server,
    ) -> Result<Loop, BenchError> {
        let paths: Arc<[String]> = self
            .stores
            .iter()
            .map(|store| format!("/api2/json/admin/datastore/{store}/status?verbose=0"))
            .collect();
        let total = paths.len() * REQUESTS * self.passes;
        let next = Arc::new(AtomicUsize::new(0));
        let mut connections = Vec::with_capacity(AT_ONCE);
        for _ in 0..AT_ONCE {
            connections.push(match self.connections {
                Connections::Kept => Some(target.connect().await?),
                Connections::Each => None,
            });
        }
        let cpu = server.cpu()?;
        let start = clock::now();
        let mut workers = tokio::task::JoinSet::new();
        for connection in connections {
            let work = Worker {
                target: target.clone(),
                header: session.header(self.login).clone(),
                paths: Arc::clone(&paths),
                next: Arc::clone(&next),
                total,
            };
            workers.spawn(work.run(connection));
        }
        let mut latencies = Vec::with_capacity(total);
        while let Some(done) = workers.join_next().await {
            latencies.extend(done.map_err(failed)??);
        }
        Ok(Loop {
            time: clock::since(start),
            server_cpu: server.cpu()?.saturating_sub(cpu),
            latencies,
        })
    }
}

/// One of those under way at once: takes the next request as soon as the last is answered, as `xargs -P16` does.
struct Worker {
    target: Target,
    header: (HeaderName, HeaderValue),
    paths: Arc<[String]>,
    next: Arc<AtomicUsize>,
    total: usize,
}

impl Worker {
    async fn run(self, mut kept: Option<SendRequest<Full<Bytes>>>) -> Result<Vec<Latency>, BenchError> {
        let mut latencies = Vec::with_capacity(self.total / AT_ONCE + 1);
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.total {
                return Ok(latencies);
            }
            let store = number / REQUESTS;
            let Some(path) = self.paths.get(store % self.paths.len()) else {
                return Ok(latencies);
            };
            let request = self.target.request(
                Method::GET,
                path,
                std::slice::from_ref(&self.header),
                Bytes::new(),
            )?;
            let start = clock::now();
            let answer = match &mut kept {
                Some(connection) => send(connection, request).await?,
                None => send(&mut self.target.connect().await?, request).await?,
            };
            let seconds = clock::since(start).as_secs_f64();
            if !answer.starts_with(b"{\"data\":{\"total\":") {
                return Err(failed(format!("{path}: expected figures, found {answer:?}")));
            }
            latencies.push(Latency {
                seconds,
                cold: store < self.paths.len() && number.is_multiple_of(REQUESTS),
            });
        }
    }
}

/// Accepts one certificate, by its SHA-256.
#[derive(Debug)]
struct OnlyThis {
    fingerprint: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for OnlyThis {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if hex(&Sha256::digest(certificate)) == self.fingerprint {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
