//! The migrations from zero make the checked-in schema, and each way down undoes its way up.

#![expect(
    clippy::unwrap_used,
    reason = "in a test it is the right answer, in its helpers too"
)]

mod common;

use std::path::Path;
use std::process::Command;

use common::*;
use fleethold_history::migrations;
use sqlx::{Connection as _, Executor as _};

/// The schema as SQL, without what depends on the version of pg_dump, and without the migrator's own table.
fn dump(state: &Path, database: &str) -> String {
    let output = Command::new(program("pg_dump"))
        .args([
            "--schema-only",
            "--no-owner",
            "--no-privileges",
            "--exclude-table=_sqlx_migrations",
        ])
        .args(["-U", "fleethold", "-d", database, "-h"])
        .arg(socket_dir(state))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let kept = text.lines().filter(|line| {
        let noise = ["--", "SET ", "SELECT pg_catalog.set_config", "\\"];
        !line.trim().is_empty() && !noise.iter().any(|start| line.starts_with(start))
    });
    kept.flat_map(|line| [line, "\n"]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn migrations_make_the_checked_in_schema_and_can_be_undone() {
    let state = state_dir();
    let cluster = start_private(state.path());
    ready(&cluster).await;
    connect(state.path(), "postgres")
        .await
        .execute("CREATE DATABASE steps")
        .await
        .unwrap();
    let mut steps = connect(state.path(), "steps").await;

    let migrations = migrations();
    let versions: Vec<i64> = migrations
        .iter()
        .filter(|one| one.migration_type.is_up_migration())
        .map(|one| one.version)
        .collect();
    assert!(!versions.is_empty());
    let mut before = 0;
    for &version in &versions {
        let old = dump(state.path(), "steps");
        migrations.run_to(version, &mut steps).await.unwrap();
        let new = dump(state.path(), "steps");
        assert_ne!(old, new, "migration {version} changes nothing");
        migrations.undo(&mut steps, before).await.unwrap();
        assert_eq!(
            dump(state.path(), "steps"),
            old,
            "migration {version} down does not undo its up"
        );
        migrations.run_to(version, &mut steps).await.unwrap();
        assert_eq!(
            dump(state.path(), "steps"),
            new,
            "migration {version} does not repeat"
        );
        before = version;
    }
    steps.close().await.unwrap();

    let found = dump(state.path(), "steps");
    assert_eq!(
        found,
        dump(state.path(), "fleethold"),
        "what a start migrates is what the steps make"
    );
    let checked_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema.sql");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&checked_in, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&checked_in).unwrap_or_default();
    assert!(
        found == expected,
        "schema.sql is old: run backend/history/prepare.sh\n{found}"
    );
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn schema_of_a_newer_version_is_no_obstacle() {
    let state = state_dir();
    let cluster = start_private(state.path());
    ready(&cluster).await;
    let mut connection = connect(state.path(), "fleethold").await;
    connection
        .execute(
            "ALTER TABLE job ADD COLUMN tomorrow text;
             INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (99991231000000, 'tomorrow', true, 'x', 0)",
        )
        .await
        .unwrap();
    cluster.stop().await;
    let cluster = start_private(state.path());
    ready(&cluster).await;
    assert_eq!(
        cluster.jobs(&Default::default(), None, 10).await.unwrap().items,
        []
    );
    cluster.stop().await;
}
