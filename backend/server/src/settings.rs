//! Where everything lives and how much of the machine may be used: one answer per setting, with its origin.
//!
//! Precedence: flag > `FLEETHOLD_*` variable > `<config>/fleethold.toml` > default. `fleethold config show` prints each
//! value with where it came from.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::cli::values::parse_size;

mod error;
mod file;
mod origin;
mod pick;

pub use error::SettingsError;
pub use origin::Origin;

use file::FileSettings;
use pick::{
    Picker, check_database_url, check_webhook, default_run_dir, default_state_dir, hide_password, hide_path,
};

/// The name of the configuration file inside the configuration directory.
pub const FILE_NAME: &str = "fleethold.toml";
/// The default byte budget of all restores together.
pub const DEFAULT_MEMORY_BYTES: u64 = 512 << 20;
/// The smallest byte budget that is accepted.
pub const MIN_MEMORY_BYTES: u64 = 64 << 20;
/// Fetches outstanding per restore unless asked otherwise.
pub const DEFAULT_PARALLEL: usize = 16;
/// The most fetches one restore may have outstanding.
pub const MAX_PARALLEL: usize = 1024;

/// Days that raw benchmark samples stay.
pub const DEFAULT_BENCH_KEEP_DAYS: u32 = 90;
/// The most days that can be asked for; more is for ever, which is 0.
pub const MAX_BENCH_KEEP_DAYS: usize = 36_500;

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// For people: one coloured line (colours on a terminal only).
    Human,
    /// One JSON object a line.
    Json,
}

/// The settings of this process.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// Holds `pg/ tasks/ spool/ tls/ restore/ bench/`. Absolute.
    pub state_dir: PathBuf,
    /// Holds `datastore.cfg user.cfg acl.cfg token.shadow shadow.json fleethold.toml` and their locks. Absolute.
    pub config_dir: PathBuf,
    /// Shared memory of this host's processes. Absolute.
    pub run_dir: PathBuf,
    /// Where the server listens; port 0 picks a free one.
    pub listen: SocketAddr,
    /// The user's own PostgreSQL; `None` means the private cluster in `<state>/pg`. May hold a password: never logged.
    pub database_url: Option<String>,
    /// Directories below which jobs may write. Never empty; the first one is the default target. Absolute.
    pub restore_roots: Vec<PathBuf>,
    /// Block devices jobs may write to. Absolute.
    pub allow_devices: Vec<PathBuf>,
    /// The byte budget of all restores together, at least [`MIN_MEMORY_BYTES`].
    pub memory_bytes: u64,
    /// Threads that decode and verify, at least 1.
    pub cpu_threads: usize,
    /// Fetches outstanding per restore when the request does not say, 1 to [`MAX_PARALLEL`].
    pub default_parallel: usize,
    /// The server's certificate chain (PEM); `None` means self-signed in `<state>/tls`. Set if and only if `tls_key` is.
    pub tls_cert: Option<PathBuf>,
    /// The private key of `tls_cert` (PEM).
    pub tls_key: Option<PathBuf>,
    /// Days after which raw samples of unlinked benchmark runs roll up to their figures; 0: never.
    pub bench_keep_days: u32,
    /// Where alerts of the benchmark lab are sent. May hold a secret: never logged.
    pub bench_webhook: Option<reqwest::Url>,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// What is logged: a level or a `tracing` filter such as `info,fleethold_restore=debug`.
    pub log_filter: String,
    origins: BTreeMap<&'static str, Origin>,
}

/// Flags every command takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Places and logging")]
pub struct CommonFlags {
    /// State directory [variable FLEETHOLD_STATE_DIR; default /var/lib/fleethold as root, else $XDG_STATE_HOME/fleethold]
    #[arg(long, global = true, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Configuration directory [variable FLEETHOLD_CONFIG_DIR; default <state>/etc]
    #[arg(long, global = true, value_name = "DIR")]
    pub config_dir: Option<PathBuf>,
    /// Directory for shared memory [variable FLEETHOLD_RUN_DIR; default /run/fleethold as root, else $XDG_RUNTIME_DIR/fleethold]
    #[arg(long, global = true, value_name = "DIR")]
    pub run_dir: Option<PathBuf>,
    /// How log lines are written [variable FLEETHOLD_LOG_FORMAT; default human]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// What is logged: a level or a filter [variable FLEETHOLD_LOG; default info for serve, warn for the other commands]
    #[arg(long, global = true, value_name = "FILTER")]
    pub log: Option<String>,
}

/// Flags of the server.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Server")]
pub struct ServerFlags {
    /// Address and port to listen on [variable FLEETHOLD_LISTEN; default 127.0.0.1:8007]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Your own PostgreSQL [variable DATABASE_URL; default a private cluster in <state>/pg]
    #[arg(long, value_name = "URL")]
    pub database_url: Option<String>,
    /// Directory below which jobs may write, repeatable [variable FLEETHOLD_RESTORE_ROOTS, separated by ':'; default <state>/restore]
    #[arg(long = "restore-root", value_name = "DIR")]
    pub restore_roots: Vec<PathBuf>,
    /// Block device jobs may write to, repeatable [variable FLEETHOLD_ALLOW_DEVICES, separated by ':'; default none]
    #[arg(long = "allow-device", value_name = "PATH")]
    pub allow_devices: Vec<PathBuf>,
    /// Byte budget of all restores together, at least 64MiB [variable FLEETHOLD_MEMORY; default 512MiB]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Threads that decode and verify [variable FLEETHOLD_CPU_THREADS; default one per core]
    #[arg(long, value_name = "N")]
    pub cpu_threads: Option<usize>,
    /// Fetches outstanding per restore unless the request says [variable FLEETHOLD_PARALLEL; default 16]
    #[arg(long, value_name = "N")]
    pub parallel: Option<usize>,
    /// Certificate chain, PEM [variable FLEETHOLD_TLS_CERT; default self-signed]
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate, PEM [variable FLEETHOLD_TLS_KEY]
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Days that raw samples of unlinked benchmark runs stay, 0 for ever [variable FLEETHOLD_BENCH_KEEP_DAYS; default 90]
    #[arg(long, value_name = "DAYS")]
    pub bench_keep_days: Option<usize>,
    /// Address that alerts of the benchmark lab are posted to [variable FLEETHOLD_BENCH_WEBHOOK; default none]
    #[arg(long, value_name = "URL")]
    pub bench_webhook: Option<String>,
}

/// Looks up an environment variable.
pub type Variables = dyn Fn(&str) -> Option<OsString>;

/// What the settings depend on besides flags and the file; tests give their own.
pub struct Surroundings {
    /// The environment.
    pub variable: Box<Variables>,
    /// Whether this process is root.
    pub is_root: bool,
    /// Cores this process may use.
    pub cores: usize,
}

impl Surroundings {
    /// This process's own.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self {
            variable: Box::new(|name| std::env::var_os(name)),
            is_root: rustix::process::geteuid().is_root(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl Settings {
    /// Resolves every setting.
    ///
    /// # Errors
    /// A malformed value (naming the setting and its origin) or an unreadable configuration file. A missing file is no error.
    pub fn load(
        common: &CommonFlags,
        server: &ServerFlags,
        around: &Surroundings,
    ) -> Result<Self, SettingsError> {
        let mut pick = Picker {
            around,
            origins: BTreeMap::new(),
        };

        // The file lies in the configuration directory, which only flags, variables and defaults can name.
        let state_before = match pick.early_path(
            "state_dir",
            &common.state_dir,
            "--state-dir",
            "FLEETHOLD_STATE_DIR",
        )? {
            Some(path) => path,
            None => default_state_dir(around),
        };
        let config_dir = match pick.early_path(
            "config_dir",
            &common.config_dir,
            "--config-dir",
            "FLEETHOLD_CONFIG_DIR",
        )? {
            Some(path) => path,
            None => state_before.join("etc"),
        };
        let file_path = config_dir.join(FILE_NAME);
        let file = FileSettings::read(&file_path)?;
        let from_file = || Origin::File(file_path.clone());
        let in_file = |path: PathBuf| config_dir.join(path);

        let state_dir = match (pick.is_default("state_dir"), file.state_dir) {
            (true, Some(path)) => pick.note("state_dir", from_file(), in_file(path)),
            _ => state_before,
        };

        let run_dir = match (
            pick.early_path("run_dir", &common.run_dir, "--run-dir", "FLEETHOLD_RUN_DIR")?,
            file.run_dir,
        ) {
            (Some(path), _) => path,
            (None, Some(path)) => pick.note("run_dir", from_file(), in_file(path)),
            (None, None) => default_run_dir(around, &state_dir),
        };

        let listen = pick.text(
            "listen",
            server.listen.as_deref(),
            "--listen",
            &["FLEETHOLD_LISTEN"],
            file.listen,
            &from_file,
        )?;
        let listen = match listen {
            Some((text, origin)) => text.parse().map_err(|_| SettingsError::Value {
                key: "listen",
                origin,
                message: format!(
                    "expected an address and a port such as 127.0.0.1:8007 or [::]:8007, found {text:?}"
                ),
            })?,
            None => SocketAddr::from(([127, 0, 0, 1], 8007)),
        };

        let database_url = pick
            .text(
                "database_url",
                server.database_url.as_deref(),
                "--database-url",
                &["FLEETHOLD_DATABASE_URL", "DATABASE_URL"],
                file.database_url,
                &from_file,
            )?
            .map(|(url, origin)| check_database_url(url, origin))
            .transpose()?;

        let restore_roots = pick
            .paths(
                "restore_roots",
                &server.restore_roots,
                "--restore-root",
                "FLEETHOLD_RESTORE_ROOTS",
                file.restore_roots,
                &file_path,
            )?
            .unwrap_or_else(|| vec![state_dir.join("restore")]);
        let allow_devices = pick
            .paths(
                "allow_devices",
                &server.allow_devices,
                "--allow-device",
                "FLEETHOLD_ALLOW_DEVICES",
                file.allow_devices,
                &file_path,
            )?
            .unwrap_or_default();

        let memory = pick.text(
            "memory_bytes",
            server.memory.as_deref(),
            "--memory",
            &["FLEETHOLD_MEMORY"],
            file.memory.map(|size| size.0),
            &from_file,
        )?;
        let memory_bytes = match memory {
            Some((text, origin)) => parse_memory(&text).map_err(|message| SettingsError::Value {
                key: "memory_bytes",
                origin,
                message,
            })?,
            None => DEFAULT_MEMORY_BYTES,
        };

        let cpu_threads = pick
            .count(
                "cpu_threads",
                server.cpu_threads,
                "--cpu-threads",
                "FLEETHOLD_CPU_THREADS",
                file.cpu_threads,
                1..=1024,
                &from_file,
            )?
            .unwrap_or(around.cores.max(1));
        let default_parallel = pick
            .count(
                "default_parallel",
                server.parallel,
                "--parallel",
                "FLEETHOLD_PARALLEL",
                file.parallel,
                1..=MAX_PARALLEL,
                &from_file,
            )?
            .unwrap_or(DEFAULT_PARALLEL);

        let tls_cert = pick.one_path(
            "tls_cert",
            &server.tls_cert,
            "--tls-cert",
            "FLEETHOLD_TLS_CERT",
            file.tls_cert,
            &file_path,
        )?;
        let tls_key = pick.one_path(
            "tls_key",
            &server.tls_key,
            "--tls-key",
            "FLEETHOLD_TLS_KEY",
            file.tls_key,
            &file_path,
        )?;
        for (have, lack, missing) in [
            (&tls_cert, &tls_key, "tls_key"),
            (&tls_key, &tls_cert, "tls_cert"),
        ] {
            if let (Some(path), None) = (have, lack) {
                return Err(SettingsError::Value {
                    key: missing,
                    origin: Origin::Default,
                    message: format!(
                        "a certificate and its key come together, found only {}",
                        path.display()
                    ),
                });
            }
        }

        let bench_keep_days = pick
            .count(
                "bench_keep_days",
                server.bench_keep_days,
                "--bench-keep-days",
                "FLEETHOLD_BENCH_KEEP_DAYS",
                file.bench_keep_days,
                0..=MAX_BENCH_KEEP_DAYS,
                &from_file,
            )?
            .and_then(|days| u32::try_from(days).ok())
            .unwrap_or(DEFAULT_BENCH_KEEP_DAYS);
        let bench_webhook = pick
            .text(
                "bench_webhook",
                server.bench_webhook.as_deref(),
                "--bench-webhook",
                &["FLEETHOLD_BENCH_WEBHOOK"],
                file.bench_webhook,
                &from_file,
            )?
            .map(|(url, origin)| check_webhook(&url, origin))
            .transpose()?;

        let log_format = match common.log_format {
            Some(format) => pick.note("log_format", Origin::Flag("--log-format"), format),
            None => match pick.variable("log_format", "FLEETHOLD_LOG_FORMAT")? {
                Some(text) => {
                    let origin = Origin::Variable("FLEETHOLD_LOG_FORMAT");
                    let format = LogFormat::from_str(&text, false).map_err(|_| SettingsError::Value {
                        key: "log_format",
                        origin: origin.clone(),
                        message: format!("expected human or json, found {text:?}"),
                    })?;
                    pick.note("log_format", origin, format)
                }
                None => match file.log_format {
                    Some(format) => pick.note("log_format", from_file(), format),
                    None => LogFormat::Human,
                },
            },
        };
        let log_filter = pick
            .text(
                "log_filter",
                common.log.as_deref(),
                "--log",
                &["FLEETHOLD_LOG"],
                file.log,
                &from_file,
            )?
            .map_or_else(|| "info".to_owned(), |(filter, _)| filter);

        Ok(Self {
            state_dir,
            config_dir,
            run_dir,
            listen,
            database_url,
            restore_roots,
            allow_devices,
            memory_bytes,
            cpu_threads,
            default_parallel,
            tls_cert,
            tls_key,
            bench_keep_days,
            bench_webhook,
            log_format,
            log_filter,
            origins: pick.origins,
        })
    }

    /// Where the value of a setting (named as its field) came from.
    #[must_use]
    pub fn origin(&self, key: &str) -> Origin {
        self.origins.get(key).cloned().unwrap_or(Origin::Default)
    }

    /// Every setting as `(name, value, origin)`, in the order of the documentation; a password in `database_url` is hidden.
    #[must_use]
    pub fn rows(&self) -> Vec<(&'static str, serde_json::Value, Origin)> {
        let path = |path: &Path| serde_json::Value::from(path.to_string_lossy().into_owned());
        let paths =
            |list: &[PathBuf]| serde_json::Value::from(list.iter().map(|p| path(p)).collect::<Vec<_>>());
        let optional = |p: &Option<PathBuf>| p.as_deref().map_or(serde_json::Value::Null, path);
        let format = match self.log_format {
            LogFormat::Human => "human",
            LogFormat::Json => "json",
        };
        [
            ("state_dir", path(&self.state_dir)),
            ("config_dir", path(&self.config_dir)),
            ("run_dir", path(&self.run_dir)),
            ("listen", self.listen.to_string().into()),
            (
                "database_url",
                self.database_url.as_deref().map(hide_password).into(),
            ),
            ("restore_roots", paths(&self.restore_roots)),
            ("allow_devices", paths(&self.allow_devices)),
            ("memory_bytes", self.memory_bytes.into()),
            ("cpu_threads", self.cpu_threads.into()),
            ("default_parallel", self.default_parallel.into()),
            ("tls_cert", optional(&self.tls_cert)),
            ("tls_key", optional(&self.tls_key)),
            ("bench_keep_days", self.bench_keep_days.into()),
            ("bench_webhook", self.bench_webhook.as_ref().map(hide_path).into()),
            ("log_format", format.into()),
            ("log_filter", self.log_filter.clone().into()),
        ]
        .into_iter()
        .map(|(key, value)| (key, value, self.origin(key)))
        .collect()
    }
}

impl fmt::Debug for Settings {
    /// As [`Settings::rows`], so that a password never reaches a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (key, value, _) in self.rows() {
            map.entry(&key, &value);
        }
        map.finish()
    }
}

/// Parses a memory budget and checks its lower bound. The text of the error says what was expected.
///
/// # Errors
/// Not a size, or less than [`MIN_MEMORY_BYTES`].
pub fn parse_memory(text: &str) -> Result<u64, String> {
    match parse_size(text) {
        Ok(bytes) if bytes < MIN_MEMORY_BYTES => Err(format!("expected at least 64MiB, found {text:?}")),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
