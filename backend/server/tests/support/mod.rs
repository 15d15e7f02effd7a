//! A real server on the golden stores, in this process, and a client that is signed in.
#![expect(dead_code, reason = "each test file uses its own part")]

pub(crate) mod bench;
pub(crate) mod feed;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use fleethold_server::serve::{self, ServeOptions};
use fleethold_server::settings::{CommonFlags, ServerFlags, Settings, Surroundings};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// How long a test waits for what must happen.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Password of the users that [`Ground::add_user`] makes.
pub(crate) const USER_PASSWORD: &str = "a user's secret";

/// Folders of a server.
pub(crate) struct Ground {
    pub(crate) dir: tempfile::TempDir,
}

impl Ground {
    /// Unpacks the golden stores and configures them as `golden` and `real`.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden.tar.zst");
        let decoder = zstd::Decoder::new(fs::File::open(archive).unwrap()).unwrap();
        tar::Archive::new(decoder).unpack(dir.path().join("g")).unwrap();
        let etc = dir.path().join("state/etc");
        fs::create_dir_all(&etc).unwrap();
        let golden = dir.path().join("g/store");
        let real = dir.path().join("g/real/store");
        let config = format!(
            "datastore: golden\n\tpath {}\n\tcomment made by the reference\n\ndatastore: real\n\tpath {}\n\n\
             datastore: closed\n\tpath {}\n\tmaintenance-mode offline,message=moving\n",
            golden.display(),
            real.display(),
            dir.path().join("nothing").display()
        );
        fs::write(etc.join("datastore.cfg"), config).unwrap();
        Self { dir }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    pub(crate) fn key(&self) -> String {
        fs::read_to_string(self.path("g/encryption-key.json")).unwrap()
    }

    /// `(snapshot directory relative to the store, file) → (size, sha256)` of the golden store.
    pub(crate) fn expected(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("g/expected.json")).unwrap()).unwrap()
    }

    pub(crate) fn settings(&self, database_url: Option<&str>) -> Settings {
        let common = CommonFlags {
            state_dir: Some(self.path("state")),
            ..CommonFlags::default()
        };
        let server = ServerFlags {
            listen: Some("127.0.0.1:0".into()),
            database_url: database_url.map(str::to_owned),
            memory: Some("128MiB".into()),
            ..ServerFlags::default()
        };
        let around = Surroundings {
            variable: Box::new(|name| (name == "HOME").then(|| "/nowhere".into())),
            is_root: false,
            cores: 2,
        };
        Settings::load(&common, &server, &around).unwrap()
    }

    /// Adds a user whose password is [`USER_PASSWORD`]; a running server sees it at the log-in.
    pub(crate) fn add_user(&self, user: &str, rules: &str) {
        let users = fleethold_server::auth::users::UserStore::open(&self.path("state/etc")).unwrap();
        users.add(&user.parse().unwrap(), USER_PASSWORD, None).unwrap();
        self.allow(rules);
    }

    /// Adds rules to `acl.cfg`; a running server sees them in a moment, or at the next log-in.
    pub(crate) fn allow(&self, rules: &str) {
        let path = self.path("state/etc/acl.cfg");
        let text = fs::read_to_string(&path).unwrap_or_default();
        // As an administrator's editor does: a reader sees the old or the new file.
        let new = path.with_extension("new");
        fs::write(&new, text + rules).unwrap();
        fs::rename(new, path).unwrap();
    }

    /// Starts a server without a database: port 1 refuses.
    pub(crate) async fn serve(&self) -> Server {
        self.serve_with(Some("postgres://nobody@127.0.0.1:1/none")).await
    }

    pub(crate) async fn serve_with(&self, database_url: Option<&str>) -> Server {
        let ready_file = self.path("ready.json");
        if ready_file.exists() {
            fs::remove_file(&ready_file).unwrap();
        }
        let stop = CancellationToken::new();
        let options = ServeOptions {
            ready_file: Some(ready_file.clone()),
            worker: Some(env!("CARGO_BIN_EXE_fleethold").into()),
            bench_lock: Some(
                format!("test{}", self.path("lock").display())
                    .chars()
                    .rev()
                    .filter(char::is_ascii_alphanumeric)
                    .take(24)
                    .collect(),
            ),
            workloads: vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/tiny.toml")],
            ..ServeOptions::default()
        };
        let (settings, stopped) = (self.settings(database_url), stop.clone());
        let thread = std::thread::spawn(move || {
            actix_web::rt::System::new().block_on(serve::run(settings, options, stopped))
        });
        let ready: Value = eventually("the ready file", || async {
            assert!(!thread.is_finished(), "the server ended early");
            serde_json::from_slice(&fs::read(&ready_file).ok()?).ok()
        })
        .await;
        let url = ready["url"].as_str().unwrap().to_owned();
        let password = fs::read_to_string(self.path("state/admin-password"))
            .unwrap()
            .trim()
            .to_owned();
        Server {
            url,
            password,
            ready,
            stop,
            thread: Some(thread),
        }
    }
}

/// A running server.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) password: String,
    pub(crate) ready: Value,
    stop: CancellationToken,
    thread: Option<JoinHandle<anyhow::Result<()>>>,
}

impl Server {
    /// A server in another process.
    pub(crate) fn elsewhere(url: String, password: String, ready: Value) -> Self {
        Self {
            url,
            password,
            ready,
            stop: CancellationToken::new(),
            thread: None,
        }
    }

    /// A client that is signed in as the administrator.
    pub(crate) async fn client(&self) -> Api {
        self.client_as("admin@pbs", &self.password).await
    }

    /// A client that is signed in.
    pub(crate) async fn client_as(&self, user: &str, password: &str) -> Api {
        let api = self.stranger();
        let body = json!({"user": user, "password": password});
        let reply = api
            .bare(Method::POST, "/api/v1/session")
            .json(&body)
            .send()
            .await
            .unwrap();
        assert_eq!(reply.status(), StatusCode::OK);
        let session: Value = reply.json().await.unwrap();
        Api {
            csrf: session["csrf_token"].as_str().unwrap().to_owned(),
            ..api
        }
    }

    /// A client that is not.
    pub(crate) fn stranger(&self) -> Api {
        install_provider();
        let http = Client::builder()
            .tls_danger_accept_invalid_certs(true)
            .cookie_store(true)
            .timeout(DEADLINE)
            .build()
            .unwrap();
        Api {
            http,
            url: self.url.clone(),
            csrf: String::new(),
        }
    }

    /// Stops the server as a signal does, and waits.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        let thread = self.thread.take().unwrap();
        tokio::task::spawn_blocking(move || thread.join().unwrap().unwrap())
            .await
            .unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            if !std::thread::panicking() {
                ended.unwrap().unwrap();
            }
        }
    }
}

pub(crate) fn install_provider() {
    // The second test of a process finds it installed.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
}

/// A client of one server.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) http: Client,
    pub(crate) url: String,
    pub(crate) csrf: String,
}

impl Api {
    /// A request without CSRF token.
    pub(crate) fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.bare(method, path).header("CSRFPreventionToken", &self.csrf)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await.unwrap()
    }

    /// The JSON of a reply that must be 200.
    pub(crate) async fn json(&self, path: &str) -> Value {
        let reply = self.get(path).await;
        assert_eq!(
            reply.status(),
            StatusCode::OK,
            "{path}: {}",
            reply.text().await.unwrap()
        );
        reply.json().await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        self.request(Method::POST, path).json(body).send().await.unwrap()
    }

    /// Creates a restore that must be accepted.
    pub(crate) async fn restore(&self, body: &Value) -> Value {
        let reply = self.post("/api/v1/restores", body).await;
        let status = reply.status();
        let location = reply
            .headers()
            .get("location")
            .map(|value| value.to_str().unwrap().to_owned());
        let job: Value = reply.json().await.unwrap();
        assert_eq!(status, StatusCode::ACCEPTED, "{job}");
        assert_eq!(
            location.unwrap(),
            format!("/api/v1/restores/{}", job["id"].as_str().unwrap())
        );
        job
    }

    /// Waits until a restore ended.
    pub(crate) async fn ended(&self, id: &str) -> Value {
        let path = format!("/api/v1/restores/{id}");
        eventually("the end of a restore", || async {
            let job = self.json(&path).await;
            (!matches!(job["state"].as_str().unwrap(), "queued" | "running")).then_some(job)
        })
        .await
    }

    /// The problem of a reply that must fail.
    pub(crate) async fn problem(&self, reply: Response, status: StatusCode, code: &str) -> Value {
        let found = reply.status();
        let kind = reply
            .headers()
            .get("content-type")
            .map(|value| value.to_str().unwrap().to_owned());
        let problem: Value = reply.json().await.unwrap();
        assert_eq!(found, status, "{problem}");
        assert_eq!(kind.as_deref(), Some("application/problem+json"));
        assert_eq!(problem["code"], code, "{problem}");
        assert!(problem["request_id"].is_string(), "{problem}");
        problem
    }
}

/// Asks again and again until there is an answer; panics at the deadline.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut ask: impl FnMut() -> F,
) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(DEADLINE, asking)
        .await
        .unwrap_or_else(|_| panic!("{what} did not come"))
}

/// SHA-256 of a file or a body in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(fleethold_format::hash::Sha256::digest(bytes))
}

/// One file of the golden store, with its expected digest.
pub(crate) struct Golden {
    pub(crate) ns: String,
    pub(crate) snapshot: String,
    pub(crate) file: String,
    pub(crate) encrypted: bool,
    pub(crate) sha256: String,
}

impl Golden {
    /// The files with a known digest.
    pub(crate) fn all(ground: &Ground) -> Vec<Self> {
        let text = |file: &Value, key: &str| file[key].as_str().map(str::to_owned);
        let files: Vec<Self> = ground.expected()["files"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|file| {
                Some(Self {
                    ns: text(file, "ns")?,
                    snapshot: text(file, "snapshot")?,
                    file: text(file, "file")?,
                    encrypted: file["crypt-mode"] == "Encrypt",
                    sha256: text(file, "plain-sha256")?,
                })
            })
            .collect();
        assert!(files.len() > 10);
        files
    }

    pub(crate) fn source(&self) -> Value {
        json!({"store": "golden", "ns": self.ns, "snapshot": self.snapshot, "archive": self.file})
    }
}

/// A restore of an image to a target, with its digest.
pub(crate) fn image(target: Value) -> Value {
    json!({"source": {"store": "golden", "snapshot": "vm/100/2024-05-01T10:00:00Z", "archive": "drive-scsi0.img"},
        "target": target, "sha256": true})
}

/// Digest of that image.
pub(crate) const IMAGE_SHA256: &str = "5ee3a82e80d51a7cb9d26ed85f2c559b4942a5d3a061119369379a222e102b34";
