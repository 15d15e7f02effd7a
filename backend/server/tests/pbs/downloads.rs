//! Files as they are stored, and decoded.

use fleethold_format::hash::Sha256;
use reqwest::{Method, StatusCode, header};
use serde_json::Value;

use crate::client::Client;

/// The files that a table of the fixtures lists: `(store, namespace, snapshot, file, crypt mode, sha256)`.
fn listed(client: &Client) -> Vec<[String; 6]> {
    let mut files = Vec::new();
    for (store, table) in [("golden", "expected.json"), ("real", "real/expected-real.json")] {
        let table: Value =
            serde_json::from_slice(&std::fs::read(client.server.golden.join(table)).unwrap()).unwrap();
        for file in table["files"].as_array().unwrap() {
            let text = |field: &str| file[field].as_str().unwrap().to_owned();
            let path = text("path");
            let parts: Vec<&str> = path.split('/').collect();
            let (ns, snapshot) = parts.split_at(parts.len() - 3);
            let ns: Vec<&str> = ns.iter().skip(1).step_by(2).copied().collect();
            files.push([
                store.to_owned(),
                ns.join("/"),
                snapshot.join("/"),
                text("file"),
                text("crypt-mode").to_lowercase(),
                text("plain-sha256"),
            ]);
        }
    }
    files
}

fn query(ns: &str, snapshot: &str, file: &str) -> String {
    let mut parts = snapshot.split('/');
    let (ty, id, time) = (
        parts.next().unwrap(),
        parts.next().unwrap(),
        parts.next().unwrap(),
    );
    let epoch: fleethold_format::names::BackupTime = time.parse().unwrap();
    format!(
        "ns={ns}&backup-type={ty}&backup-id={id}&backup-time={}&file-name={file}",
        epoch.epoch()
    )
}

#[tokio::test]
async fn every_stored_file_byte_for_byte() {
    let client = Client::signed_in().await;
    let mut files = listed(&client);
    for [store, ns, snapshot, ..] in listed(&client) {
        let manifest = "index.json.blob".to_owned();
        files.push([store, ns, snapshot, manifest, String::new(), String::new()]);
    }
    for [store, ns, snapshot, file, ..] in files {
        let path = format!(
            "/admin/datastore/{store}/download?{}",
            query(&ns, &snapshot, &file)
        );
        let response = client.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let length: u64 = response.headers()[header::CONTENT_LENGTH]
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        let body = response.bytes().await.unwrap();
        let folder = client
            .server
            .golden
            .join(if store == "real" { "real/store" } else { "store" });
        let ns = ns
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| format!("ns/{part}/"))
            .collect::<String>();
        let stored = std::fs::read(folder.join(format!("{ns}{snapshot}/{file}"))).unwrap();
        assert!(body == stored && length == stored.len() as u64, "{path}");
    }
}

#[tokio::test]
async fn every_plain_file_decoded_and_every_encrypted_one_refused() {
    let client = Client::signed_in().await;
    let (mut plain, mut encrypted) = (0, 0);
    for [store, ns, snapshot, file, mode, sha256] in listed(&client) {
        let path = format!(
            "/admin/datastore/{store}/download-decoded?{}",
            query(&ns, &snapshot, &file)
        );
        // What a client says it can unpack must not make an image of gigabytes be packed.
        let request = client
            .request(Method::GET, &path)
            .header(header::ACCEPT_ENCODING, "gzip, deflate, br");
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.unwrap();
        // `?` is the client log: its own magic says whether it is encrypted.
        if mode == "encrypt" || (mode == "?" && status != StatusCode::OK) {
            assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
            // An error may come packed, as any text: asked for again without.
            let reply = client.get(&path).await;
            let text = reply.refusal();
            assert!(
                text.contains("encrypted") && text.contains("key"),
                "{path}: {text}"
            );
            encrypted += 1;
            continue;
        }
        assert_eq!(
            status,
            StatusCode::OK,
            "{path}: {}",
            String::from_utf8_lossy(&body)
        );
        assert_eq!(headers[header::CONTENT_LENGTH], *body.len().to_string(), "{path}");
        assert_eq!(hex::encode(Sha256::digest(&body)), sha256, "{path}");
        plain += 1;
    }
    assert!(
        plain >= 18 && encrypted >= 7,
        "{plain} plain, {encrypted} encrypted"
    );
}

#[tokio::test]
async fn what_is_not_there_or_not_allowed() {
    let client = Client::signed_in().await;
    let snapshot = "vm/100/2024-05-01T10:00:00Z";
    for action in ["download", "download-decoded"] {
        for (query, says) in [
            (query("", snapshot, "nothing.blob"), "nothing.blob"),
            (query("", snapshot, "../../101/owner"), "'file-name'"),
            (query("", snapshot, "owner"), "'file-name'"),
            (
                query("", "vm/100/2023-05-01T10:00:00Z", "index.json.blob"),
                "2023-05-01",
            ),
            (query("../..", snapshot, "index.json.blob"), "'ns'"),
        ] {
            let reply = client
                .get(&format!("/admin/datastore/golden/{action}?{query}"))
                .await;
            assert!(reply.refusal().contains(says), "{action}?{query}: {}", reply.text);
        }
    }
}

#[tokio::test]
async fn an_unfinished_snapshot_gives_its_files_as_they_are_stored_and_nothing_decoded() {
    let client = Client::signed_in().await;
    let file = query("", "vm/100/2024-05-03T10:00:00Z", "qemu-server.conf.blob");
    let path = |action: &str| format!("/admin/datastore/golden/{action}?{file}");
    let stored = client
        .request(Method::GET, &path("download"))
        .send()
        .await
        .unwrap();
    assert_eq!(stored.status(), StatusCode::OK);
    let on_disk = client
        .server
        .golden
        .join("store/vm/100/2024-05-03T10:00:00Z/qemu-server.conf.blob");
    assert_eq!(stored.bytes().await.unwrap(), std::fs::read(on_disk).unwrap());
    let reply = client.get(&path("download-decoded")).await;
    assert!(reply.refusal().contains("unfinished"), "{}", reply.text);
}

#[tokio::test]
async fn a_missing_chunk_never_looks_like_a_whole_file() {
    let client = Client::signed_in().await;
    let snapshot = "vm/100/2024-05-01T10:00:00Z";
    let first = query("", snapshot, "drive-efidisk0.img.fidx");
    let reply = client
        .get(&format!("/admin/datastore/broken/download-decoded?{first}"))
        .await;
    let index = client
        .server
        .golden
        .join("broken")
        .join(snapshot)
        .join("drive-efidisk0.img.fidx");
    let lost = hex::encode(&std::fs::read(index).unwrap()[4096..][..32]);
    let says = format!(
        "restoring drive-efidisk0.img.fidx of snapshot {snapshot} in store broken: chunk {lost} at position 0 "
    );
    let text = reply.refusal();
    assert!(
        text.starts_with(&says) && text.contains("removed by prune or garbage collection?"),
        "{text}"
    );

    let third = query("", snapshot, "drive-scsi0.img.fidx");
    let path = format!("/admin/datastore/broken/download-decoded?{third}");
    let response = client.request(Method::GET, &path).send().await.unwrap();
    let refused = !response.status().is_success();
    assert!(
        refused || response.bytes().await.is_err(),
        "a broken stream must not end cleanly"
    );
}

#[tokio::test]
async fn a_link_is_not_followed() {
    let client = Client::signed_in().await;
    let folder = client.server.golden.join("broken/vm/101/2024-05-01T12:00:00Z");
    let link = folder.join("passwd.blob");
    if link.symlink_metadata().is_err() {
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
    }
    let query = query("", "vm/101/2024-05-01T12:00:00Z", "passwd.blob");
    let reply = client
        .get(&format!("/admin/datastore/broken/download?{query}"))
        .await;
    assert!(reply.refusal().contains("passwd.blob"), "{}", reply.text);
}
