//! The audit log: nothing is lost while the database is away, nothing is there twice.

#![expect(
    clippy::unwrap_used,
    reason = "in a test it is the right answer, in its helpers too"
)]

mod common;

use common::*;
use fleethold_history::audit::{self, AuditEntry, AuditVia, MAX_WAITING};
use fleethold_history::{Database, DatabaseConfig, HistoryError};
use serde_json::{Value, json};
use time::macros::datetime;
use uuid::Uuid;

fn entry(target: &str, via: AuditVia) -> AuditEntry {
    AuditEntry {
        id: Uuid::now_v7(),
        at: datetime!(2026-11-21 15:00:00.123456 UTC),
        actor: "admin@pbs".to_owned(),
        via,
        address: (via != AuditVia::CommandLine).then(|| "2001:db8::1".to_owned()),
        action: "user.update".to_owned(),
        target: target.to_owned(),
        was: Value::Null,
        became: json!({"comment": "new \u{e4}", "enable": true}),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_wait_for_the_database_and_are_stored_once() {
    let state = state_dir();
    let dir = audit::dir(state.path());
    let entries = [
        entry("ann@pbs", AuditVia::Session),
        entry("bob@pbs", AuditVia::Token),
        entry("ann@pbs", AuditVia::CommandLine),
    ];
    let away = Database::start(DatabaseConfig::External(
        "postgres://nobody@127.0.0.1:1/none".to_owned(),
    ));
    for entry in &entries {
        audit::put(&dir, entry).unwrap();
    }
    assert!(audit::upload(&away, &dir).await.is_err());
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 3, "all of them wait");
    away.stop().await;

    let database = start_private(state.path());
    ready(&database).await;
    std::fs::write(dir.join("0.json"), "{\"no\":\"entry\"}").unwrap();
    let moved = audit::upload(&database, &dir).await.unwrap();
    assert_eq!(
        (moved.stored, moved.refused),
        (3, vec![dir.join("0.json.refused")])
    );
    // As after a crash between storing and clearing.
    audit::put(&dir, &entries[0]).unwrap();
    assert_eq!(audit::upload(&database, &dir).await.unwrap().stored, 1);

    let all = database.audit(None, None, 10).await.unwrap();
    let newest_first: Vec<AuditEntry> = entries.iter().rev().cloned().collect();
    assert_eq!((all.items, all.next_cursor), (newest_first, None));
    let first = database.audit(Some("ann@pbs"), None, 1).await.unwrap();
    assert_eq!(first.items, [entries[2].clone()]);
    let second = database
        .audit(Some("ann@pbs"), first.next_cursor, 1)
        .await
        .unwrap();
    assert_eq!(
        (second.items, second.next_cursor),
        (vec![entries[0].clone()], None)
    );
    database.stop().await;
}

#[test]
fn the_outbox_is_bounded() {
    let state = tempfile::tempdir().unwrap();
    let dir = audit::dir(state.path());
    let mut large = entry("ann@pbs", AuditVia::Session);
    large.became = json!("x".repeat(70_000));
    assert!(matches!(
        audit::put(&dir, &large),
        Err(HistoryError::Refused { .. })
    ));
    std::fs::create_dir_all(&dir).unwrap();
    for n in 0..MAX_WAITING {
        std::fs::write(dir.join(format!("{n}.json")), "").unwrap();
    }
    let refused = audit::put(&dir, &entry("ann@pbs", AuditVia::Session)).unwrap_err();
    assert!(refused.to_string().contains("10,000"), "{refused}");
}
