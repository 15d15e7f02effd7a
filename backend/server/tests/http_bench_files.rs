//! Files of the benchmark lab: what is taken, what is refused with which words, and how they come back.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use support::bench::{hyperfine, measured, ready, upload};
use support::{Api, Ground};

/// A run with these parts of it replaced, as own JSON.
fn own(change: impl FnOnce(&mut Value)) -> String {
    let mut run = json!({
        "workload": "w", "knob": "k", "scenarios": [{"name": "s", "legend": ""}],
        "metrics": [{"name": "time", "unit": "s", "better": "lower", "judged": true}],
        "rows": [{"scenario": "s", "value": "1", "cells": [{"metric": "time",
            "samples": {"order": "BABABABA", "values": [2, 1, 2, 1, 2, 1, 2, 1]}}]}],
        "before": {"label": "b"}, "after": {"label": "a"}
    });
    change(&mut run);
    json!({"format": "fleethold-bench", "version": 1, "run": run}).to_string()
}

/// Sends a file twice, for a dry run and in earnest: both refuse it with the same words.
async fn refused(api: &Api, text: &str) -> String {
    let mut said = Vec::new();
    for query in ["name=x.json&dry_run=true", "name=x.json"] {
        let reply = upload(api, query, text).await;
        let problem = api
            .problem(reply, StatusCode::UNPROCESSABLE_ENTITY, "import-refused")
            .await;
        said.push(problem["detail"].as_str().unwrap().to_owned());
    }
    assert_eq!(said[0], said[1]);
    said.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_refuses_what_the_import_refuses() {
    let ground = Ground::new();
    let (server, api) = ready(&ground).await;

    // What nobody could look at afterwards is not taken.
    let elsewhere = own(|run| run["after"]["machine_class"] = "another".into());
    let said = refused(&api, &elsewhere).await;
    assert!(
        said.starts_with(
            "import x.json, field `run`: expected a matrix that can be judged, found `compare machine class"
        ),
        "{said}"
    );
    let rules = json!({"alpha": 0.05, "confidence": 0.95, "min_effect_ratio": 0.02, "holm": true,
        "across_machines": false, "interval": {"bootstrap": {"seed": 1, "pairs": 10_000}}});
    let costly = own(|run| {
        let cell = &mut run["rows"][0]["cells"][0]["samples"];
        cell["order"] = "BA".repeat(9_000).into();
        cell["values"] = vec![1; 18_000].into();
        run["rules"] = rules;
    });
    let said = refused(&api, &costly).await;
    assert!(
        said.contains("360000000 values to draw for the bootstrap"),
        "{said}"
    );

    // What the database could not keep: the error has file, place and the limit that counts.
    let long = hyperfine("0.1, 0.2").replace("sleep 0.1", &"x".repeat(3_000));
    let said = refused(&api, &long).await;
    assert!(
        said.starts_with(
            "import x.json, field `workload`: expected text of at most 2048 bytes without NUL, found `x"
        ),
        "{said}"
    );
    // A name that stands twice.
    let twice = hyperfine("0.1").replace("\"median\"", "\"mean\": 1, \"median\"");
    let said = refused(&api, &twice).await;
    assert!(
        said.contains("expected every field of an object once, found `mean twice`"),
        "{said}"
    );
    assert_eq!(
        api.json("/api/v1/bench/runs").await["items"],
        json!([]),
        "nothing was kept"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_results_are_one_run() {
    let ground = Ground::new();
    let (server, api) = ready(&ground).await;
    for text in [hyperfine("0.1, 0.2, 0.3"), own(|_| ())] {
        let first: Value = upload(&api, "name=a.json", &text).await.json().await.unwrap();
        assert_eq!(first["known"], false);
        let document: Value = serde_json::from_str(&text).unwrap();
        let pretty = serde_json::to_string_pretty(&document).unwrap();
        assert_ne!(pretty, text);
        let second: Value = upload(&api, "name=b.json", &pretty).await.json().await.unwrap();
        assert_eq!((&second["known"], &second["run"]), (&json!(true), &first["run"]));
    }
    let packed = api
        .request(Method::POST, "/api/v1/bench/import?name=a.json.gz")
        .header("content-encoding", "gzip")
        .body(vec![0x1f, 0x8b])
        .send()
        .await
        .unwrap();
    let problem = api
        .problem(packed, StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-encoding")
        .await;
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("\"gzip\": unpack it first"),
        "{problem}"
    );

    // The series of both, a page at a time, are those of one page.
    let all = api.json("/api/v1/bench/series").await;
    assert!(all["next_cursor"].is_null());
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = api.json(&format!("/api/v1/bench/series?limit=2{cursor}")).await;
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        paged.extend(items.clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert!(paged.len() > 4 && all["items"] == json!(paged), "{paged:?}");
    let reply = api.get(&format!("/api/v1/bench/series?workload=w{cursor}")).await;
    api.problem(reply, StatusCode::BAD_REQUEST, "invalid-cursor")
        .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_come_back_as_they_were_kept() {
    let ground = Ground::new();
    let (server, api) = ready(&ground).await;
    let id = measured(&api, 1).await;
    let attach = |kind: &str, name: &str, bytes: Vec<u8>| {
        let path = format!("/api/v1/bench/runs/{id}/attachments?kind={kind}&name={name}");
        let request = api.request(Method::POST, &path).body(bytes);
        async move { request.send().await.unwrap() }
    };
    // Of many pieces in both forms; one that is small only where it is stored; and none.
    let mut state = 1_u64;
    let noise: String = (0..3_000_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b' ' + (state >> 60) as u8 * 5)
        })
        .collect();
    for text in [noise, " ".repeat(2 << 20), String::new()] {
        let reply = attach("log", "long.log", text.clone().into_bytes()).await;
        assert_eq!(reply.status(), StatusCode::CREATED);
        let place = reply.headers()["location"].to_str().unwrap().to_owned();
        let file = api.get(&place).await;
        assert_eq!(file.content_length(), Some(text.len() as u64));
        assert!(
            file.bytes().await.unwrap() == text.as_bytes(),
            "{} bytes",
            text.len()
        );
    }
    for (kind, bytes, expected) in [
        ("perf-stat", b"{}".to_vec(), "expected a value, found `nothing`"),
        (
            "flame-graph",
            b"main;read x".to_vec(),
            "a whole number at the end",
        ),
        ("log", vec![0xff, 0xfe], "expected UTF-8 text"),
        ("original", b"x".to_vec(), "an original comes with its import"),
    ] {
        let reply = attach(kind, "file.txt", bytes).await;
        assert_eq!(reply.status(), StatusCode::UNPROCESSABLE_ENTITY, "{kind}");
        let problem: Value = reply.json().await.unwrap();
        assert!(
            problem["detail"].as_str().unwrap().contains(expected),
            "{problem}"
        );
    }
    server.stop().await;
}
