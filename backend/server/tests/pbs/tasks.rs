//! Restores as tasks.

use std::time::Duration;

use reqwest::{Method, StatusCode, header};
use serde_json::Value;

use crate::client::Client;
use crate::server::now;

const DEADLINE: Duration = Duration::from_secs(60);

fn encoded(upid: &str) -> String {
    percent_encoding::utf8_percent_encode(upid, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The task's status once it stopped.
async fn stopped(client: &Client, upid: &str) -> Value {
    let deadline = now() + DEADLINE;
    loop {
        let status = client
            .get(&format!("/nodes/localhost/tasks/{}/status", encoded(upid)))
            .await
            .data();
        if status["status"] == "stopped" {
            return status;
        }
        assert!(now() < deadline, "{status}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_restore_is_a_task_with_status_and_log() {
    let client = Client::signed_in().await;
    let upid = client.restore(0).await;
    let status = stopped(&client, &upid).await;
    assert_eq!(
        (&status["exitstatus"], &status["type"]),
        (&"OK".into(), &"restore".into()),
        "{status}"
    );
    assert_eq!(
        (&status["upid"], &status["user"]),
        (&upid.clone().into(), &"admin@pbs".into())
    );
    assert!(status["endtime"].as_i64() >= status["starttime"].as_i64());

    let list = client
        .get("/nodes/localhost/tasks?store=golden&typefilter=rest&limit=0")
        .await
        .data();
    let item = list
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["upid"] == *upid)
        .unwrap();
    assert_eq!(
        (&item["worker_type"], &item["status"]),
        (&"restore".into(), &"OK".into()),
        "{item}"
    );
    assert!(
        client
            .get("/nodes/localhost/tasks?store=real")
            .await
            .data()
            .as_array()
            .unwrap()
            .is_empty()
    );
    let page = client.get("/nodes/localhost/tasks?limit=1").await.envelope();
    assert_eq!(
        (page["data"].as_array().unwrap().len(), &page["total"]),
        (1, &2.into()),
        "a full page hints at more"
    );
    assert!(
        client
            .get("/nodes/localhost/tasks?statusfilter=fine")
            .await
            .refusal()
            .contains("'fine'")
    );

    let path = format!("/nodes/localhost/tasks/{}/log", encoded(&upid));
    let log = client
        .get(&format!("{path}?limit=0&test-status=1"))
        .await
        .envelope();
    let lines = log["data"].as_array().unwrap();
    assert_eq!((&log["success"], &log["active"]), (&1.into(), &false.into()));
    assert_eq!(log["total"], lines.len());
    assert_eq!(lines[0]["n"], 1);
    assert!(
        lines.last().unwrap()["t"].as_str().unwrap().ends_with("TASK OK"),
        "{log}"
    );
    let second = client.get(&format!("{path}?start=2&limit=1")).await.envelope();
    assert_eq!((&second["data"][0], &second["active"]), (&lines[1], &Value::Null));
    assert_eq!(
        client.get(&format!("{path}?start=0&limit=1")).await.data()[0],
        lines[0],
        "0 and 1 are equal"
    );

    let whole = client
        .request(Method::GET, &format!("{path}?download=1"))
        .send()
        .await
        .unwrap();
    assert!(
        whole.headers()[header::CONTENT_TYPE]
            .to_str()
            .unwrap()
            .starts_with("text/plain")
    );
    assert!(
        whole.headers()[header::CONTENT_DISPOSITION]
            .to_str()
            .unwrap()
            .starts_with("attachment")
    );
    assert_eq!(whole.text().await.unwrap().lines().count(), lines.len());
    assert!(
        client
            .get(&format!("{path}?download=1&start=2"))
            .await
            .refusal()
            .contains("'download'")
    );
}

#[tokio::test]
async fn a_running_task_is_aborted() {
    let mut client = Client::signed_in().await;
    let upid = client.restore(10_000).await;
    let path = format!("/nodes/localhost/tasks/{}", encoded(&upid));
    let running = client.get("/nodes/localhost/tasks?running=1").await.data();
    let item = running
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["upid"] == *upid)
        .unwrap();
    assert!(item["endtime"].is_null() && item["status"].is_null(), "{item}");

    let csrf = client.csrf.take();
    assert_eq!(
        client.delete(&path).await.status,
        StatusCode::UNAUTHORIZED,
        "needs the CSRF token"
    );
    client.csrf = csrf;
    assert!(client.delete(&path).await.data().is_null());
    let status = stopped(&client, &upid).await;
    assert_ne!(status["exitstatus"], "OK", "{status}");
    assert!(
        client.delete(&path).await.data().is_null(),
        "one that ended stays as it is"
    );
    let failed = client.get("/nodes/localhost/tasks?errors=1&limit=0").await.data();
    assert!(
        failed
            .as_array()
            .unwrap()
            .iter()
            .any(|item| item["upid"] == *upid)
    );
}

#[tokio::test]
async fn tasks_that_do_not_exist() {
    let client = Client::signed_in().await;
    let unknown = "UPID:pbs:00000001:00000002:00000003:60000000:restore:x:admin@pbs:";
    for upid in [unknown, "nonsense", "../../etc/passwd"] {
        for rest in ["/status", "/log"] {
            let reply = client
                .get(&format!("/nodes/localhost/tasks/{}{rest}", encoded(upid)))
                .await;
            assert!(reply.status.is_client_error(), "{upid}: {}", reply.text);
        }
    }
}
