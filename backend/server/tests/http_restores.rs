//! Restores over HTTP on the golden stores: bytes, cancel, refusals, restarts.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use support::{Golden, Ground, IMAGE_SHA256, USER_PASSWORD, eventually, image, sha256};

#[tokio::test(flavor = "multi_thread")]
async fn every_golden_file_restores_to_its_digest_all_at_once() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let mut jobs = Vec::new();
    for (n, golden) in Golden::all(&ground).into_iter().enumerate() {
        let mut body = json!({"source": golden.source(), "sha256": true,
            "target": {"kind": "file", "path": format!("restored-{n}")}});
        if golden.encrypted {
            body["key"] = ground.key().into();
        }
        let job = api.restore(&body).await;
        assert!(job["upid"].as_str().unwrap().contains(":restore:golden"), "{job}");
        jobs.push((n, golden, job["id"].as_str().unwrap().to_owned()));
    }
    assert!(jobs.len() >= 8);
    for (n, golden, id) in jobs {
        let job = api.ended(&id).await;
        assert_eq!(job["state"], "ok", "{job}");
        assert_eq!(job["totals"]["sha256"], golden.sha256.as_str(), "{job}");
        let bytes = fs::read(ground.path(&format!("state/restore/restored-{n}"))).unwrap();
        assert_eq!(sha256(&bytes), golden.sha256, "{}", golden.file);
        let log = api.json(&format!("/api/v1/restores/{id}/log")).await;
        let last = log["lines"].as_array().unwrap().last().unwrap()["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(last.ends_with(": TASK OK"), "{log}");
    }
    let left: Vec<_> = fs::read_dir(ground.path("state/restore"))
        .unwrap()
        .filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .ends_with(".part")
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_restore_leaves_nothing_and_the_others_go_on() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let mut slow = image(json!({"kind": "file", "path": "slow.raw"}));
    slow["simulate_latency_ms"] = 10_000.into();
    slow["parallel"] = 1.into();
    let slow = api.restore(&slow).await["id"].as_str().unwrap().to_owned();
    let other = api
        .restore(&image(json!({"kind": "file", "path": "other.raw"})))
        .await;
    eventually("the slow restore's first fetch", || async {
        let job = api.json(&format!("/api/v1/restores/{slow}")).await;
        (job["progress"]["in_flight"].as_u64().unwrap() > 0).then_some(())
    })
    .await;
    let busy = api
        .post(
            "/api/v1/restores",
            &image(json!({"kind": "file", "path": "slow.raw"})),
        )
        .await;
    api.problem(busy, StatusCode::CONFLICT, "target-busy").await;
    let root = ground.path("state/restore");
    for other_name in ["./slow.raw", &format!("{}//./slow.raw", root.display())] {
        let busy = api
            .post(
                "/api/v1/restores",
                &image(json!({"kind": "file", "path": other_name})),
            )
            .await;
        api.problem(busy, StatusCode::CONFLICT, "target-busy").await;
    }
    let reply = api
        .request(Method::DELETE, &format!("/api/v1/restores/{slow}"))
        .send()
        .await
        .unwrap();
    assert_eq!(reply.status(), StatusCode::ACCEPTED);
    let job = api.ended(&slow).await;
    assert_eq!(job["state"], "cancelled", "{job}");
    assert_eq!(api.ended(other["id"].as_str().unwrap()).await["state"], "ok");
    let names: Vec<String> = fs::read_dir(ground.path("state/restore"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, ["other.raw"]);
    let again = api
        .post(&format!("/api/v1/restores/{slow}/cancel"), &Value::Null)
        .await;
    api.problem(again, StatusCode::CONFLICT, "already-ended").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_refused_before_anything_is_written() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    fs::write(ground.path("state/restore/there.raw"), "precious").unwrap();
    std::os::unix::fs::symlink(ground.path("g"), ground.path("state/restore/link")).unwrap();
    let file = |path: &str| image(json!({"kind": "file", "path": path}));
    let source = |key: &str, value: &str| {
        let mut body = image(json!({"kind": "null"}));
        body["source"][key] = value.into();
        body
    };
    let with = |key: &str, value: Value| {
        let mut body = image(json!({"kind": "null"}));
        body[key] = value;
        body
    };
    let encrypted = |key: Option<&str>| {
        let mut body = source("snapshot", "vm/101/2024-05-01T11:00:00Z");
        body["source"]["archive"] = "drive-virtio0.img.fidx".into();
        body["key"] = key.into();
        body
    };
    let real_key = fs::read_to_string(ground.path("g/real/enc.key")).unwrap();
    let locked_key = fs::read_to_string(ground.path("g/encryption-key-scrypt.json")).unwrap();
    let outside = ground.path("elsewhere.raw").display().to_string();
    let cases = [
        (file("there.raw"), StatusCode::CONFLICT, "target-exists"),
        (
            file("../outside.raw"),
            StatusCode::FORBIDDEN,
            "target-outside-root",
        ),
        (file("link/x.raw"), StatusCode::FORBIDDEN, "target-outside-root"),
        (file(&outside), StatusCode::FORBIDDEN, "target-outside-root"),
        (
            image(json!({"kind": "file"})),
            StatusCode::UNPROCESSABLE_ENTITY,
            "target-unsuitable",
        ),
        (
            file("a\u{0}b.raw"),
            StatusCode::UNPROCESSABLE_ENTITY,
            "target-unsuitable",
        ),
        (
            file(&"x".repeat(300)),
            StatusCode::UNPROCESSABLE_ENTITY,
            "target-unsuitable",
        ),
        (
            with("SHA256", true.into()),
            StatusCode::BAD_REQUEST,
            "invalid-body",
        ),
        (
            source("namespace", "prod"),
            StatusCode::BAD_REQUEST,
            "invalid-body",
        ),
        (
            image(json!({"kind": "device", "path": "/dev/null"})),
            StatusCode::FORBIDDEN,
            "device-not-allowed",
        ),
        (source("store", "nowhere"), StatusCode::NOT_FOUND, "unknown-store"),
        (
            source("store", "../golden"),
            StatusCode::NOT_FOUND,
            "unknown-store",
        ),
        (source("store", "closed"), StatusCode::CONFLICT, "maintenance"),
        (source("ns", "a/../b"), StatusCode::BAD_REQUEST, "invalid-name"),
        (source("ns", "none"), StatusCode::NOT_FOUND, "namespace-missing"),
        (
            source("snapshot", "vm/100"),
            StatusCode::BAD_REQUEST,
            "invalid-name",
        ),
        (
            source("snapshot", "vm/../2024-05-01T10:00:00Z"),
            StatusCode::BAD_REQUEST,
            "invalid-name",
        ),
        (
            source("snapshot", "vm/100/2020-05-01T10:00:00Z"),
            StatusCode::NOT_FOUND,
            "snapshot-missing",
        ),
        (
            source("snapshot", "vm/100/2024-05-03T10:00:00Z"),
            StatusCode::CONFLICT,
            "snapshot-unfinished",
        ),
        (
            source("archive", "none.img"),
            StatusCode::NOT_FOUND,
            "unknown-file",
        ),
        (
            source("archive", "../../owner"),
            StatusCode::BAD_REQUEST,
            "invalid-name",
        ),
        (
            with("parallel", 0.into()),
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid-parallel",
        ),
        (
            with("simulate_latency_ms", 10_001.into()),
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid-latency",
        ),
        (
            with("key", "no key".into()),
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid-key-file",
        ),
        (encrypted(None), StatusCode::UNPROCESSABLE_ENTITY, "key-missing"),
        (
            encrypted(Some(&real_key)),
            StatusCode::UNPROCESSABLE_ENTITY,
            "wrong-key",
        ),
        (
            encrypted(Some(&locked_key)),
            StatusCode::UNPROCESSABLE_ENTITY,
            "key-password-missing",
        ),
        (json!({"source": {}}), StatusCode::BAD_REQUEST, "invalid-body"),
    ];
    for (body, status, code) in cases {
        let reply = api.post("/api/v1/restores", &body).await;
        let problem = api.problem(reply, status, code).await;
        assert!(!problem["detail"].as_str().unwrap().is_empty());
    }
    assert_eq!(api.json("/api/v1/restores").await["items"], json!([]));
    assert_eq!(
        fs::read_to_string(ground.path("state/restore/there.raw")).unwrap(),
        "precious"
    );
    let mut over = image(json!({"kind": "file", "path": "there.raw", "overwrite": true}));
    over["parallel"] = 2.into();
    let id = api.restore(&over).await["id"].as_str().unwrap().to_owned();
    assert_eq!(api.ended(&id).await["state"], "ok");
    assert_eq!(
        sha256(&fs::read(ground.path("state/restore/there.raw")).unwrap()),
        IMAGE_SHA256
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_chunk_fails_one_job_and_says_where() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let index = fs::read(ground.path("g/store/vm/100/2024-05-01T10:00:00Z/drive-efidisk0.img.fidx")).unwrap();
    let digest = hex::encode(&index[4096..4128]);
    let chunk = ground.path(&format!("g/store/.chunks/{}/{digest}", &digest[..4]));
    let mut bytes = fs::read(&chunk).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&chunk, bytes).unwrap();
    let mut body = image(json!({"kind": "file", "path": "broken.raw"}));
    body["source"]["archive"] = "drive-efidisk0.img".into();
    let id = api.restore(&body).await["id"].as_str().unwrap().to_owned();
    let good = api.restore(&image(json!({"kind": "null"}))).await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let job = api.ended(&id).await;
    assert_eq!(job["state"], "failed", "{job}");
    let error = &job["error"];
    assert_eq!(
        (&error["chunk"], &error["position"]),
        (&json!(digest), &json!(0)),
        "{error}"
    );
    let message = error["message"].as_str().unwrap();
    for part in ["golden", "vm/100/2024-05-01T10:00:00Z", "drive-efidisk0.img.fidx"] {
        assert!(message.contains(part), "{part} not in {message}");
    }
    assert!(!ground.path("state/restore/broken.raw").exists());
    assert_eq!(api.ended(&good).await["state"], "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_under_way_is_interrupted_by_a_stop_and_shown_after_the_restart() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let mut body = image(json!({"kind": "file", "path": "long.raw"}));
    body["simulate_latency_ms"] = 10_000.into();
    let id = api.restore(&body).await["id"].as_str().unwrap().to_owned();
    eventually("the restore's first fetch", || async {
        let job = api.json(&format!("/api/v1/restores/{id}")).await;
        (job["progress"]["in_flight"].as_u64().unwrap() > 0).then_some(())
    })
    .await;
    server.stop().await;
    assert_eq!(fs::read_dir(ground.path("state/restore")).unwrap().count(), 0);

    let server = ground.serve().await;
    let api = server.client().await;
    let job = api.json(&format!("/api/v1/restores/{id}")).await;
    assert_eq!(job["state"], "interrupted", "{job}");
    assert_eq!(job["error"]["code"], "interrupted");
    assert_eq!(job["progress"]["bytes_total"], 30_015_488);
    let log = api.json(&format!("/api/v1/restores/{id}/log")).await;
    let last = log["lines"].as_array().unwrap().last().unwrap()["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(last.contains(": TASK ERROR: interrupted"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queued_restore_is_cancelled_once_and_at_once() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let mut slow = image(json!({"kind": "null"}));
    slow["simulate_latency_ms"] = 10_000.into();
    slow["parallel"] = 1.into();
    let fit = api.json("/api/v1/observe").await["jobs"]["max_running"]
        .as_u64()
        .unwrap();
    for _ in 0..fit {
        api.restore(&slow).await;
    }
    slow["target"] = json!({"kind": "file", "path": "queued.raw"});
    let queued = api.restore(&slow).await;
    assert_eq!(queued["state"], "queued", "{queued}");
    let path = format!("/api/v1/restores/{}", queued["id"].as_str().unwrap());
    let cancel = || async { api.post(&format!("{path}/cancel"), &Value::Null).await };
    let cancelled = cancel().await;
    assert_eq!(cancelled.status(), StatusCode::ACCEPTED);
    let cancelled: Value = cancelled.json().await.unwrap();
    assert_eq!(cancelled["state"], "cancelled", "{cancelled}");
    api.problem(cancel().await, StatusCode::CONFLICT, "already-ended")
        .await;
    eventually("the target is free again", || async {
        let jobs = &api.json("/api/v1/observe").await["jobs"];
        (jobs["targets"] == 0 && jobs["running"] == fit).then_some(())
    })
    .await;
    let log = api.json(&format!("{path}/log")).await;
    let last = log["lines"].as_array().unwrap().last().unwrap();
    assert!(last["text"].as_str().unwrap().ends_with("cancelled"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sees_one_store_sees_it_and_the_own_restores() {
    let ground = Ground::new();
    let server = ground.serve().await;
    ground.add_user(
        "reader@pbs",
        "acl:1:/datastore/golden:reader@pbs:DatastoreReader\n",
    );
    ground.add_user("guest@pbs", "");
    ground.add_user(
        "others@pbs",
        "acl:1:/datastore:others@pbs:DatastoreAudit\nacl:1:/datastore/golden:others@pbs:NoAccess\n",
    );
    let admin = server.client().await;
    let others = server.client_as("others@pbs", USER_PASSWORD).await;
    let reader = server.client_as("reader@pbs", USER_PASSWORD).await;
    let guest = server.client_as("guest@pbs", USER_PASSWORD).await;
    let id = |job: Value| job["id"].as_str().unwrap().to_owned();
    let of_admin = id(admin.restore(&image(json!({"kind": "null"}))).await);
    let own = id(reader.restore(&image(json!({"kind": "null"}))).await);
    assert_eq!(reader.ended(&own).await["state"], "ok");
    for part in ["/log", "/samples", "/log?after=18446744073709551615"] {
        reader.json(&format!("/api/v1/restores/{own}{part}")).await;
        let path = format!("/api/v1/restores/{of_admin}{part}");
        reader
            .problem(
                reader.get(&path).await,
                StatusCode::FORBIDDEN,
                "permission-denied",
            )
            .await;
    }
    let ids = |list: Value, key: &str| -> Vec<String> {
        let items = list["items"].as_array().unwrap();
        items
            .iter()
            .map(|item| item[key].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(reader.json("/api/v1/restores").await, "id"), [own.as_str()]);
    assert_eq!(ids(reader.json("/api/v1/stores").await, "name"), ["golden"]);
    assert_eq!(reader.json("/api/v1/fleet/summary").await["stores"], 1);
    assert_eq!(
        ids(others.json("/api/v1/stores").await, "name"),
        ["closed", "real"]
    );
    assert_eq!(others.json("/api/v1/fleet/summary").await["stores"], 2);
    assert_eq!(
        ids(admin.json("/api/v1/restores").await, "id"),
        [own.as_str(), of_admin.as_str()]
    );
    for path in ["/api/v1/restores", "/api/v1/stores"] {
        assert_eq!(guest.json(path).await["items"], json!([]), "{path}");
    }
    let ended = reader
        .post(&format!("/api/v1/restores/{own}/cancel"), &Value::Null)
        .await;
    reader.problem(ended, StatusCode::CONFLICT, "already-ended").await;
    for (path, by) in [(&own, &guest), (&of_admin, &reader)] {
        let refused = by
            .post(&format!("/api/v1/restores/{path}/cancel"), &Value::Null)
            .await;
        by.problem(refused, StatusCode::FORBIDDEN, "permission-denied")
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_only_reads_a_store_writes_nothing_on_the_server() {
    let ground = Ground::new();
    let device = ground.path("device");
    fs::write(&device, "precious").unwrap();
    let server = ground.serve().await;
    ground.add_user(
        "reader@pbs",
        "acl:1:/datastore/golden:reader@pbs:DatastoreReader\n",
    );
    let reader = server.client_as("reader@pbs", USER_PASSWORD).await;
    let admin = server.client().await;
    let file =
        |path: &str, overwrite: bool| image(json!({"kind": "file", "path": path, "overwrite": overwrite}));
    let id = admin.restore(&file("admin.raw", false)).await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(admin.ended(&id).await["state"], "ok");
    let before = fs::metadata(ground.path("state/restore/admin.raw")).unwrap();
    for target in [
        file("admin.raw", true),
        file("new.raw", false),
        image(json!({"kind": "device", "path": device})),
    ] {
        let refused = reader.post("/api/v1/restores", &target).await;
        let problem = reader
            .problem(refused, StatusCode::FORBIDDEN, "permission-denied")
            .await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("lacks Sys.Modify on /system"), "{detail}");
    }
    let after = fs::metadata(ground.path("state/restore/admin.raw")).unwrap();
    assert_eq!(before.ino(), after.ino(), "not replaced");
    assert!(!ground.path("state/restore/new.raw").exists());
    reader.restore(&image(json!({"kind": "null"}))).await;
    ground.allow("acl:0:/system:reader@pbs:Admin\n");
    eventually("the new right", || async {
        let reply = reader.post("/api/v1/restores", &file("new.raw", false)).await;
        (reply.status() == StatusCode::ACCEPTED).then_some(())
    })
    .await;
}
