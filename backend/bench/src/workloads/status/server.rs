//! The server that is measured: a child with a state directory of its own, without a database.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, SaltString};
use fleethold_datastore::fixture::FleetFile;
use nix::sys::signal::{Signal, kill};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;
use rand::Rng;
use rand::distr::Alphanumeric;
use serde::Deserialize;

use super::load::Target;
use super::{ServerLookup, failed};
use crate::clock;
use crate::error::BenchError;
use crate::server_state::ServerState;
use crate::workloads::lookup::{CONFIG_FILE, config_of};

/// Until the server answers; most of it goes into keys and a certificate.
const START: Duration = Duration::from_secs(120);
/// Until it has ended.
const END: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);
/// Nothing answers there: a server that is measured has no history.
const NO_DATABASE: &str = "postgres://nobody@127.0.0.1:1/nothing";
/// What the fixture wrote about its stores.
const FLEET_FILE: &str = "fleet.json";
/// Where a server that takes stacks leaves them.
const STACKS_FILE: &str = "stacks.folded";
pub(super) const USER: &str = "bench@pbs";
pub(super) const TOKEN: &str = "bench@pbs!load";

/// What the server says once it answers.
#[derive(Deserialize)]
struct Ready {
    url: String,
    fingerprint: String,
}

/// A server that runs until the value is dropped.
pub(super) struct Server {
    child: Child,
    state: ServerState,
    stores: Vec<String>,
    ready: Ready,
    /// Password of [`USER`] and secret of [`TOKEN`].
    pub(super) secret: String,
}

impl Server {
    /// Starts one over the first `count` stores of the fleet in `fleet`. Blocks until it answers.
    pub(super) fn start(
        fleet: &Path,
        count: usize,
        lookup: ServerLookup,
        stacks: bool,
    ) -> Result<Self, BenchError> {
        let parent = fleet.parent().unwrap_or(fleet).join("servers");
        let state = ServerState::make(&parent)?;
        let stores = stores_of(fleet, count)?;
        let secret: String = rand::rng()
            .sample_iter(Alphanumeric)
            .take(40)
            .map(char::from)
            .collect();
        write_config(&state.dir().join("etc"), fleet, &stores, &secret)?;
        let log = state.dir().join("log");
        let binary = std::env::current_exe().map_err(failed)?;
        let child = Command::new(&binary)
            .args(arguments(state.dir(), lookup, stacks))
            // Nobody's settings but ours.
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).map_err(io(&log))?)
            .spawn()
            .map_err(io(&binary))?;
        let mut server = Self {
            child,
            state,
            stores,
            ready: Ready {
                url: String::new(),
                fingerprint: String::new(),
            },
            secret,
        };
        server.ready = server.wait_until_ready(&log)?;
        Ok(server)
    }

    fn wait_until_ready(&mut self, log: &Path) -> Result<Ready, BenchError> {
        let path = self.state.dir().join("ready.json");
        let start = clock::now();
        loop {
            // The server writes it whole or not at all.
            if let Ok(text) = std::fs::read_to_string(&path) {
                return serde_json::from_str(&text).map_err(failed);
            }
            let ended = self.child.try_wait().map_err(failed)?;
            if ended.is_some() || clock::since(start) > START {
                let words = std::fs::read_to_string(log).unwrap_or_default();
                let last_words: String = words.chars().take(2000).collect();
                let how = ended.map_or(format!("no answer in {START:?}"), |status| status.to_string());
                return Err(failed(format!(
                    "the server did not start: {how}: {}",
                    last_words.trim()
                )));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Names of its stores.
    pub(super) fn stores(&self) -> &[String] {
        &self.stores
    }

    /// Where it answers, and only it.
    pub(super) fn target(&self) -> Result<Target, BenchError> {
        let address = self.ready.url.trim_start_matches("https://");
        let address: SocketAddr = address.trim_end_matches('/').parse().map_err(failed)?;
        Target::new(address, &self.ready.fingerprint)
    }

    /// CPU time it has used, user and system, of all its threads: what `/proc/PID/stat` says, without the rounding to
    /// hundredths of a second.
    pub(super) fn cpu(&self) -> Result<Duration, BenchError> {
        let time = clock_getcpuclockid(self.pid()?)
            .and_then(nix::time::ClockId::now)
            .map_err(failed)?;
        Ok(Duration::from(time))
    }

    /// The most memory it had resident.
    pub(super) fn rss_peak_bytes(&self) -> Option<u64> {
        crate::usage::peak_rss_bytes(&self.child.id().to_string())
    }

    /// Ends it, and returns the folded stacks that it writes then: of its whole life, its start included.
    pub(super) fn stacks(mut self) -> Result<String, BenchError> {
        self.end()?;
        let path = self.state.dir().join(STACKS_FILE);
        std::fs::read_to_string(&path).map_err(io(&path))
    }

    fn pid(&self) -> Result<Pid, BenchError> {
        i32::try_from(self.child.id()).map(Pid::from_raw).map_err(failed)
    }

    /// As a user would end it; by force when it does not listen.
    fn end(&mut self) -> Result<(), BenchError> {
        if self.child.try_wait().map_err(failed)?.is_some() {
            return Ok(());
        }
        kill(self.pid()?, Signal::SIGTERM).map_err(failed)?;
        let start = clock::now();
        while clock::since(start) < END {
            if self.child.try_wait().map_err(failed)?.is_some() {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        self.child.kill().map_err(failed)?;
        self.child.wait().map_err(failed)?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!(%error, "a benchmark's server did not end");
        }
    }
}

fn arguments(state: &Path, lookup: ServerLookup, stacks: bool) -> Vec<String> {
    let inside = |name: &str| state.join(name).to_string_lossy().into_owned();
    let lookup = match lookup {
        ServerLookup::Cached => "cached",
        ServerLookup::Reparse => "reparse",
    };
    let mut arguments: Vec<String> = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--database-url",
        NO_DATABASE,
        "--log",
        "error",
        "--bench-lookup",
        lookup,
        "--state-dir",
        &state.to_string_lossy(),
        "--config-dir",
        &inside("etc"),
        "--run-dir",
        &inside("run"),
        "--ready-file",
        &inside("ready.json"),
    ]
    .map(str::to_owned)
    .into();
    if stacks {
        arguments.extend(["--bench-stacks".to_owned(), inside(STACKS_FILE)]);
    }
    arguments
}

/// The first `count` stores that can be asked, by name.
fn stores_of(fleet: &Path, count: usize) -> Result<Vec<String>, BenchError> {
    let path = fleet.join(FLEET_FILE);
    let text = std::fs::read(&path).map_err(io(&path))?;
    let file: FleetFile = serde_json::from_slice(&text).map_err(failed)?;
    let names: Vec<String> = file
        .stores
        .iter()
        .map(|store| store.name.to_string())
        .take(count)
        .collect();
    if names.len() < count {
        return Err(failed(format!(
            "{}: expected {count} stores, found {}",
            path.display(),
            names.len()
        )));
    }
    Ok(names)
}

/// The stores, and one user with a token who may see them all. Maintenance modes of the fixture are left out: every request
/// is to be answered.
fn write_config(etc: &Path, fleet: &Path, stores: &[String], secret: &str) -> Result<(), BenchError> {
    let fleet = std::path::absolute(fleet).map_err(failed)?;
    let place = |name: &String| (name.clone(), fleet.join(name).to_string_lossy().into_owned());
    let hash = hash(secret)?;
    let one = |name: &str| serde_json::json!({ name: hash }).to_string();
    let files = [
        (CONFIG_FILE, config_of(stores.iter().map(place), 1)),
        ("user.cfg", format!("user: {USER}\n\ntoken: {TOKEN}\n")),
        ("acl.cfg", format!("acl:1:/:{USER},{TOKEN}:Admin\n")),
        ("shadow.json", one(USER)),
        ("token.shadow", one(TOKEN)),
    ];
    for (name, text) in files {
        let path = etc.join(name);
        std::fs::write(&path, text).map_err(io(&path))?;
    }
    Ok(())
}

fn hash(secret: &str) -> Result<String, BenchError> {
    let salt = SaltString::encode_b64(&rand::random::<[u8; 16]>()).map_err(failed)?;
    let hash = Argon2::default()
        .hash_password(secret.as_bytes(), &salt)
        .map_err(failed)?;
    Ok(hash.to_string())
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> BenchError + use<> {
    let path: PathBuf = path.to_owned();
    move |source| BenchError::Io {
        path: path.clone(),
        source,
    }
}
