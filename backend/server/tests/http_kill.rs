//! `kill -9` of the real binary in the middle of a restore: the next start says what happened, with what was done.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use support::{Ground, Server, eventually, image};

struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Already dead in the good case.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

async fn launch(ground: &Ground) -> (Process, Server) {
    let ready_file = ground.path("ready.json");
    if ready_file.exists() {
        fs::remove_file(&ready_file).unwrap();
    }
    let child = Command::new(env!("CARGO_BIN_EXE_fleethold"))
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--database-url",
            "postgres://nobody@127.0.0.1:1/none",
        ])
        .arg("--state-dir")
        .arg(ground.path("state"))
        .arg("--ready-file")
        .arg(&ready_file)
        .env_remove("FLEETHOLD_CONFIG_DIR")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut process = Process(child);
    let ready: Value = eventually("the ready file", || {
        assert!(process.0.try_wait().unwrap().is_none(), "the server ended early");
        let ready = fs::read(&ready_file)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok());
        async { ready }
    })
    .await;
    assert_eq!(ready["pid"], process.0.id());
    let password = fs::read_to_string(ready["password_file"].as_str().unwrap())
        .unwrap()
        .trim()
        .to_owned();
    let url = ready["url"].as_str().unwrap().to_owned();
    (process, Server::elsewhere(url, password, ready))
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_the_middle_of_a_restore() {
    let ground = Ground::new();
    let (mut process, server) = launch(&ground).await;
    let api = server.client().await;
    let mut slow = image(json!({"kind": "file", "path": "slow.raw"}));
    slow["simulate_latency_ms"] = 500.into();
    slow["parallel"] = 1.into();
    let id = api.restore(&slow).await["id"].as_str().unwrap().to_owned();
    let done = api.restore(&image(json!({"kind": "null"}))).await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(api.ended(&done).await["state"], "ok");
    let record = ground.path(&format!("state/tasks/restores/{id}.json"));
    eventually("progress in the record on disk", || async {
        let record: Value = serde_json::from_slice(&fs::read(&record).ok()?).ok()?;
        (record["job"]["progress"]["bytes_done"].as_u64()? > 0).then_some(())
    })
    .await;
    process.0.kill().unwrap();
    process.0.wait().unwrap();
    let parts = || {
        fs::read_dir(ground.path("state/restore"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect::<Vec<_>>()
    };
    assert!(
        parts().iter().all(|name| name.ends_with(".part")),
        "{:?}",
        parts()
    );

    let (_process, server) = launch(&ground).await;
    let api = server.client().await;
    let job = api.json(&format!("/api/v1/restores/{id}")).await;
    assert_eq!(job["state"], "interrupted", "{job}");
    let message = job["error"]["message"].as_str().unwrap();
    assert!(message.contains("of 30015488 bytes were done"), "{message}");
    assert!(job["progress"]["bytes_done"].as_u64().unwrap() > 0);
    assert_eq!(parts(), Vec::<String>::new(), "the unfinished file is gone");
    assert_eq!(api.json(&format!("/api/v1/restores/{done}")).await["state"], "ok");
    let log = api.json(&format!("/api/v1/restores/{id}/log")).await;
    let last = log["lines"].as_array().unwrap().last().unwrap()["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(last.contains(": TASK ERROR: interrupted"), "{log}");
    let again = api
        .restore(&image(json!({"kind": "file", "path": "slow.raw"})))
        .await;
    assert_eq!(api.ended(again["id"].as_str().unwrap()).await["state"], "ok");
}
