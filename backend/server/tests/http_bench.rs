//! The benchmark lab over HTTP: runs from asking to their matrix, live samples, cancel, queue, rights.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use reqwest::StatusCode;
use serde_json::{Value, json};
use support::feed::Feed;
use support::{Api, Ground, USER_PASSWORD, eventually};

/// Asks for a run, which must be accepted.
async fn start(api: &Api, body: &Value) -> String {
    let reply = api.post("/api/v1/bench/runs", body).await;
    let status = reply.status();
    let location = reply.headers().get("location").cloned();
    let run: Value = reply.json().await.unwrap();
    assert_eq!(status, StatusCode::ACCEPTED, "{run}");
    let id = run["id"].as_str().unwrap().to_owned();
    assert_eq!(location.unwrap(), format!("/api/v1/bench/runs/{id}").as_str());
    id
}

/// The shortest run there is.
fn short() -> Value {
    json!({"workload": "tiny", "quick": true, "samples": 2, "seed": 7, "reason": "a test"})
}

/// One that goes on until it is cancelled.
fn endless() -> Value {
    json!({"workload": "tiny", "quick": true, "samples": 1000, "seed": 7})
}

async fn run(api: &Api, id: &str) -> Value {
    api.json(&format!("/api/v1/bench/runs/{id}")).await
}

async fn ended(api: &Api, id: &str) -> Value {
    eventually("the end of a run", || async {
        let detail = run(api, id).await;
        let state = detail["run"]["state"].as_str().unwrap().to_owned();
        (!matches!(state.as_str(), "queued" | "running")).then_some(detail)
    })
    .await
}

async fn cancel(api: &Api, id: &str) {
    let reply = api
        .post(&format!("/api/v1/bench/runs/{id}/cancel"), &Value::Null)
        .await;
    assert_eq!(reply.status(), StatusCode::ACCEPTED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_measured_judged_and_shown() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let workloads = api.json("/api/v1/bench/workloads").await;
    let names: Vec<&str> = workloads["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|workload| workload["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"lookup") && names.contains(&"restore"),
        "{names:?}"
    );

    let id = start(&api, &short()).await;
    let detail = ended(&api, &id).await;
    let run = &detail["run"];
    assert_eq!(run["state"], "ok", "{run}");
    assert_eq!((&run["seed"], &run["samples"]), (&json!(7), &json!(2)));
    assert_eq!(run["operator"], "admin@pbs");
    assert_eq!(run["reason"], "a test");
    let comparison = &detail["comparison"];
    assert_eq!(comparison["workload"], "tiny");
    assert_eq!(comparison["runs"], json!([id]));
    let cells = comparison["rows"][0]["cells"].as_array().unwrap();
    let cell = cells.iter().find(|cell| cell["metric"] == "time").unwrap();
    assert_eq!(cell["samples_total"], 4, "{cell}");
    assert_eq!(cell["before"]["runs"], 2, "{cell}");
    // Two against two prove nothing, however far apart they are; the CPU's are judged on a busy machine, too.
    let cell = cells.iter().find(|cell| cell["metric"] == "cpu").unwrap();
    assert_eq!(cell["verdict"]["outcome"], "inconclusive", "{cell}");
    let verdicts: u64 = run["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(Some(verdicts), comparison["judged_cells"].as_u64());
    let floors: Vec<&str> = detail["floors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|floor| floor["state"].as_str().unwrap())
        .collect();
    assert_eq!(floors, ["met", "missed"]);
    let command = detail["command"].as_str().unwrap();
    assert!(command.starts_with("fleethold bench run /"), "{command}");
    assert!(
        command.ends_with("/tiny.toml --quick --samples 2 --seed 7"),
        "{command}"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_measures_the_others_wait_and_each_can_be_stopped() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let first = start(&api, &endless()).await;
    let second = start(&api, &endless()).await;
    let third = start(&api, &short()).await;
    eventually("samples of the first run", || async {
        let detail = run(&api, &first).await;
        let done = detail["run"]["progress"]["done"].as_u64()?;
        let next = detail["run"]["progress"]["next"].as_str()?;
        // Two rounds: the first is warm-up.
        (done > 4 && next.starts_with("drop-direct MxN=1x10")).then_some(())
    })
    .await;
    let waits = run(&api, &third).await;
    assert_eq!(waits["run"]["state"], "queued");
    let reason = waits["run"]["waits_for"].as_str().unwrap();
    assert!(reason.contains("1 before this one"), "{reason}");
    assert!(waits["comparison"].is_null(), "{waits}");
    let so_far = run(&api, &first).await;
    assert!(so_far["comparison"]["rows"][0]["cells"].is_array(), "{so_far}");

    cancel(&api, &second).await;
    let stopped = run(&api, &second).await;
    assert_eq!(stopped["run"]["state"], "failed");
    assert_eq!(stopped["run"]["error"], "cancelled by admin@pbs before its turn");
    cancel(&api, &first).await;
    let kept = ended(&api, &first).await;
    assert_eq!(kept["run"]["state"], "partial", "{kept}");
    assert!(kept["comparison"]["rows"][0]["cells"].is_array());
    assert_eq!(kept["comparison"]["parameters"]["complete"], "no");
    assert_eq!(ended(&api, &third).await["run"]["state"], "ok");

    let again = format!("/api/v1/bench/runs/{first}/cancel");
    let reply = api.post(&again, &Value::Null).await;
    api.problem(reply, StatusCode::CONFLICT, "already-ended").await;
    let list = api.json("/api/v1/bench/runs?state=partial").await;
    assert_eq!(list["items"][0]["id"], first.as_str());
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    let figures = api.get("/metrics").await.text().await.unwrap();
    for line in [
        "fleethold_bench_runs_total{state=\"partial\"} 1",
        "fleethold_bench_runs_total{state=\"failed\"} 1",
        "fleethold_bench_queue 0",
    ] {
        assert!(figures.contains(line), "{line} in {figures}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_run_is_refused() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    for (body, status, code) in [
        (
            json!({"workload": "none"}),
            StatusCode::NOT_FOUND,
            "unknown-workload",
        ),
        (
            json!({"workload": "/etc/passwd"}),
            StatusCode::NOT_FOUND,
            "unknown-workload",
        ),
        (
            json!({"workload": "tiny", "samples": 0}),
            StatusCode::BAD_REQUEST,
            "invalid-samples",
        ),
        (
            json!({"workload": "tiny", "samples": 1001}),
            StatusCode::BAD_REQUEST,
            "invalid-samples",
        ),
        (
            json!({"workload": "tiny", "reason": "x".repeat(401)}),
            StatusCode::BAD_REQUEST,
            "invalid-reason",
        ),
        (
            json!({"workload": "tiny", "seeds": 1}),
            StatusCode::BAD_REQUEST,
            "invalid-body",
        ),
    ] {
        let reply = api.post("/api/v1/bench/runs", &body).await;
        api.problem(reply, status, code).await;
    }
    // More than wait: one measures, 32 wait.
    let mut ids = Vec::new();
    for _ in 0..33 {
        ids.push(start(&api, &endless()).await);
    }
    let reply = api.post("/api/v1/bench/runs", &short()).await;
    api.problem(reply, StatusCode::SERVICE_UNAVAILABLE, "bench-queue-full")
        .await;
    let nobody = uuid::Uuid::nil();
    let reply = api.get(&format!("/api/v1/bench/runs/{nobody}")).await;
    assert!(matches!(
        reply.status(),
        StatusCode::NOT_FOUND | StatusCode::SERVICE_UNAVAILABLE
    ));
    let reply = api.get("/api/v1/bench/runs/not-an-id").await;
    api.problem(reply, StatusCode::NOT_FOUND, "unknown-path").await;
    // The end of the server ends them all.
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_does_not() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let admin = server.client().await;
    let id = start(&admin, &endless()).await;
    ground.add_user("ann@pbs", "");
    let ann = server.client_as("ann@pbs", USER_PASSWORD).await;
    for path in [
        "/api/v1/bench/workloads".to_owned(),
        "/api/v1/bench/runs".to_owned(),
        format!("/api/v1/bench/runs/{id}"),
    ] {
        let reply = ann.get(&path).await;
        ann.problem(reply, StatusCode::FORBIDDEN, "permission-denied")
            .await;
    }
    ground.add_user("bob@pbs", "acl:1:/system/status:bob@pbs:Audit\n");
    let bob = server.client_as("bob@pbs", USER_PASSWORD).await;
    assert_eq!(run(&bob, &id).await["run"]["id"], id.as_str());
    for path in [
        "/api/v1/bench/runs".to_owned(),
        format!("/api/v1/bench/runs/{id}/cancel"),
    ] {
        let reply = bob.post(&path, &short()).await;
        let problem = bob
            .problem(reply, StatusCode::FORBIDDEN, "permission-denied")
            .await;
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .contains("Sys.Modify on /system"),
            "{problem}"
        );
    }
    let stranger = server.stranger();
    let reply = stranger.get("/api/v1/bench/runs").await;
    assert_eq!(reply.status(), StatusCode::UNAUTHORIZED);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_arrive_live_and_only_for_those_who_may_see_them() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    ground.add_user("ann@pbs", "acl:1:/datastore:ann@pbs:DatastoreAudit\n");
    let ann = server.client_as("ann@pbs", USER_PASSWORD).await;
    let mut feed = Feed::follow(&api, None).await;
    let mut hers = Feed::follow(&ann, None).await;
    let (_, _, snapshot) = feed.next().await;
    assert_eq!(snapshot["bench"], json!([]));
    assert_eq!(hers.next().await.1, "snapshot");

    let id = start(&api, &short()).await;
    let (mut samples, mut states) = (Vec::new(), Vec::new());
    feed.until(|(_, kind, data)| {
        if kind != "bench" {
            return false;
        }
        samples.extend(data["samples"].as_array().unwrap().clone());
        let mine = data["runs"].as_array().unwrap().iter();
        states.extend(mine.map(|run| run["state"].as_str().unwrap().to_owned()));
        states.last().is_some_and(|state| state == "ok")
    })
    .await;
    assert!(states.contains(&"running".to_owned()), "{states:?}");
    let times: Vec<&Value> = samples
        .iter()
        .filter(|sample| sample["metric"] == "time")
        .collect();
    let numbers: Vec<u64> = times
        .iter()
        .map(|sample| sample["number"].as_u64().unwrap())
        .collect();
    assert_eq!(
        numbers,
        [0, 1, 2, 3],
        "two a side, in measured order, without the warm-up"
    );
    assert!(times.iter().all(|sample| sample["run"] == id.as_str()
        && sample["scenario"] == "drop-direct"
        && sample["value"] == "1x10"
        && sample["unit"] == "s"));
    let kept = &run(&api, &id).await["comparison"]["rows"][0]["cells"];
    let kept = kept
        .as_array()
        .unwrap()
        .iter()
        .find(|cell| cell["metric"] == "time")
        .unwrap();
    let live: Vec<&Value> = times.iter().map(|sample| &sample["sample"]).collect();
    assert_eq!(json!(live), kept["samples"], "what was seen live is what is kept");

    // A page that comes later starts with what there is; who may not see it gets no part of it.
    let waiting = start(&api, &endless()).await;
    let mut late = Feed::follow(&api, None).await;
    let (_, _, snapshot) = late.next().await;
    let ids: Vec<&str> = snapshot["bench"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [waiting.as_str(), id.as_str()]);
    let (_, _, hers_now) = Feed::follow(&ann, None).await.next().await;
    assert_eq!(hers_now["bench"], json!([]));
    server.stop().await;
    assert!(!hers.ended().await.contains("event: bench"));
}
