//! What people who are not administrators see.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::client::Client;
use crate::server::{READER_PASSWORD, now};

const OWN: &str = "backup-type=host&backup-id=web1&backup-time=1714557700";
const OTHER: &str = "backup-type=vm&backup-id=100&backup-time=1714557600";

fn ids(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item["backup-id"].as_str().unwrap())
        .collect()
}

async fn status(client: &Client, path: &str) -> StatusCode {
    client.request(Method::GET, path).send().await.unwrap().status()
}

#[tokio::test]
async fn somebody_without_rights_sees_nothing() {
    let guest = Client::signed_in_as("guest@pbs", READER_PASSWORD).await;
    assert_eq!(guest.get("/version").await.status, StatusCode::OK);
    for path in [
        "/admin/datastore",
        "/status/datastore-usage",
        "/nodes/localhost/tasks?limit=0",
    ] {
        assert_eq!(guest.get(path).await.data(), Value::Array(Vec::new()), "{path}");
    }
    let file = format!("{OWN}&file-name=root.pxar.didx");
    for path in [
        "status",
        "groups",
        "snapshots",
        "namespace",
        &format!("files?{OWN}"),
        &format!("download?{file}"),
        &format!("download-decoded?{file}"),
    ] {
        let reply = guest.get(&format!("/admin/datastore/golden/{path}")).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{path}: {}", reply.text);
        assert!(reply.text.contains("/datastore/golden"), "{}", reply.text);
        let unknown = guest.get(&format!("/admin/datastore/nowhere/{path}")).await;
        assert_eq!(
            unknown.status,
            StatusCode::FORBIDDEN,
            "what exists is not told: {}",
            unknown.text
        );
    }
}

#[tokio::test]
async fn an_auditor_sees_everything_and_reads_nothing() {
    let auditor = Client::signed_in_as("auditor@pbs", READER_PASSWORD).await;
    let stores = auditor.get("/admin/datastore").await.data();
    assert_eq!(stores.as_array().unwrap().len(), 1);
    assert!(auditor.get("/admin/datastore/golden/status").await.data()["total"].as_u64() > Some(0));
    assert_eq!(
        ids(&auditor.get("/admin/datastore/golden/groups").await.data()),
        ["web1", "100", "101"]
    );
    assert_eq!(
        status(&auditor, &format!("/admin/datastore/golden/files?{OTHER}")).await,
        StatusCode::OK
    );
    for action in ["download", "download-decoded"] {
        let path = format!("/admin/datastore/golden/{action}?{OTHER}&file-name=qemu-server.conf.blob");
        assert_eq!(status(&auditor, &path).await, StatusCode::FORBIDDEN, "{action}");
    }
}

#[tokio::test]
async fn a_tenant_of_a_namespace_learns_no_figures_of_the_store() {
    let tenant = Client::signed_in_as("tenant@pbs", READER_PASSWORD).await;
    assert_eq!(
        tenant.get("/status/datastore-usage").await.data(),
        json!([{"store": "golden", "mount-status": "nonremovable", "backend-type": "filesystem"}])
    );
    assert_eq!(
        tenant.get("/admin/datastore/golden/namespace").await.data(),
        json!([{"ns": "prod/db"}])
    );
    let auditor = Client::signed_in_as("auditor@pbs", READER_PASSWORD).await;
    let deadline = now() + Duration::from_secs(60);
    while auditor.get("/status/datastore-usage").await.data()[0]["total"].is_null() {
        assert!(now() < deadline, "the store was never looked at");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let usage = tenant.get("/status/datastore-usage").await.data();
    assert!(usage[0]["total"].is_null(), "{usage}");
}

#[tokio::test]
async fn an_owner_sees_and_reads_its_own() {
    let owner = Client::signed_in_as("owner@pbs", READER_PASSWORD).await;
    assert_eq!(
        ids(&owner.get("/admin/datastore/golden/groups").await.data()),
        ["web1"]
    );
    assert_eq!(
        ids(&owner.get("/admin/datastore/golden/snapshots").await.data()),
        ["web1", "web1"]
    );
    let path = |action: &str, snapshot: &str, file: &str| {
        format!("/admin/datastore/golden/{action}?{snapshot}&file-name={file}")
    };
    assert_eq!(
        status(&owner, &format!("/admin/datastore/golden/files?{OWN}")).await,
        StatusCode::OK
    );
    assert_eq!(
        status(&owner, &format!("/admin/datastore/golden/files?{OTHER}")).await,
        StatusCode::FORBIDDEN
    );
    for action in ["download", "download-decoded"] {
        assert_eq!(
            status(&owner, &path(action, OWN, "root.pxar.didx")).await,
            StatusCode::OK,
            "{action}"
        );
        let other = path(action, OTHER, "qemu-server.conf.blob");
        assert_eq!(status(&owner, &other).await, StatusCode::FORBIDDEN, "{action}");
    }
}
