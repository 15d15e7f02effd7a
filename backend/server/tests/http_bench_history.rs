//! The benchmark lab with a database: kept runs, imports, comparisons that stay, series, curation.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use support::bench::{hyperfine, measured, quiet_run, ready, upload, wait_in_outbox};
use support::feed::Feed;
use support::{Ground, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_kept_compared_and_linked_to() {
    let ground = Ground::new();
    let (server, api) = ready(&ground).await;
    let first = measured(&api, 1).await;
    let second = measured(&api, 2).await;
    let before = api.json(&format!("/api/v1/bench/runs/{first}")).await;
    assert_eq!(before["run"]["state"], "ok");
    assert_eq!(before["machine"]["this"], true, "{before}");
    assert_eq!(before["floors"][0]["state"], "met");
    assert_eq!(before["facts"]["workload_sha256"].as_str().unwrap().len(), 64);
    assert_eq!(before["run"]["pinned"], false);

    let compare = format!("/api/v1/bench/compare?before={first}&after={second}");
    let comparison = api.json(&compare).await;
    assert_eq!(comparison["runs"], json!([first, second]));
    let cell = &comparison["rows"][0]["cells"][0];
    assert_eq!(cell["samples_total"], 4, "{cell}");
    let series = cell["series"].as_i64().unwrap();
    for id in [&first, &second] {
        let detail = api.json(&format!("/api/v1/bench/runs/{id}")).await;
        assert_eq!(detail["run"]["pinned"], false, "looking at it keeps nothing");
    }
    let history = api.json(&format!("/api/v1/bench/series/{series}/history")).await;
    assert_eq!(history["points"].as_array().unwrap().len(), 2);
    assert_eq!(history["points"][1]["run"], second.as_str());
    // Where the tests run, others may work, and then times do not count.
    let points = history["points"].as_array().unwrap();
    let counted = points.iter().any(|point| point["spoiled"] == false);
    assert_eq!(history["levels"].as_array().unwrap().len(), usize::from(counted));

    for (format, kind, begins) in [
        ("mail", "text/plain", "tiny"),
        ("markdown", "text/markdown", "#"),
        ("csv", "text/csv", "# fleethold-bench"),
        ("json", "application/json", "{"),
        ("gobench", "text/plain", "#"),
        ("html", "text/html", "<!"),
    ] {
        let path = format!("/api/v1/bench/compare/export?before={first}&after={second}&format={format}");
        let reply = api.get(&path).await;
        assert_eq!(reply.status(), StatusCode::OK, "{format}");
        let header = |name: &str| reply.headers()[name].to_str().unwrap().to_owned();
        assert!(header("content-type").starts_with(kind), "{format}");
        assert!(header("content-disposition").starts_with("attachment; filename=\"tiny-"));
        let text = reply.text().await.unwrap();
        assert!(text.to_lowercase().starts_with(begins), "{format}: {text}");
        if format == "mail" {
            assert!(
                text.is_ascii() && text.lines().all(|line| line.len() <= 76),
                "{text}"
            );
            let link = text.lines().last().unwrap().split(' ').next_back().unwrap();
            assert!(link.contains("/bench/c/"), "{link}");
            let path = link.get(link.find("/bench").unwrap()..).unwrap();
            // The client follows it to the page.
            let page = api.get(path).await;
            assert_eq!(
                page.url().query(),
                Some(format!("before={first}&after={second}").as_str())
            );
        }
        if format == "json" {
            assert!(text.contains(&format!("/bench/compare?before={first}&after={second}")));
        }
    }
    for id in [&first, &second] {
        let detail = api.json(&format!("/api/v1/bench/runs/{id}")).await;
        assert_eq!(detail["run"]["pinned"], true, "somebody may follow the link");
    }
    let own = api
        .get(&format!("/api/v1/bench/runs/{first}/export?format=json"))
        .await
        .text()
        .await
        .unwrap();
    assert!(own.contains(&format!("/bench/runs/{first}")));
    // What was exported is known when it comes back: link and noise are not measured.
    let document: Value = serde_json::from_str(&own).unwrap();
    assert_eq!(document["run_id"], first.as_str());
    assert_eq!(document["started_at"], before["run"]["started_at"]);
    let reply = upload(&api, "name=own.json", &own).await;
    assert_eq!(reply.status(), StatusCode::OK);
    let again: Value = reply.json().await.unwrap();
    assert_eq!((&again["known"], &again["run"]), (&json!(true), &json!(first)));
    server.stop().await;

    // The same again after a restart: it comes from the database alone.
    let (server, api) = ready(&ground).await;
    assert_eq!(api.json(&compare).await, comparison);
    let list = api.json("/api/v1/bench/runs?workload=tiny&limit=1").await;
    assert_eq!(list["items"][0]["id"], second.as_str());
    let cursor = list["next_cursor"].as_str().unwrap();
    let rest = api
        .json(&format!(
            "/api/v1/bench/runs?workload=tiny&limit=1&cursor={cursor}"
        ))
        .await;
    assert_eq!(rest["items"][0]["id"], first.as_str());
    assert!(rest["next_cursor"].is_null(), "{rest}");
    let workloads = api.json("/api/v1/bench/workloads").await;
    let tiny = workloads["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "tiny");
    assert_eq!(tiny.unwrap()["last_run"], second.as_str());
    let machines = api.json("/api/v1/bench/machines").await;
    assert_eq!(machines["items"][0]["runs"], 2, "{machines}");
    let reply = api
        .get(&format!("/api/v1/bench/runs/{}", uuid::Uuid::nil()))
        .await;
    api.problem(reply, StatusCode::NOT_FOUND, "unknown-run").await;
    let again = format!("/api/v1/bench/runs/{first}/cancel");
    let reply = api.post(&again, &Value::Null).await;
    api.problem(reply, StatusCode::CONFLICT, "already-ended").await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_other_tools_are_imported_once() {
    let ground = Ground::new();
    let (server, api) = ready(&ground).await;
    let file = hyperfine("0.1, 0.2, 0.3");
    let reply = upload(&api, "name=a.json&dry_run=true", &file).await;
    assert_eq!(reply.status(), StatusCode::OK);
    let dry: Value = reply.json().await.unwrap();
    assert_eq!(dry["format"], "hyperfine");
    assert_eq!(
        (&dry["known"], &dry["dry_run"], &dry["run"]),
        (&json!(false), &json!(true), &Value::Null)
    );
    assert!(dry["samples"].as_u64().unwrap() >= 3, "{dry}");
    let nothing = api.json("/api/v1/bench/runs").await;
    assert_eq!(nothing["items"], json!([]));

    let reply = upload(&api, "name=a.json&format=hyperfine", &file).await;
    assert_eq!(reply.status(), StatusCode::CREATED);
    let location = reply.headers()["location"].to_str().unwrap().to_owned();
    let first: Value = reply.json().await.unwrap();
    let id = first["run"].as_str().unwrap().to_owned();
    assert_eq!(location, format!("/api/v1/bench/runs/{id}"));
    let reply = upload(&api, "name=another-name.json", &file).await;
    assert_eq!(reply.status(), StatusCode::OK);
    let again: Value = reply.json().await.unwrap();
    assert_eq!((&again["known"], &again["run"]), (&json!(true), &json!(id)));
    let detail = api.json(&format!("/api/v1/bench/runs/{id}")).await;
    assert_eq!(detail["run"]["source"], "hyperfine");
    assert!(detail["comparison"].is_null(), "one side is no comparison");
    let original = &detail["attachments"][0];
    assert_eq!(original["kind"], "original");
    let path = format!(
        "/api/v1/bench/runs/{id}/attachments/{}",
        original["id"].as_str().unwrap()
    );
    assert_eq!(
        api.get(&path).await.text().await.unwrap(),
        file,
        "the bytes as they came"
    );
    let reply = api.get(&format!("/api/v1/bench/runs/{id}/export")).await;
    api.problem(reply, StatusCode::UNPROCESSABLE_ENTITY, "one-side-only")
        .await;

    let other = upload(&api, "name=b.json", &hyperfine("0.4, 0.5, 0.6")).await;
    let other: Value = other.json().await.unwrap();
    let compare = format!(
        "/api/v1/bench/compare?before={id}&after={}",
        other["run"].as_str().unwrap()
    );
    let comparison = api.json(&compare).await;
    assert!(!comparison["rows"].as_array().unwrap().is_empty());

    for (query, bytes, status, code) in [
        (
            "name=c.json",
            "{\"results\": [",
            StatusCode::UNPROCESSABLE_ENTITY,
            "import-refused",
        ),
        (
            "name=c.json",
            "\u{0}\u{1}",
            StatusCode::UNPROCESSABLE_ENTITY,
            "import-refused",
        ),
        (
            "name=c.json&format=hyperfine",
            &hyperfine("-1"),
            StatusCode::UNPROCESSABLE_ENTITY,
            "import-refused",
        ),
        (
            "name=c.json&format=word",
            "{}",
            StatusCode::BAD_REQUEST,
            "unknown-format",
        ),
        ("name=", "{}", StatusCode::BAD_REQUEST, "invalid-name"),
        ("format=json", "{}", StatusCode::BAD_REQUEST, "invalid-query"),
    ] {
        let reply = upload(&api, query, bytes).await;
        let problem = api.problem(reply, status, code).await;
        if code == "import-refused" {
            let detail = problem["detail"].as_str().unwrap();
            assert!(
                detail.contains("c.json") && detail.contains("expected") && detail.contains("found"),
                "{detail}"
            );
        }
    }
    // Larger than the other bodies may be, smaller than a file may be.
    let long = hyperfine(&vec!["0.125"; 200_000].join(", "));
    assert!(long.len() > 512 << 10);
    let reply = upload(&api, "name=long.json&dry_run=true", &long).await;
    assert_eq!(reply.status(), StatusCode::OK);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn people_say_what_they_know_and_take_it_back() {
    let ground = Ground::new();
    let (server, api) = ready(&ground).await;
    let id = measured(&api, 1).await;
    let list = api.json("/api/v1/bench/series?workload=tiny").await;
    let series = list["items"][0]["id"].as_i64().unwrap();
    let outlier = json!({"series": series, "run": id, "kind": "outlier", "reason": "a backup ran"});
    let reply = api.post("/api/v1/bench/annotations", &outlier).await;
    assert_eq!(reply.status(), StatusCode::CREATED);
    let said: Value = reply.json().await.unwrap();
    assert_eq!(said["author"], "admin@pbs");
    let path = format!("/api/v1/bench/series/{series}/history");
    let history = api.json(&path).await;
    assert_eq!(history["points"][0]["outlier"], true);
    assert_eq!(history["levels"], json!([]), "an outlier is no level");
    let taken = format!("/api/v1/bench/annotations/{}", said["id"]);
    for _ in 0..2 {
        let reply = api.request(Method::DELETE, &taken).send().await.unwrap();
        assert_eq!(reply.status(), StatusCode::OK);
        let taken: Value = reply.json().await.unwrap();
        assert_eq!(taken["withdrawn_by"], "admin@pbs");
    }
    let history = api.json(&path).await;
    assert_eq!(history["points"][0]["outlier"], false);
    assert_eq!(
        history["annotations"].as_array().unwrap().len(),
        1,
        "it stays to be read"
    );
    let later = api.json(&format!("{path}?from=2999-01-01T00:00:00Z")).await;
    assert_eq!(later["points"], json!([]));

    for (body, status, code) in [
        (
            json!({"series": series, "kind": "note", "reason": " "}),
            StatusCode::BAD_REQUEST,
            "invalid-reason",
        ),
        (
            json!({"series": series, "kind": "outlier", "reason": "x"}),
            StatusCode::BAD_REQUEST,
            "invalid-annotation",
        ),
        (
            json!({"series": 999_999, "kind": "note", "reason": "x"}),
            StatusCode::NOT_FOUND,
            "unknown-series",
        ),
    ] {
        let reply = api.post("/api/v1/bench/annotations", &body).await;
        api.problem(reply, status, code).await;
    }
    for (path, code) in [
        ("/api/v1/bench/series/999999/history", "unknown-series"),
        (
            "/api/v1/bench/flame?of=00000000-0000-0000-0000-000000000000",
            "unknown-attachment",
        ),
    ] {
        let reply = api.get(path).await;
        api.problem(reply, StatusCode::NOT_FOUND, code).await;
    }
    let reply = api
        .post(
            "/api/v1/bench/alerts/999999",
            &json!({"state": "muted", "reason": "x"}),
        )
        .await;
    api.problem(reply, StatusCode::NOT_FOUND, "unknown-alert").await;
    let reply = api
        .post("/api/v1/bench/alerts/1", &json!({"state": "gone"}))
        .await;
    api.problem(reply, StatusCode::BAD_REQUEST, "invalid-state").await;
    assert_eq!(api.json("/api/v1/bench/alerts").await["items"], json!([]));

    let stacks = |text: &'static str, query: &str| {
        let path = format!("/api/v1/bench/runs/{id}/attachments?{query}");
        let api = &api;
        async move { api.request(Method::POST, &path).body(text).send().await.unwrap() }
    };
    let mut ids = Vec::new();
    for (side, text) in [
        ("before", "main;parse 3\nmain;hash 1\n"),
        ("after", "main;parse 1\nmain;hash 3\n"),
    ] {
        let reply = stacks(
            text,
            &format!("kind=flame-graph&side={side}&name={side}%20stacks.folded"),
        )
        .await;
        assert_eq!(reply.status(), StatusCode::CREATED);
        let kept: Value = reply.json().await.unwrap();
        ids.push(kept["id"].as_str().unwrap().to_owned());
    }
    let flame = api
        .json(&format!("/api/v1/bench/flame?of={}&before={}", ids[1], ids[0]))
        .await;
    let hash = flame["frames"]
        .as_array()
        .unwrap()
        .iter()
        .find(|frame| frame["name"] == "hash")
        .unwrap();
    assert_eq!((&hash["samples"], &hash["change"]), (&json!(3), &json!(0.5)));
    let reply = stacks("no stacks\n", "kind=flame-graph&name=x").await;
    api.problem(reply, StatusCode::UNPROCESSABLE_ENTITY, "invalid-stacks")
        .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worse_run_raises_an_alert_and_people_decide_about_it() {
    let ground = Ground::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hook = format!(
        "bench_webhook = \"http://{}/hook\"\n",
        listener.local_addr().unwrap()
    );
    std::fs::write(ground.path("state/etc/fleethold.toml"), hook).unwrap();
    let (server, api) = ready(&ground).await;
    let id = measured(&api, 1).await;
    let exported = api
        .get(&format!("/api/v1/bench/runs/{id}/export?format=json"))
        .await
        .text()
        .await
        .unwrap();
    let mut feed = Feed::follow(&api, None).await;
    let (_, _, first) = feed.until(|(_, kind, _)| kind == "snapshot").await;
    assert_eq!(first["standing_alerts"], 0);
    for (second, seconds) in [(1, 1.0), (2, 1.5)] {
        wait_in_outbox(&ground, &quiet_run(&exported, seconds), second);
    }
    let (_, _, news) = feed.until(|(_, kind, _)| kind == "alert").await;
    let standing = news["alerts"].as_array().unwrap().len() as u64;
    assert_eq!(news["standing"], standing);
    assert!(standing > 0 && news["alerts"][0]["state"] == "open", "{news}");
    let alerts = eventually("an alert", || async {
        let alerts = api.json("/api/v1/bench/alerts?state=open").await;
        (!alerts["items"].as_array().unwrap().is_empty()).then_some(alerts)
    })
    .await;
    let alert = &alerts["items"][0];
    assert_eq!(alert["series"]["workload"], "tiny");
    let ratio = alert["ratio"].as_f64().unwrap();
    assert!((1.4..1.6).contains(&ratio), "{alert}");
    let told = tokio::time::timeout(support::DEADLINE, listener.accept()).await;
    assert!(told.unwrap().is_ok(), "the webhook is told");

    let path = format!("/api/v1/bench/alerts/{}", alert["id"]);
    for state in ["acknowledged", "open", "muted"] {
        let reply = api.post(&path, &json!({"state": state, "reason": "known"})).await;
        assert_eq!(reply.status(), StatusCode::OK, "{state}");
        let changed: Value = reply.json().await.unwrap();
        assert_eq!(
            (&changed["state"], &changed["changed_by"]),
            (&json!(state), &json!("admin@pbs"))
        );
    }
    let muted = api.json("/api/v1/bench/alerts?state=muted").await;
    assert_eq!(muted["items"][0]["id"], alert["id"]);
    feed.until(|(_, kind, data)| kind == "alert" && data["standing"] == standing - 1)
        .await;
    drop(feed);
    drop(listener);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_measured_without_a_database_arrives_when_there_is_one() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let body = json!({"workload": "tiny", "quick": true, "samples": 1000, "seed": 3});
    let reply = api.post("/api/v1/bench/runs", &body).await;
    let run: Value = reply.json().await.unwrap();
    let id = run["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/bench/runs/{id}");
    eventually("a sample", || async {
        let detail = api.json(&path).await;
        detail["comparison"]["rows"][0]["cells"][0]["samples_total"].as_u64()
    })
    .await;
    let list = api.json("/api/v1/bench/runs").await;
    assert_eq!(list["items"][0]["id"], id.as_str());
    let reply = api
        .get(&format!(
            "/api/v1/bench/compare?before={id}&after={}",
            uuid::Uuid::nil()
        ))
        .await;
    api.problem(reply, StatusCode::SERVICE_UNAVAILABLE, "database-away")
        .await;
    let reply = upload(&api, "name=a.json", &hyperfine("0.1")).await;
    assert_eq!(reply.headers()["retry-after"], "2");
    api.problem(reply, StatusCode::SERVICE_UNAVAILABLE, "database-away")
        .await;
    // The end of the server interrupts it; what it has is on disk.
    server.stop().await;
    let waiting = ground.path(&format!("state/bench/outbox/{id}.json"));
    assert!(waiting.exists());

    let (server, api) = ready(&ground).await;
    let kept = eventually("the run in the database", || async {
        let reply = api.get(&path).await;
        let found = reply.status() == StatusCode::OK;
        let detail: Value = reply.json().await.unwrap();
        found.then_some(detail)
    })
    .await;
    assert_eq!(kept["run"]["state"], "partial");
    assert_eq!(kept["run"]["seed"], 3);
    eventually("an empty outbox", || async { (!waiting.exists()).then_some(()) }).await;
    let list = api.json("/api/v1/bench/runs").await;
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "once");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_keeps_the_stacks_of_both_sides() {
    let ground = Ground::new();
    let (server, api) = ready(&ground).await;
    let body = json!({"workload": "tiny", "quick": true, "samples": 1, "flamegraph": true});
    let reply = api.post("/api/v1/bench/runs", &body).await;
    let run: Value = reply.json().await.unwrap();
    let path = format!("/api/v1/bench/runs/{}", run["id"].as_str().unwrap());
    let detail = eventually("a kept run", || async {
        let detail = api.json(&path).await;
        assert_ne!(detail["run"]["state"], "failed", "{detail}");
        (detail["run"]["stored"] == true).then_some(detail)
    })
    .await;
    assert!(
        detail["command"].as_str().unwrap().ends_with(" --flamegraph"),
        "{detail}"
    );
    let stacks = |side: &str| {
        let files = detail["attachments"].as_array().unwrap();
        let file = files
            .iter()
            .find(|file| file["kind"] == "flame-graph" && file["side"] == side);
        file.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let (before, after) = (stacks("before"), stacks("after"));
    let flame = api
        .json(&format!("/api/v1/bench/flame?of={after}&before={before}"))
        .await;
    assert!(flame["total"].as_u64().unwrap() > 0 && flame["before_total"].as_u64().unwrap() > 0);
    assert!(flame["frames"].as_array().unwrap().len() > 2);
    server.stop().await;
}
