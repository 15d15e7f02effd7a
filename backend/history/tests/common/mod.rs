//! What the tests share: a private cluster in a temporary folder, rows to record, waiting with a deadline.

#![expect(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod bench;

use std::future::Future;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fleethold_history::{
    Database, DatabaseConfig, DbState, JobRow, Machine, Outcome, Recorder, RecorderConfig, SampleRow, Totals,
};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _};
use tempfile::TempDir;
use time::macros::datetime;
use uuid::Uuid;

/// Long enough for a busy machine; only a failing test waits for it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

/// A state directory that the service user can reach (tempfile's own mode is 0700).
pub(crate) fn state_dir() -> TempDir {
    let dir = tempfile::Builder::new().prefix("fh").tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    dir
}

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: not within {DEADLINE:?}"),
    }
}

/// Asks again and again until the answer is there.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut ask: impl FnMut() -> F,
) -> T {
    within(what, async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
}

pub(crate) async fn ready(database: &Database) {
    let mut state = database.state();
    let mut last = DbState::Starting;
    let wait = state.wait_for(|state| {
        last = state.clone();
        *state == DbState::Ready
    });
    if tokio::time::timeout(DEADLINE, wait).await.is_err() {
        panic!("not ready within {DEADLINE:?}: {last:?}");
    }
}

/// Waits until the database is away and answers why.
pub(crate) async fn away(database: &Database) -> String {
    let mut state = database.state();
    within("away", async {
        match &*state
            .wait_for(|state| matches!(state, DbState::Away { .. }))
            .await
            .unwrap()
        {
            DbState::Away { reason, .. } => reason.clone(),
            other => panic!("{other:?}"),
        }
    })
    .await
}

pub(crate) fn start_private(state_dir: &Path) -> Arc<Database> {
    Database::start(DatabaseConfig::Private {
        state_dir: state_dir.to_owned(),
    })
}

pub(crate) fn machine() -> Machine {
    Machine::new(
        Some("Test CPU".into()),
        Some(2),
        Some(1 << 34),
        Some("Linux 6".into()),
        Some("ext4".into()),
    )
}

pub(crate) async fn recorder(state_dir: &Path, database: &Arc<Database>) -> Arc<Recorder> {
    Recorder::start(
        RecorderConfig::in_state_dir(state_dir),
        machine(),
        Arc::clone(database),
    )
    .await
    .unwrap()
}

/// The folder of the private cluster's socket.
pub(crate) fn socket_dir(state_dir: &Path) -> PathBuf {
    let inside = state_dir.canonicalize().unwrap().join("pg/sock");
    if inside.exists() {
        return inside;
    }
    PathBuf::from(std::fs::read_to_string(state_dir.join("pg/socket-dir")).unwrap())
}

pub(crate) fn options(state_dir: &Path, database: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .socket(socket_dir(state_dir))
        .username("fleethold")
        .database(database)
}

/// A connection beside the crate, to look at what it did.
pub(crate) async fn connect(state_dir: &Path, database: &str) -> PgConnection {
    options(state_dir, database).connect().await.unwrap()
}

pub(crate) async fn count(connection: &mut PgConnection, table: &str) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(format!("SELECT count(*) FROM {table}")))
        .fetch_one(connection)
        .await
        .unwrap()
}

/// The number of the server process.
pub(crate) fn postmaster(state_dir: &Path) -> i32 {
    let text = std::fs::read_to_string(state_dir.join("pg/data/postmaster.pid")).unwrap();
    text.lines().next().unwrap().parse().unwrap()
}

pub(crate) fn kill(pid: i32, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Whether the process lives; a zombie does not.
pub(crate) fn alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .trim_start()
            .starts_with(['Z', 'X'])
    })
}

pub(crate) fn job() -> JobRow {
    let id = Uuid::now_v7();
    JobRow {
        id,
        upid: format!("UPID:host:{id}"),
        store: "tank".into(),
        ns: "a/b".into(),
        snapshot: "vm/100/2024-05-01T10:00:00Z".into(),
        archive: "drive-scsi0.img.fidx".into(),
        target: "/restore/disk.raw".into(),
        parallel: Some(16),
        memory_bytes: 512 << 20,
        params: serde_json::json!({"sha256": true}),
        user: "admin@pbs".into(),
        machine: machine().fingerprint,
        created_at: datetime!(2026-01-02 03:04:05.678901 UTC),
        started_at: Some(datetime!(2026-01-02 03:04:06 UTC)),
        finished_at: None,
        outcome: None,
        error: None,
        totals: Totals::default(),
    }
}

pub(crate) fn finished(mut job: JobRow, outcome: Outcome) -> JobRow {
    job.finished_at = Some(datetime!(2026-01-02 03:05:06 UTC));
    job.outcome = Some(outcome);
    job.totals = Totals {
        bytes_total: Some(1 << 40),
        bytes_done: Some(1 << 40),
        bytes_written: Some(7),
        chunks_total: Some(262_144),
        duration_ns: Some(60_000_000_000),
        sha256: Some("ab".repeat(32)),
        ..Totals::default()
    };
    job
}

/// A sample at `seconds` after the start.
pub(crate) fn sample(seconds: u64, bytes_done: u64) -> SampleRow {
    SampleRow {
        t_ns: seconds * 1_000_000_000,
        bytes_done,
        bytes_written: bytes_done / 2,
        encoded_bytes_read: bytes_done / 3,
        chunks_done: bytes_done >> 22,
        in_flight: 16,
        budget_used_bytes: 64 << 20,
    }
}

/// A program of PostgreSQL, found as the crate finds them.
pub(crate) fn program(name: &str) -> PathBuf {
    let mut bins: Vec<PathBuf> = match std::env::var_os("PG_BIN") {
        Some(bin) => vec![bin.into()],
        None => std::fs::read_dir("/usr/lib/postgresql")
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path().join("bin"))
            .collect(),
    };
    bins.sort_by_key(|bin| {
        bin.parent()
            .and_then(|dir| dir.file_name()?.to_str()?.parse::<u32>().ok())
            .unwrap_or_default()
    });
    let program = bins
        .last()
        .expect("no PostgreSQL: install it or set PG_BIN")
        .join(name);
    assert!(
        program.exists(),
        "{} is missing: install PostgreSQL's server and client programs",
        program.display()
    );
    program
}
