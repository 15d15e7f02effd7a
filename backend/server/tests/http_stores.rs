//! Lists, files, plans and downloads, with snapshots of the replies.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use insta::assert_json_snapshot;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use support::{Golden, Ground, eventually, sha256};

#[tokio::test(flavor = "multi_thread")]
async fn stores_and_what_is_in_them() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let stores = eventually("the scan of all stores", || async {
        let stores = api.json("/api/v1/stores").await;
        let seen = stores["items"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["observed_at"].is_string());
        seen.then_some(stores)
    })
    .await;
    assert_json_snapshot!("stores", stores, {
        ".items[].path" => "[path]", ".items[].observed_at" => "[time]", ".items[].usage" => "[usage]",
        ".items[].reason" => "[reason]"
    });
    assert_json_snapshot!("namespaces", api.json("/api/v1/stores/golden/namespaces").await);
    assert_json_snapshot!("groups", api.json("/api/v1/stores/golden/groups").await);
    assert_json_snapshot!(
        "snapshots",
        api.json("/api/v1/stores/golden/snapshots?group=vm/100").await
    );
    assert_json_snapshot!(
        "snapshots_of_namespace",
        api.json("/api/v1/stores/golden/snapshots?ns=prod/db").await
    );

    let one = api
        .json("/api/v1/stores/golden/snapshot?snapshot=vm/100/2024-05-01T10:00:00Z")
        .await;
    assert!(
        one["files"]
            .as_array()
            .unwrap()
            .iter()
            .any(|file| file["name"] == "drive-scsi0.img.fidx")
    );
    for (path, status, code) in [
        ("/api/v1/stores/nowhere", StatusCode::NOT_FOUND, "unknown-store"),
        (
            "/api/v1/stores/closed/groups",
            StatusCode::CONFLICT,
            "maintenance",
        ),
        (
            "/api/v1/stores/golden/groups?ns=none",
            StatusCode::NOT_FOUND,
            "namespace-missing",
        ),
        (
            "/api/v1/stores/golden/groups?ns=../..",
            StatusCode::BAD_REQUEST,
            "invalid-name",
        ),
        (
            "/api/v1/stores/golden/groups?limit=0",
            StatusCode::BAD_REQUEST,
            "invalid-limit",
        ),
        (
            "/api/v1/stores/golden/groups?limit=x",
            StatusCode::BAD_REQUEST,
            "invalid-query",
        ),
        (
            "/api/v1/restores/018f3b1e-0000-7000-8000-000000000000/samples?points=3",
            StatusCode::BAD_REQUEST,
            "invalid-points",
        ),
        (
            "/api/v1/stores/golden/groups?cursor=%25",
            StatusCode::BAD_REQUEST,
            "invalid-cursor",
        ),
        (
            "/api/v1/stores/golden/snapshots?group=vm/999",
            StatusCode::NOT_FOUND,
            "group-missing",
        ),
    ] {
        api.problem(api.get(path).await, status, code).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_cover_the_list_and_an_unchanged_list_is_not_sent_again() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    for path in [
        "/api/v1/stores?",
        "/api/v1/stores/golden/snapshots?",
        "/api/v1/stores/golden/namespaces?",
    ] {
        let whole = api.json(path).await;
        let (mut pages, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = api.json(&format!("{path}limit=1{cursor}")).await;
            pages.extend(page["items"].as_array().unwrap().clone());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let key = |row: &Value| ["name", "snapshot", "ns"].map(|key| row[key].clone());
        let whole: Vec<_> = whole["items"].as_array().unwrap().iter().map(key).collect();
        assert!(whole.len() > 1);
        assert_eq!(pages.iter().map(key).collect::<Vec<_>>(), whole, "{path}");
    }
    // A cursor belongs to the list that gave it out.
    let of = async |list: &str| {
        let page = api.json(&format!("{list}limit=1")).await;
        page["next_cursor"].as_str().unwrap().to_owned()
    };
    let (stores, groups) = (
        of("/api/v1/stores?").await,
        of("/api/v1/stores/golden/groups?").await,
    );
    for (list, cursor) in [
        ("/api/v1/stores?", &groups),
        ("/api/v1/restores?", &stores),
        ("/api/v1/stores/golden/groups?ns=prod&", &groups),
        ("/api/v1/stores/real/groups?", &groups),
        ("/api/v1/stores/golden/snapshots?", &groups),
        ("/api/v1/stores/golden/namespaces?", &stores),
    ] {
        let reply = api.get(&format!("{list}cursor={cursor}")).await;
        api.problem(reply, StatusCode::BAD_REQUEST, "invalid-cursor")
            .await;
    }
    let unless = async |tag: &str| {
        let request = api
            .request(Method::GET, "/api/v1/stores")
            .header("if-none-match", tag);
        request.send().await.unwrap().status()
    };
    eventually("a list that stays the same", || async {
        let tag = api.get("/api/v1/stores").await.headers()["etag"].clone();
        let again = unless(tag.to_str().unwrap()).await;
        (again == StatusCode::NOT_MODIFIED).then_some(())
    })
    .await;
    assert_eq!(unless("*").await, StatusCode::NOT_MODIFIED);
    assert_eq!(unless("\"another\"").await, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_path_says_what_may_be_done_there() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    for (method, path, allowed) in [
        (Method::PATCH, "/api/v1/stores", "GET, HEAD"),
        (Method::PUT, "/api/v1/session", "GET, HEAD, POST, DELETE"),
        (Method::GET, "/api/v1/restores/plan", "POST"),
        (Method::OPTIONS, "/api/v1/restores", "GET, HEAD, POST"),
        (Method::POST, "/metrics", "GET, HEAD"),
    ] {
        let reply = api.request(method.clone(), path).send().await.unwrap();
        assert_eq!(reply.headers()["allow"], allowed, "{method} {path}");
        let problem = api
            .problem(reply, StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed")
            .await;
        assert!(problem["detail"].as_str().unwrap().contains(path), "{problem}");
    }
    for path in [
        "/api/v1/stores/golden",
        "/api/v1/stores/golden/groups",
        "/api/v1/openapi.json",
        "/metrics",
    ] {
        let (get, head) = (
            api.get(path).await,
            api.request(Method::HEAD, path).send().await.unwrap(),
        );
        assert_eq!(head.status(), get.status(), "{path}");
        assert_eq!(
            head.headers()["content-type"],
            get.headers()["content-type"],
            "{path}"
        );
        assert_eq!(head.text().await.unwrap(), "", "{path}");
    }
    let reply = api.get("/api/v1/stores/golden/groups?limit=many").await;
    let problem = api.problem(reply, StatusCode::BAD_REQUEST, "invalid-query").await;
    let expected = "query: limit: expected a whole number, at least 0, found \"many\"";
    assert_eq!(problem["detail"], expected);
    let target = json!({"kind": "null"});
    let source = json!(["golden", "", "vm/100/2024-05-01T10:00:00Z", "drive-scsi0.img"]);
    for body in [
        json!([source, target]),
        json!({"source": source, "target": target}),
        json!({"source": {"store": "golden", "snapshot": "vm/100/2024-05-01T10:00:00Z", "archive": "a"}, "target": ["null"]}),
    ] {
        let reply = api.post("/api/v1/restores", &body).await;
        let problem = api.problem(reply, StatusCode::BAD_REQUEST, "invalid-body").await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains("expected an object") && !detail.contains("struct"),
            "{detail}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_file_downloads_decoded() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    for golden in Golden::all(&ground) {
        let path = "/api/v1/stores/golden/content";
        let query = [
            ("ns", &golden.ns),
            ("snapshot", &golden.snapshot),
            ("file", &golden.file),
        ];
        let plain = api.request(Method::GET, path).query(&query).send().await.unwrap();
        let reply = if golden.encrypted {
            api.problem(plain, StatusCode::UNPROCESSABLE_ENTITY, "key-missing")
                .await;
            let body = json!({"ns": golden.ns, "snapshot": golden.snapshot, "file": golden.file, "key": ground.key()});
            api.post(path, &body).await
        } else {
            plain
        };
        assert_eq!(reply.status(), StatusCode::OK, "{}", golden.file);
        assert!(
            reply.headers()["content-disposition"]
                .to_str()
                .unwrap()
                .starts_with("attachment; filename=")
        );
        assert_eq!(
            sha256(&reply.bytes().await.unwrap()),
            golden.sha256,
            "{} of {}",
            golden.file,
            golden.snapshot
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_with_a_missing_chunk_never_looks_complete() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let index =
        std::fs::read(ground.path("g/store/vm/100/2024-05-01T10:00:00Z/drive-scsi0.img.fidx")).unwrap();
    let digest = hex::encode(&index[index.len() - 32..]);
    std::fs::remove_file(ground.path(&format!("g/store/.chunks/{}/{digest}", &digest[..4]))).unwrap();
    let query = [
        ("snapshot", "vm/100/2024-05-01T10:00:00Z"),
        ("file", "drive-scsi0.img"),
    ];
    let reply = api
        .request(Method::GET, "/api/v1/stores/golden/content")
        .query(&query)
        .send()
        .await
        .unwrap();
    // The fault may be met before the first byte goes out, or after.
    if reply.status() == StatusCode::OK {
        assert!(
            reply.bytes().await.is_err(),
            "a part must not look like the whole"
        );
    } else {
        let problem = api
            .problem(reply, StatusCode::UNPROCESSABLE_ENTITY, "chunk-missing")
            .await;
        assert!(problem["detail"].as_str().unwrap().contains(&digest), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_counts_without_fetching() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let plan = |snapshot: &str, archive: &str, key: Option<String>| json!({"source": {"store": "golden", "snapshot": snapshot, "archive": archive}, "key": key});
    let reply = api
        .post(
            "/api/v1/restores/plan",
            &plan("vm/100/2024-05-01T10:00:00Z", "drive-scsi0.img", None),
        )
        .await;
    assert_json_snapshot!("plan", reply.json::<Value>().await.unwrap(), { ".plan_ns" => "[ns]" });
    let encrypted = plan(
        "vm/101/2024-05-01T11:00:00Z",
        "drive-virtio0.img",
        Some(ground.key()),
    );
    let reply: Value = api
        .post("/api/v1/restores/plan", &encrypted)
        .await
        .json()
        .await
        .unwrap();
    assert_eq!(reply["key_fits"], true, "{reply}");
    assert_eq!(api.json("/api/v1/restores").await["items"], json!([]));
}

#[test]
fn the_document_is_openapi_3_1_and_has_every_path() {
    let document: Value = serde_json::from_str(&fleethold_server::http::openapi::json()).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let Some((_, rest)) = path.split_once('{') else {
            continue;
        };
        let name = rest.split_once('}').unwrap().0;
        for method in methods.as_object().unwrap().values() {
            let declared = |found: &Value| found["name"] == name && found["in"] == "path";
            assert!(
                method["parameters"].as_array().unwrap().iter().any(declared),
                "{path}: {name}"
            );
        }
    }
    assert_json_snapshot!("openapi_paths", paths);
    assert_json_snapshot!(
        "openapi_create_restore",
        document["paths"]["/api/v1/restores"]["post"]["requestBody"]
    );
}
