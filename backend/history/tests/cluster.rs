//! The private cluster: start, stop, adoption, and every way it can be killed.

#![expect(
    clippy::unwrap_used,
    reason = "in a test it is the right answer, in its helpers too"
)]

mod common;

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use common::*;
use fleethold_history::{Database, Outcome};
use rustix::process::Signal;

async fn record_one(state: &Path, database: &Arc<Database>) -> fleethold_history::JobRow {
    let recorder = recorder(state, database).await;
    let job = finished(job(), Outcome::Ok);
    recorder.job_finished(job.clone()).await.unwrap();
    within("flushed", recorder.flushed()).await;
    recorder.stop().await;
    job
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_stops_and_keeps_its_data() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let row = record_one(state.path(), &database).await;

    let pg = state.path().join("pg");
    for dir in [pg.join("data"), pg.join("sock")] {
        assert_eq!(dir.metadata().unwrap().mode() & 0o777, 0o700, "{}", dir.display());
        assert_ne!(dir.metadata().unwrap().uid(), 0, "{}", dir.display());
    }
    assert!(!pg.join("data.new").exists());
    let mut connection = connect(state.path(), "fleethold").await;
    for (setting, expected) in [
        ("fsync", "on"),
        ("listen_addresses", ""),
        ("data_checksums", "on"),
    ] {
        let found: String = sqlx::query_scalar("SELECT current_setting($1)")
            .bind(setting)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(found, expected, "{setting}");
    }

    let pid = postmaster(state.path());
    within("stop", database.stop()).await;
    assert!(!alive(pid));
    assert!(!pg.join("data/postmaster.pid").exists());
    assert!(database.job(row.id).await.is_err());

    let database = start_private(state.path());
    ready(&database).await;
    assert_eq!(database.job(row.id).await.unwrap(), Some(row));
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_postgres_comes_back_with_everything() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let row = record_one(state.path(), &database).await;

    let killed = postmaster(state.path());
    let mut changes = database.state();
    changes.mark_unchanged();
    kill(killed, Signal::KILL);
    within("notices", changes.changed()).await.unwrap();
    ready(&database).await;
    assert_ne!(postmaster(state.path()), killed);
    assert_eq!(database.job(row.id).await.unwrap(), Some(row));
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn running_orphan_is_adopted_and_stopped() {
    let state = state_dir();
    let database = start_private(state.path());
    ready(&database).await;
    let row = record_one(state.path(), &database).await;
    database.stop().await;

    // What a fleethold leaves whose postgres outlived it.
    let pg = state.path().canonicalize().unwrap().join("pg");
    let postgres = program("postgres");
    let owner = pg.join("data").metadata().unwrap();
    let mut command = Command::new(postgres);
    command
        .current_dir(&pg)
        .arg("-D")
        .arg(pg.join("data"))
        .args([
            "-c",
            "listen_addresses=",
            "-c",
            &format!("unix_socket_directories={}/sock", pg.display()),
        ])
        .stderr(Stdio::null());
    if rustix::process::geteuid().is_root() {
        use std::os::unix::process::CommandExt as _;
        command.uid(owner.uid()).gid(owner.gid());
    }
    let mut orphan = command.spawn().unwrap();
    eventually("orphan", || async {
        state.path().join("pg/sock/.s.PGSQL.5432").exists().then_some(())
    })
    .await;

    let database = start_private(state.path());
    ready(&database).await;
    assert_eq!(postmaster(state.path()), i32::try_from(orphan.id()).unwrap());
    assert_eq!(database.job(row.id).await.unwrap().unwrap(), row);
    // One that dies is replaced by one of ours.
    let mut changes = database.state();
    changes.mark_unchanged();
    kill(postmaster(state.path()), Signal::KILL);
    orphan.wait().unwrap();
    within("notices", changes.changed()).await.unwrap();
    ready(&database).await;
    assert_eq!(database.job(row.id).await.unwrap().unwrap(), row);
    let pid = postmaster(state.path());
    database.stop().await;
    assert!(!alive(pid));
}

/// Not a test of its own: the process that the next test kills.
#[tokio::test(flavor = "multi_thread")]
async fn victim() {
    let Some(state) = std::env::var_os("FLEETHOLD_TEST_VICTIM") else {
        return;
    };
    let state = Path::new(&state);
    let database = start_private(state);
    ready(&database).await;
    let row = record_one(state, &database).await;
    // What is recorded now stays in the spool: its replay has stopped with the recorder.
    std::fs::write(state.join("row.new"), serde_json::to_vec(&row).unwrap()).unwrap();
    std::fs::rename(state.join("row.new"), state.join("row")).unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_ends_with_a_killed_fleethold_and_recovers() {
    let state = state_dir();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim"])
        .env("FLEETHOLD_TEST_VICTIM", state.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("victim records", || async {
        state.path().join("row").exists().then_some(())
    })
    .await;
    let row: fleethold_history::JobRow =
        serde_json::from_slice(&std::fs::read(state.path().join("row")).unwrap()).unwrap();
    let pid = postmaster(state.path());
    assert!(alive(pid));

    victim.kill().unwrap();
    victim.wait().unwrap();
    // At once: the old server may still be stopping.
    let database = start_private(state.path());
    ready(&database).await;
    eventually("old server ends", || async { (!alive(pid)).then_some(()) }).await;
    assert_ne!(postmaster(state.path()), pid);
    assert_eq!(database.job(row.id).await.unwrap(), Some(row));
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_process_on_the_same_state_is_told() {
    let state = state_dir();
    let first = start_private(state.path());
    ready(&first).await;
    let second = start_private(state.path());
    let reason = away(&second).await;
    assert!(
        reason.contains("pg/lock") && reason.contains("another fleethold process"),
        "{reason}"
    );
    // Leaving does not touch what belongs to the first, whose end lets the next one in.
    let pid = postmaster(state.path());
    second.stop().await;
    assert!(alive(pid));
    first.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_state_directory_gets_a_short_socket() {
    let state = state_dir();
    let deep = state.path().join("d".repeat(60)).join("e".repeat(60));
    let database = start_private(&deep);
    ready(&database).await;
    let socket = socket_dir(&deep);
    assert!(socket.starts_with("/tmp"), "{}", socket.display());
    assert_eq!(socket.metadata().unwrap().mode() & 0o777, 0o700);
    within("stop", database.stop()).await;
    assert!(!socket.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_folder_above_is_named() {
    if !rustix::process::geteuid().is_root() {
        // Only root runs the cluster as somebody else.
        return;
    }
    let state = state_dir();
    let closed = state.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    let database = start_private(&closed.join("state"));
    let reason = away(&database).await;
    assert!(
        reason.contains(&format!("{} has mode 0700", closed.display())),
        "{reason}"
    );
    // It comes up by itself once the way is open.
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o711)).unwrap();
    ready(&database).await;
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_made_data_is_made_again() {
    let state = state_dir();
    let unfinished = state.path().join("pg/data.new");
    std::fs::create_dir_all(&unfinished).unwrap();
    std::fs::write(unfinished.join("PG_VERSION"), "15\n").unwrap();
    let database = start_private(state.path());
    ready(&database).await;
    assert!(!unfinished.exists());
    database.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_url_is_told_without_its_password() {
    let database = Database::start(fleethold_history::DatabaseConfig::External(
        "postgres://me:hunter2@127.0.0.1:99999/x".into(),
    ));
    let reason = away(&database).await;
    assert!(
        reason.contains("database URL") && !reason.contains("hunter2"),
        "{reason}"
    );
    database.stop().await;
}
