//! What tests of the benchmark lab do.

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use super::{Api, Ground, Server, eventually};

/// A server whose database answers.
pub(crate) async fn ready(ground: &Ground) -> (Server, Api) {
    let server = ground.serve_with(None).await;
    let api = server.client().await;
    eventually("the database", || async {
        (api.json("/api/v1/health").await["database"]["state"] == "ready").then_some(())
    })
    .await;
    (server, api)
}

/// A measured run that is in the database.
pub(crate) async fn measured(api: &Api, seed: u64) -> String {
    let body = json!({"workload": "tiny", "quick": true, "samples": 2, "seed": seed});
    let reply = api.post("/api/v1/bench/runs", &body).await;
    assert_eq!(reply.status(), StatusCode::ACCEPTED);
    let run: Value = reply.json().await.unwrap();
    let id = run["id"].as_str().unwrap().to_owned();
    eventually("a kept run", || async {
        let detail = api.json(&format!("/api/v1/bench/runs/{id}")).await;
        assert_ne!(detail["run"]["state"], "failed", "{detail}");
        (detail["run"]["stored"] == true).then_some(())
    })
    .await;
    id
}

/// Sends a file.
pub(crate) async fn upload(api: &Api, query: &str, bytes: &str) -> Response {
    api.request(Method::POST, &format!("/api/v1/bench/import?{query}"))
        .body(bytes.to_owned())
        .send()
        .await
        .unwrap()
}

/// Puts an exported run into the outbox, as if this machine had measured it for `second` seconds of one day.
pub(crate) fn wait_in_outbox(ground: &Ground, exported: &str, second: u8) {
    let mut file: Value = serde_json::from_str(exported).unwrap();
    let at = format!("2026-01-01T00:00:{second:02}Z");
    let id = uuid::Uuid::now_v7();
    file["history"] = json!({
        "id": id, "source": "run", "created_at": at, "started_at": at,
        "workload": {"name": "tiny", "file_sha256": "", "data_sha256": "", "text": ""},
        "cold": false, "quick": false, "complete": true, "samples": 8, "operator": "", "reason": "",
        "load": {"others": 0.0, "steal": 0.0, "quiet": true}, "tool_version": ""
    });
    file["attachments"] = json!([]);
    let dir = ground.path("state/bench/outbox");
    std::fs::create_dir_all(&dir).unwrap();
    // Whole or not at all: the server looks at any time.
    std::fs::write(dir.join("part"), file.to_string()).unwrap();
    std::fs::rename(dir.join("part"), dir.join(format!("{id}.json"))).unwrap();
}

/// An exported run as if it were a whole one of a quiet machine, whose after side takes `seconds`.
pub(crate) fn quiet_run(exported: &str, seconds: f64) -> String {
    let mut file: Value = serde_json::from_str(exported).unwrap();
    let run = &mut file["run"];
    run["quick"] = false.into();
    run["parameters"]["quiet"] = "yes".into();
    run["parameters"]["complete"] = "yes".into();
    for cell in run["rows"][0]["cells"].as_array_mut().unwrap() {
        let values = (0..8).flat_map(|n| [10.0 + f64::from(n) * 0.01, seconds + f64::from(n) * 0.001]);
        cell["samples"]["order"] = "BA".repeat(8).into();
        cell["samples"]["values"] = values.collect();
    }
    file.to_string()
}

/// A file of hyperfine.
pub(crate) fn hyperfine(times: &str) -> String {
    format!(
        r#"{{"results": [{{"command": "sleep 0.1", "mean": 0.1, "stddev": 0.0, "median": 0.1, "user": 0.001, "system": 0.002,
            "min": 0.1, "max": 0.1, "times": [{times}], "exit_codes": [0, 0, 0]}}]}}"#
    )
}
