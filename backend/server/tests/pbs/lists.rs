//! What is in the datastores.

use serde_json::{Value, json};

use crate::client::Client;

const SNAPSHOT: &str = "backup-type=vm&backup-id=100&backup-time=1714557600";

fn names<'v>(list: &'v Value, field: &str) -> Vec<&'v str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item[field].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn datastores() {
    let client = Client::signed_in().await;
    let stores = client.get("/admin/datastore").await.data();
    insta::assert_json_snapshot!(stores);
    let golden = client.get("/admin/datastore/golden/status").await.data();
    assert!(
        golden["total"].as_u64() > golden["avail"].as_u64() && golden["counts"].is_null(),
        "{golden}"
    );
    let verbose = client
        .get("/admin/datastore/golden/status?verbose=1")
        .await
        .data();
    insta::assert_json_snapshot!(verbose, { ".total" => 0, ".used" => 0, ".avail" => 0 });
}

#[tokio::test]
async fn namespaces() {
    let client = Client::signed_in().await;
    let all = client.get("/admin/datastore/golden/namespace").await.data();
    assert_eq!(
        all,
        json!([{ "ns": "" }, { "ns": "empty" }, { "ns": "prod" }, { "ns": "prod/db" }])
    );
    let below = client
        .get("/admin/datastore/golden/namespace?parent=prod&max-depth=1")
        .await
        .data();
    assert_eq!(below, json!([{ "ns": "prod" }, { "ns": "prod/db" }]));
    let itself = client
        .get("/admin/datastore/golden/namespace?max-depth=0")
        .await
        .data();
    assert_eq!(itself, json!([{ "ns": "" }]));
    assert!(
        client
            .get("/admin/datastore/golden/namespace?parent=nowhere")
            .await
            .refusal()
            .contains("nowhere")
    );
}

#[tokio::test]
async fn groups_and_snapshots() {
    let client = Client::signed_in().await;
    insta::assert_json_snapshot!(
        "groups",
        client.get("/admin/datastore/golden/groups").await.data()
    );
    insta::assert_json_snapshot!(
        "snapshots",
        client.get("/admin/datastore/golden/snapshots").await.data()
    );
    let of_group = "/admin/datastore/golden/snapshots?backup-type=vm&backup-id=101";
    assert_eq!(client.get(of_group).await.data().as_array().unwrap().len(), 2);
    let of_type = client
        .get("/admin/datastore/golden/snapshots?backup-type=host")
        .await
        .data();
    assert_eq!(names(&of_type, "backup-id"), ["web1", "web1"]);
    let below = client
        .get("/admin/datastore/golden/groups?ns=prod/db")
        .await
        .data();
    assert_eq!(names(&below, "backup-id"), ["300"]);
}

#[tokio::test]
async fn files() {
    let client = Client::signed_in().await;
    let files = client
        .get(&format!("/admin/datastore/golden/files?{SNAPSHOT}"))
        .await
        .data();
    insta::assert_json_snapshot!(files);
    for (query, says) in [
        ("backup-type=vm&backup-id=100", "'backup-time'"),
        (
            "backup-type=vm&backup-id=..&backup-time=1714557600",
            "'backup-id'",
        ),
        (
            "backup-type=vm&backup-id=100&backup-time=5",
            "1970-01-01T00:00:05Z",
        ),
        (
            "backup-type=vm&backup-id=100&backup-time=1714557600&ns=../..",
            "'ns'",
        ),
    ] {
        let reply = client
            .get(&format!("/admin/datastore/golden/files?{query}"))
            .await;
        assert!(reply.refusal().contains(says), "{query}: {}", reply.text);
    }
}

#[tokio::test]
async fn stores_that_cannot_be_read() {
    let client = Client::signed_in().await;
    let unknown = client.get("/admin/datastore/nowhere/groups").await;
    assert!(unknown.refusal().contains("nowhere"), "{}", unknown.text);
    let closed = client.get("/admin/datastore/closed/groups").await;
    assert!(closed.refusal().contains("new disks"), "{}", closed.text);
    let gone = client.get("/admin/datastore/gone/groups").await;
    assert!(
        !gone.status.is_success() && gone.text.contains("gone"),
        "{}",
        gone.text
    );
    assert!(
        client
            .get("/admin/datastore/..%2F..%2Fetc/groups")
            .await
            .status
            .is_client_error()
    );
}

#[tokio::test]
async fn usage_of_all_stores_at_a_glance() {
    let client = Client::signed_in().await;
    let usage = client.get("/status/datastore-usage").await.data();
    assert_eq!(
        names(&usage, "store"),
        ["broken", "closed", "golden", "gone", "real"]
    );
    assert!(
        usage
            .as_array()
            .unwrap()
            .iter()
            .all(|store| store["mount-status"] == "nonremovable"),
        "{usage}"
    );
}

#[tokio::test]
async fn nodes() {
    let client = Client::signed_in().await;
    let node = client.get("/nodes").await.data()[0]["node"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        client
            .get(&format!("/nodes/{node}/tasks"))
            .await
            .data()
            .is_array()
    );
    assert!(
        client
            .get("/nodes/another-host/tasks")
            .await
            .refusal()
            .contains("another-host")
    );
}
