//! The history with a private PostgreSQL: rows and samples arrive, also of a restore that a restart interrupted.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use reqwest::StatusCode;
use serde_json::{Value, json};
use support::{Ground, IMAGE_SHA256, eventually, image};

#[tokio::test(flavor = "multi_thread")]
async fn past_restores_with_their_samples() {
    let ground = Ground::new();
    let server = ground.serve_with(None).await;
    let api = server.client().await;
    let mut slow = image(json!({"kind": "null"}));
    slow["simulate_latency_ms"] = 400.into();
    slow["parallel"] = 1.into();
    let id = api.restore(&slow).await["id"].as_str().unwrap().to_owned();
    let mut lasting = image(json!({"kind": "null"}));
    lasting["simulate_latency_ms"] = 10_000.into();
    let lasting = api.restore(&lasting).await["id"].as_str().unwrap().to_owned();
    assert_eq!(api.ended(&id).await["state"], "ok");
    eventually("the database", || async {
        (api.json("/api/v1/health").await["database"]["state"] == "ready").then_some(())
    })
    .await;
    let item = eventually("the row of the restore", || async {
        let reply = api.get(&format!("/api/v1/history/{id}")).await;
        let item: Value = (reply.status() == StatusCode::OK)
            .then_some(reply)?
            .json()
            .await
            .ok()?;
        (item["job"]["state"] == "ok").then_some(item)
    })
    .await;
    assert_eq!(item["job"]["totals"]["sha256"], IMAGE_SHA256);
    assert_eq!(item["job"]["parallel"], 1);
    assert_eq!(item["job"]["simulate_latency_ms"], 400);
    assert_eq!(item["machine"].as_str().unwrap().len(), 64);
    let samples = eventually("all samples of the restore", || async {
        let samples = api.json(&format!("/api/v1/history/{id}/samples")).await;
        let last = samples["samples"].as_array().unwrap().last()?["bytes_done"].clone();
        (last == 30_015_488).then_some(samples)
    })
    .await;
    assert!(samples["samples"].as_array().unwrap().len() >= 2, "{samples}");
    server.stop().await;

    let server = ground.serve_with(None).await;
    let api = server.client().await;
    let item = eventually("the interrupted restore in the history", || async {
        let reply = api.get(&format!("/api/v1/history/{lasting}")).await;
        let item: Value = (reply.status() == StatusCode::OK)
            .then_some(reply)?
            .json()
            .await
            .ok()?;
        (item["job"]["state"] == "interrupted").then_some(item)
    })
    .await;
    assert_eq!(item["job"]["error"]["code"], "interrupted");
    let list = api.json("/api/v1/history?store=golden&limit=1").await;
    assert_eq!(list["items"][0]["job"]["id"], lasting.as_str());
    let next = list["next_cursor"].as_str().unwrap();
    let rest = api
        .json(&format!("/api/v1/history?store=golden&limit=1&cursor={next}"))
        .await;
    assert_eq!(rest["items"][0]["job"]["id"], id.as_str());
    assert_eq!(api.json("/api/v1/history?state=failed").await["items"], json!([]));
    for (path, code) in [
        ("/api/v1/history?limit=0", "invalid-limit"),
        ("/api/v1/history?cursor=x", "invalid-cursor"),
    ] {
        api.problem(api.get(path).await, StatusCode::BAD_REQUEST, code)
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_database_restores_go_on_and_the_history_says_why() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let id = api.restore(&image(json!({"kind": "null"}))).await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(api.ended(&id).await["state"], "ok");
    let health = eventually("a spooled row", || async {
        let health = api.json("/api/v1/health").await;
        let spooled = health["spool"]["rows"].as_u64()? > 0;
        (spooled && health["database"]["state"] == "away").then_some(health)
    })
    .await;
    assert!(health["database"]["reason"].is_string(), "{health}");
    let reply = api.get("/api/v1/history").await;
    api.problem(reply, StatusCode::SERVICE_UNAVAILABLE, "database-away")
        .await;
    let samples = api.json(&format!("/api/v1/restores/{id}/samples")).await;
    assert!(
        !samples["samples"].as_array().unwrap().is_empty(),
        "live samples come from memory"
    );
}
