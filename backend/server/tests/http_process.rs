//! The server as a process. `kill -9` of it and of its PostgreSQL in the middle of a restore: nothing is lost, and what
//! happened is said. Eight restores at once: memory stays within the budget.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command, Stdio};

use reqwest::StatusCode;
use serde_json::{Value, json};
use support::{Api, Ground, IMAGE_SHA256, Server, eventually, image};

/// A database that is not there.
const NO_DATABASE: [&str; 2] = ["--database-url", "postgres://nobody@127.0.0.1:1/none"];

struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Already dead in the good case.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

async fn launch(ground: &Ground, options: &[&str]) -> (Process, Server) {
    let ready_file = ground.path("ready.json");
    if ready_file.exists() {
        fs::remove_file(&ready_file).unwrap();
    }
    let child = Command::new(env!("CARGO_BIN_EXE_fleethold"))
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(options)
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
    let (mut process, server) = launch(&ground, &NO_DATABASE).await;
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

    let (_process, server) = launch(&ground, &NO_DATABASE).await;
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

/// The restore's row in the history, once it is in `state`.
async fn past(api: &Api, id: &str, state: &str) -> Value {
    eventually("the restore in the history", || async {
        let reply = api.get(&format!("/api/v1/history/{id}")).await;
        let item: Value = (reply.status() == StatusCode::OK)
            .then_some(reply)?
            .json()
            .await
            .ok()?;
        (item["job"]["state"] == state).then_some(item)
    })
    .await
}

async fn database_is(api: &Api, state: &str) {
    eventually("the state of the database", || async {
        (api.json("/api/v1/health").await["database"]["state"] == state).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_and_then_the_server_killed_in_the_middle_of_restores() {
    let ground = Ground::new();
    let (mut process, server) = launch(&ground, &[]).await;
    let api = server.client().await;
    database_is(&api, "ready").await;
    let slow = |latency: u64| {
        let mut body = image(json!({"kind": "null"}));
        body["simulate_latency_ms"] = latency.into();
        body["parallel"] = 1.into();
        body
    };
    let id = api.restore(&slow(700)).await["id"].as_str().unwrap().to_owned();
    eventually("progress", || async {
        let job = api.json(&format!("/api/v1/restores/{id}")).await;
        (job["progress"]["bytes_done"].as_u64()? > 0).then_some(())
    })
    .await;
    let postmaster = || {
        let text = fs::read_to_string(ground.path("state/pg/data/postmaster.pid")).ok()?;
        text.lines()
            .next()?
            .parse::<i32>()
            .ok()
            .and_then(rustix::process::Pid::from_raw)
    };
    let killed = postmaster().unwrap();
    rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
    let job = api.ended(&id).await;
    assert_eq!(
        (&job["state"], &job["totals"]["sha256"]),
        (&json!("ok"), &json!(IMAGE_SHA256))
    );
    eventually("a PostgreSQL started anew", || async {
        postmaster().filter(|pid| *pid != killed)
    })
    .await;
    database_is(&api, "ready").await;
    past(&api, &id, "ok").await;
    eventually("all samples, from before and after", || async {
        let samples = api.json(&format!("/api/v1/history/{id}/samples")).await;
        let last = samples["samples"].as_array()?.last()?["bytes_done"].clone();
        (last == 30_015_488).then_some(())
    })
    .await;

    let lasting = api.restore(&slow(10_000)).await["id"]
        .as_str()
        .unwrap()
        .to_owned();
    past(&api, &lasting, "running").await;
    process.0.kill().unwrap();
    process.0.wait().unwrap();
    let (_process, server) = launch(&ground, &[]).await;
    let api = server.client().await;
    let item = past(&api, &lasting, "interrupted").await;
    assert_eq!(item["job"]["error"]["code"], "interrupted");
    past(&api, &id, "ok").await;
}

/// Anonymous resident memory of a process, in bytes.
fn rss_anon(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_restores_at_once_stay_within_the_memory_budget() {
    const BUDGET: u64 = 96 << 20;
    const BESIDE: u64 = 64 << 20;
    let ground = Ground::new();
    let store = ground.path("image");
    let made = Command::new(env!("CARGO_BIN_EXE_fleethold"))
        .args(["fixture", "image", "--size", "256MiB", "--seed", "1", "--dir"])
        .arg(&store)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let config = ground.path("state/etc/datastore.cfg");
    let stores = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        format!("{stores}\ndatastore: image\n\tpath {}\n", store.display()),
    )
    .unwrap();
    let about: Value = serde_json::from_slice(&fs::read(store.join("image.json")).unwrap()).unwrap();

    let mut options = NO_DATABASE.to_vec();
    options.extend(["--memory", "96MiB"]);
    let (process, server) = launch(&ground, &options).await;
    let api = server.client().await;
    let pid = process.0.id();
    let before = rss_anon(pid);
    let mut jobs = Vec::new();
    for number in 0..8 {
        // Files, nothing, and digests: every order and every buffer.
        let target = match number % 2 {
            0 => json!({"kind": "file", "path": format!("{number}.raw")}),
            _ => json!({"kind": "null"}),
        };
        let source = json!({"store": "image", "snapshot": about["snapshot"], "archive": about["archive"]});
        let body = json!({"source": source, "target": target, "sha256": number % 4 < 2, "parallel": 32});
        jobs.push(api.restore(&body).await["id"].as_str().unwrap().to_owned());
    }
    let ended = tokio::spawn({
        let jobs = jobs.clone();
        async move {
            for id in &jobs {
                let job = api.ended(id).await;
                assert_eq!(job["state"], "ok", "{job}");
                if let Some(sha256) = job["totals"]["sha256"].as_str() {
                    assert_eq!(sha256, about["sha256"]);
                }
            }
        }
    });
    let mut peak = before;
    while !ended.is_finished() {
        peak = peak.max(rss_anon(pid));
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    ended.await.unwrap();
    assert!(peak > before, "the restores were seen");
    assert!(
        peak - before <= BUDGET + BESIDE,
        "{} MiB of {} MiB",
        (peak - before) >> 20,
        (BUDGET + BESIDE) >> 20
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_between_the_file_s_name_and_the_last_record() {
    let ground = Ground::new();
    let (mut process, server) = launch(&ground, &NO_DATABASE).await;
    let api = server.client().await;
    let file = json!({"kind": "file", "path": "whole.raw"});
    let id = api.restore(&image(file)).await["id"].as_str().unwrap().to_owned();
    let ended = api.ended(&id).await;
    assert_eq!(ended["state"], "ok");
    process.0.kill().unwrap();
    process.0.wait().unwrap();
    // As the disk would look had the kill come a moment earlier.
    let target = ground.path("state/restore/whole.raw");
    let found = fs::metadata(&target).unwrap();
    let path = ground.path(&format!("state/tasks/restores/{id}.json"));
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    record["job"]["state"] = "running".into();
    record["unfinished"] = json!(ground.path("state/restore/.whole.raw.fleethold-0.part"));
    record["inode"] = json!([found.dev(), found.ino()]);
    fs::write(&path, record.to_string()).unwrap();

    let (_process, server) = launch(&ground, &NO_DATABASE).await;
    let job = server
        .client()
        .await
        .json(&format!("/api/v1/restores/{id}"))
        .await;
    assert_eq!(job["state"], "ok", "{job}");
    assert_eq!(fs::metadata(&target).unwrap().len(), 30_015_488);
}
