//! The live feed: snapshot, deltas, resume.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use fleethold_server::auth::users::UserStore;
use reqwest::Method;
use serde_json::json;
use support::feed::{Event, Feed};
use support::{Ground, USER_PASSWORD, eventually, image};

fn sequence(id: &str) -> (u64, u64) {
    let (epoch, sequence) = id.split_once('-').unwrap();
    (epoch.parse().unwrap(), sequence.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_is_followed_live_and_a_lost_connection_is_made_good() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let mut feed = Feed::follow(&api, None).await;
    let (first, kind, data) = feed.next().await;
    assert_eq!(kind, "snapshot");
    assert_eq!(data["summary"]["stores"], 3);
    assert!(data["health"]["database"]["state"].is_string(), "{data}");

    let mut body = image(json!({"kind": "null"}));
    body["simulate_latency_ms"] = 300.into();
    body["parallel"] = 1.into();
    let id = api.restore(&body).await["id"].as_str().unwrap().to_owned();
    let mut samples = Vec::new();
    let is_end = |event: &Event| {
        event.1 == "job"
            && event.2["jobs"]
                .as_array()
                .unwrap()
                .iter()
                .any(|job| job["id"] == id.as_str() && job["state"] == "ok")
    };
    let mut last = sequence(&first);
    let (end, _, _) = feed
        .until(|event| {
            let now = sequence(&event.0);
            assert_eq!(now.0, last.0);
            assert_eq!(now.1, last.1 + 1, "no event is left out");
            last = now;
            if event.1 == "job" {
                samples.extend(
                    event.2["samples"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|s| s[1]["bytes_done"].as_u64().unwrap()),
                );
            }
            is_end(event)
        })
        .await;
    assert!(samples.len() >= 3 && samples.is_sorted(), "{samples:?}");
    assert_eq!(samples.last(), Some(&30_015_488));

    let mut resumed = Feed::follow(&api, Some(&first)).await;
    let (id_again, kind, _) = resumed.next().await;
    assert_eq!(sequence(&id_again).1, sequence(&first).1 + 1);
    assert_ne!(kind, "snapshot");
    resumed.until(|event| event.0 == end).await;

    for unknown in ["1-1", "nonsense"] {
        let (_, kind, data) = Feed::follow(&api, Some(unknown)).await.next().await;
        assert_eq!(kind, "snapshot");
        assert_eq!(data["jobs"][0]["id"], id.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_the_configuration_reaches_the_page() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.client().await;
    let mut feed = Feed::follow(&api, None).await;
    feed.next().await;
    let path = ground.path("state/etc/datastore.cfg");
    let config = std::fs::read_to_string(&path).unwrap();
    edit(&path, &config.replace("datastore: real", "datastore: renamed"));
    feed.until(|event| event.1 == "server" && event.2["fleet_changed"] == true)
        .await;
    assert_eq!(api.json("/api/v1/stores/renamed").await["name"], "renamed");
    assert_eq!(api.get("/api/v1/stores/real").await.status(), 404);
    let observed = api.json("/api/v1/observe?store=renamed").await;
    assert_eq!(
        (&observed["fleet"]["stores"], &observed["fleet"]["spawned"]),
        (&json!(3), &json!(4))
    );

    edit(&path, "datastore: broken\n\tnonsense\n");
    let (_, _, data) = feed
        .until(|event| event.1 == "server" && event.2["health"]["config_problem"].is_string())
        .await;
    assert!(
        data["health"]["config_problem"]
            .as_str()
            .unwrap()
            .contains("datastore.cfg"),
        "{data}"
    );
    assert_eq!(
        data["summary"]["stores"], 3,
        "the last good configuration stays in force"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_ends_with_the_session() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let admin = server.client().await;
    let users = UserStore::open(&ground.path("state/etc")).unwrap();
    let ann = "ann@pbs".parse().unwrap();
    ground.add_user("ann@pbs", "acl:1:/:ann@pbs:Admin\n");
    for ending in ["log-out", "password", "disabled"] {
        let api = server.client_as("ann@pbs", USER_PASSWORD).await;
        let mut feed = Feed::follow(&api, None).await;
        feed.next().await;
        match ending {
            "log-out" => {
                let out = api.request(Method::DELETE, "/api/v1/session").send().await;
                assert_eq!(out.unwrap().status(), 204);
            }
            "password" => drop(users.set_password(&ann, USER_PASSWORD).unwrap()),
            _ => drop(users.set_enabled(&ann, false).unwrap()),
        }
        // What another process changed is seen in a moment.
        eventually("the end of the session", || async {
            let status = api.get("/api/v1/session").await.status();
            (status == 401).then_some(())
        })
        .await;
        let job = admin.restore(&image(json!({"kind": "null"}))).await;
        let rest = feed.ended().await;
        assert!(!rest.contains(job["id"].as_str().unwrap()), "{ending}: {rest}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_has_what_the_caller_may_see() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let admin = server.client().await;
    ground.add_user("ann@pbs", "acl:1:/datastore/golden:ann@pbs:DatastoreReader\n");
    let ann = server.client_as("ann@pbs", USER_PASSWORD).await;
    let of_admin = admin.restore(&image(json!({"kind": "null"}))).await;
    let mut feed = Feed::follow(&ann, None).await;
    let (first, kind, snapshot) = feed.next().await;
    assert_eq!(kind, "snapshot");
    assert_eq!(
        (&snapshot["summary"]["stores"], &snapshot["jobs"]),
        (&json!(1), &json!([]))
    );
    let own = ann.restore(&image(json!({"kind": "null"}))).await;
    let mut seen = String::new();
    feed.until(|(_, kind, data)| {
        seen.push_str(&data.to_string());
        kind == "job" && data["jobs"][0]["state"] == "ok"
    })
    .await;
    assert!(seen.contains(own["id"].as_str().unwrap()));
    assert!(!seen.contains(of_admin["id"].as_str().unwrap()), "{seen}");
    assert!(!seen.contains("\"real\""), "{seen}");
    let (_, kind, _) = Feed::follow(&ann, Some(&first)).await.next().await;
    assert_eq!(kind, "snapshot", "the ring holds what is not for everybody");
}

/// As editors do: a reader sees the old or the new file.
fn edit(path: &std::path::Path, text: &str) {
    let temp = path.with_extension("new");
    std::fs::write(&temp, text).unwrap();
    std::fs::rename(&temp, path).unwrap();
}
