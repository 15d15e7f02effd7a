//! Log-in, CSRF, log-out, password change, and what is served without signing in.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use fleethold_server::auth::users::UserStore;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use support::{Api, Ground, Server, USER_PASSWORD, eventually};
use tokio::process::Command;

/// Answered before it is read, a body must not end the stream before the answer. curl is the client that minds.
#[tokio::test(flavor = "multi_thread")]
async fn refused_bodies_get_their_answer_over_http2() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let body = json!({"store": "x".repeat(2000)}).to_string();
    for (path, expected) in [
        ("/api/v1/restores", "401 2"),
        ("/api/v1/nothing", "404 2"),
        ("/api2/json/nothing", "404 2"),
    ] {
        for _ in 0..10 {
            let curl = Command::new("curl")
                .args([
                    "--silent",
                    "--insecure",
                    "--noproxy",
                    "*",
                    "--http2",
                    "--output",
                    "/dev/null",
                ])
                .args([
                    "--write-out",
                    "%{http_code} %{http_version}",
                    "--header",
                    "content-type: application/json",
                ])
                .args(["--data", &body, &format!("{}{path}", server.url)])
                .output()
                .await
                .unwrap();
            let answer = String::from_utf8_lossy(&curl.stdout).into_owned();
            assert_eq!(
                (curl.status.code(), answer.as_str()),
                (Some(0), expected),
                "{path}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_told_to_strangers() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.stranger();
    for path in [
        "/api/v1/session",
        "/api/v1/stores",
        "/api/v1/restores",
        "/api/v1/events",
        "/api/v1/about",
    ] {
        api.problem(api.get(path).await, StatusCode::UNAUTHORIZED, "not-signed-in")
            .await;
    }
    let health = api.json("/api/v1/health").await;
    assert!(health["database"]["state"].is_string(), "{health}");
    api.problem(
        api.get("/api/v1/nothing").await,
        StatusCode::NOT_FOUND,
        "unknown-path",
    )
    .await;
    let long = format!("/api/v1/stores?ns={}", "a".repeat(4000));
    api.problem(api.get(&long).await, StatusCode::URI_TOO_LONG, "uri-too-long")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_needs_its_csrf_token_and_ends() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let stranger = server.stranger();
    let body = json!({"user": "admin@pbs", "password": "not the password"});
    let refused = stranger
        .bare(Method::POST, "/api/v1/session")
        .json(&body)
        .send()
        .await
        .unwrap();
    stranger
        .problem(refused, StatusCode::UNAUTHORIZED, "wrong-credentials")
        .await;

    let api = server.client().await;
    let session = api.json("/api/v1/session").await;
    assert_eq!(session["user"], "admin@pbs");
    for csrf in [None, Some("60000000:AAAA"), Some("")] {
        let mut request = api.bare(Method::POST, "/api/v1/session/renew");
        if let Some(csrf) = csrf {
            request = request.header("CSRFPreventionToken", csrf);
        }
        api.problem(
            request.send().await.unwrap(),
            StatusCode::FORBIDDEN,
            "wrong-csrf-token",
        )
        .await;
    }
    let renewed = api.post("/api/v1/session/renew", &Value::Null).await;
    assert_eq!(renewed.status(), StatusCode::OK);
    let cookie = renewed.headers()["set-cookie"].to_str().unwrap().to_owned();
    for part in [
        "__Host-PBSAuthCookie=PBS",
        "HttpOnly",
        "Secure",
        "SameSite=Lax",
        "Path=/",
    ] {
        assert!(cookie.contains(part), "{part} not in {cookie}");
    }
    let out = api
        .request(Method::DELETE, "/api/v1/session")
        .send()
        .await
        .unwrap();
    assert_eq!(out.status(), StatusCode::NO_CONTENT);
    // The cookie jar forgot the ticket; somebody who kept it must not get in either.
    let ticket = cookie.split(';').next().unwrap().to_owned();
    let kept = server
        .stranger()
        .bare(Method::GET, "/api/v1/session")
        .header("cookie", ticket)
        .send()
        .await
        .unwrap();
    stranger
        .problem(kept, StatusCode::UNAUTHORIZED, "not-signed-in")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_ends_the_old_sessions() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let (api, other) = (server.client().await, server.client().await);
    let change = |current: &str, new: &str| json!({"current_password": current, "new_password": new});
    let wrong = api
        .post("/api/v1/session/password", &change("wrong", "a new secret"))
        .await;
    api.problem(wrong, StatusCode::FORBIDDEN, "wrong-password").await;
    let short = api
        .post("/api/v1/session/password", &change(&server.password, "short"))
        .await;
    api.problem(short, StatusCode::UNPROCESSABLE_ENTITY, "password-refused")
        .await;
    let changed = api
        .post(
            "/api/v1/session/password",
            &change(&server.password, "a new secret"),
        )
        .await;
    assert_eq!(changed.status(), StatusCode::OK);
    assert_eq!(api.json("/api/v1/session").await["user"], "admin@pbs");
    other
        .problem(
            other.get("/api/v1/session").await,
            StatusCode::UNAUTHORIZED,
            "not-signed-in",
        )
        .await;
    let body = json!({"user": "admin@pbs", "password": "a new secret"});
    let again = server
        .stranger()
        .bare(Method::POST, "/api/v1/session")
        .json(&body)
        .send()
        .await
        .unwrap();
    assert_eq!(again.status(), StatusCode::OK);
}

/// What a thief has: the ticket, and a CSRF token that was made with it.
async fn stolen(api: &Api) -> (String, String) {
    let renewed = api.post("/api/v1/session/renew", &Value::Null).await;
    let cookie = renewed.headers()["set-cookie"].to_str().unwrap().to_owned();
    let session: Value = renewed.json().await.unwrap();
    (
        cookie.split(';').next().unwrap().to_owned(),
        session["csrf_token"].as_str().unwrap().to_owned(),
    )
}

async fn is_refused(server: &Server, (ticket, csrf): &(String, String)) {
    let thief = server.stranger();
    // What another process changed is seen in a moment.
    eventually("the end of the session", || async {
        let request = thief
            .bare(Method::GET, "/api/v1/session")
            .header("cookie", ticket);
        (request.send().await.unwrap().status() == StatusCode::UNAUTHORIZED).then_some(())
    })
    .await;
    for (method, path) in [
        (Method::GET, "/api/v1/session"),
        (Method::POST, "/api/v1/session/renew"),
    ] {
        // The same ticket, written in another way, is no other ticket.
        for ticket in [ticket.clone(), format!("{ticket}%3D")] {
            let request = thief
                .bare(method.clone(), path)
                .header("cookie", ticket)
                .header("CSRFPreventionToken", csrf);
            let reply = request.send().await.unwrap();
            thief
                .problem(reply, StatusCode::UNAUTHORIZED, "not-signed-in")
                .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_ended_stay_ended_whoever_ended_them() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let users = UserStore::open(&ground.path("state/etc")).unwrap();
    let ann = "ann@pbs".parse().unwrap();
    ground.add_user("ann@pbs", "");
    let before = stolen(&server.client_as("ann@pbs", USER_PASSWORD).await).await;

    // As `fleethold user passwd` does, which is another process.
    users.set_password(&ann, "another secret").unwrap();
    is_refused(&server, &before).await;
    let after = stolen(&server.client_as("ann@pbs", "another secret").await).await;
    users.remove(&ann, None).unwrap();
    is_refused(&server, &after).await;
    users.add(&ann, USER_PASSWORD, None).unwrap();
    is_refused(&server, &after).await;

    let api = server.client_as("ann@pbs", USER_PASSWORD).await;
    let logged_out = stolen(&api).await;
    let out = api.request(Method::DELETE, "/api/v1/session").send().await;
    assert_eq!(out.unwrap().status(), StatusCode::NO_CONTENT);
    is_refused(&server, &logged_out).await;
    let kept = server.client_as("ann@pbs", USER_PASSWORD).await;
    let kept = stolen(&kept).await;
    server.stop().await;

    let server = ground.serve().await;
    for ended in [before, after, logged_out] {
        is_refused(&server, &ended).await;
    }
    let api = server.stranger();
    let good = api.bare(Method::GET, "/api/v1/session").header("cookie", &kept.0);
    assert_eq!(good.send().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_who_guesses_keeps_nobody_out() {
    let ground = Ground::new();
    let server = ground.serve().await;
    for batch in 0..2 {
        let guesses: Vec<_> = (0..30)
            .map(|n| {
                let request = server
                    .stranger()
                    .bare(Method::POST, "/api/v1/session")
                    .json(&json!({"user": format!("user{batch}{n}"), "password": "guessed"}));
                tokio::spawn(async move { request.send().await.unwrap().status() })
            })
            .collect();
        server.client().await;
        for guess in guesses {
            assert_eq!(guess.await.unwrap(), StatusCode::UNAUTHORIZED);
        }
    }
    // More than fifty failures of this address by now: slower, but let in.
    server.client().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_are_those_of_acl_cfg() {
    let ground = Ground::new();
    let users = fleethold_server::auth::users::UserStore::open(&ground.path("state/etc")).unwrap();
    users
        .create_admin(&"admin@pbs".parse().unwrap(), "the admin's secret")
        .unwrap();
    users
        .add(&"reader@pbs".parse().unwrap(), "a reader's secret", None)
        .unwrap();
    users
        .add(&"guest@pbs".parse().unwrap(), "a guest's secret", None)
        .unwrap();
    let acl = ground.path("state/etc/acl.cfg");
    let rules = std::fs::read_to_string(&acl).unwrap();
    std::fs::write(
        &acl,
        format!("{rules}acl:1:/datastore/golden/prod:reader@pbs:DatastoreReader\n"),
    )
    .unwrap();
    std::fs::write(ground.path("state/admin-password"), "the admin's secret").unwrap();
    let server = ground.serve().await;
    let reader = server.client_as("reader@pbs", "a reader's secret").await;
    let guest = server.client_as("guest@pbs", "a guest's secret").await;
    assert_eq!(
        reader.json("/api/v1/stores/golden/groups?ns=prod").await["total"],
        1
    );
    let admin = server.client().await;
    let whole = eventually("the look at the store", || async {
        let row = admin.json("/api/v1/stores/golden").await;
        row["snapshots"].is_u64().then_some(row)
    })
    .await;
    // What is only partly one's own has no figures, whichever way it is asked for.
    let part = json!({"name": "golden", "path": "", "comment": whole["comment"], "state": "unknown"});
    assert_eq!(reader.json("/api/v1/stores/golden").await, part);
    assert_eq!(reader.json("/api/v1/stores").await["items"], json!([part]));
    let summary = reader.json("/api/v1/fleet/summary").await;
    for (figure, expected) in [
        ("stores", 1),
        ("unknown", 1),
        ("snapshots", 0),
        ("total_bytes", 0),
    ] {
        assert_eq!(summary[figure], expected, "{figure}");
    }
    let namespaces = |list: Value| list["items"].as_array().unwrap().clone();
    let path = "/api/v1/stores/golden/namespaces";
    assert_eq!(
        namespaces(reader.json(path).await),
        [json!({"ns": "prod"}), json!({"ns": "prod/db"})]
    );
    assert_eq!(namespaces(admin.json(path).await).len(), 4);
    for (api, path) in [
        (&reader, "/api/v1/history"),
        (&reader, "/api/v1/observe"),
        (&reader, "/api/v1/stores/golden/groups"),
        (&reader, "/api/v1/stores/real"),
        (&guest, "/api/v1/stores/golden/groups?ns=prod"),
    ] {
        api.problem(api.get(path).await, StatusCode::FORBIDDEN, "permission-denied")
            .await;
    }
    let refused = reader
        .post("/api/v1/restores", &support::image(json!({"kind": "null"})))
        .await;
    reader
        .problem(refused, StatusCode::FORBIDDEN, "permission-denied")
        .await;
    let allowed = json!({"source": {"store": "golden", "ns": "prod", "snapshot": "vm/200/2024-05-01T10:00:50Z",
        "archive": "drive-sata0.img"}, "target": {"kind": "null"}});
    let job = reader.restore(&allowed).await;
    assert_eq!(admin.ended(job["id"].as_str().unwrap()).await["state"], "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_line_of_the_rights_is_shown_and_changes_nothing() {
    let ground = Ground::new();
    let server = ground.serve().await;
    ground.add_user(
        "reader@pbs",
        "acl:1:/datastore/golden:reader@pbs:DatastoreReader\n",
    );
    let (admin, stranger) = (server.client().await, server.stranger());
    let reader = server.client_as("reader@pbs", USER_PASSWORD).await;
    let gauge = |broken: u8| format!("fleethold_access_file_errors{{file=\"acl.cfg\"}} {broken}");
    let measured = async |broken| {
        let text = stranger.get("/metrics").await.text().await.unwrap();
        text.contains(&gauge(broken))
    };
    assert_eq!(admin.json("/api/v1/health").await.get("access_problems"), None);
    assert!(measured(0).await);
    let good = std::fs::read_to_string(ground.path("state/etc/acl.cfg")).unwrap();
    ground.allow("acl:1:/:secret@pbs:King\n");
    let problems = eventually("the problem", || async {
        admin.json("/api/v1/health").await.get("access_problems").cloned()
    })
    .await;
    assert_eq!(problems[0]["file"], "acl.cfg");
    let reason = problems[0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("line 3") && reason.contains("secret@pbs:King"),
        "{reason}"
    );
    for somebody in [&reader, &stranger] {
        let health = somebody.json("/api/v1/health").await;
        assert_eq!(health["access_problems"], json!([{"file": "acl.cfg"}]));
    }
    assert!(measured(1).await);
    reader.json("/api/v1/stores/golden/groups").await;

    let path = ground.path("state/etc/acl.cfg");
    std::fs::write(path.with_extension("new"), good).unwrap();
    std::fs::rename(path.with_extension("new"), path).unwrap();
    eventually("the end of the problem", || async {
        let health = admin.json("/api/v1/health").await;
        health.get("access_problems").is_none().then_some(())
    })
    .await;
    assert!(measured(0).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_and_its_headers() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let api = server.stranger();
    for path in ["/", "/store/golden", "/jobs", "//jobs"] {
        let reply = api.get(path).await;
        assert_eq!(reply.status(), StatusCode::OK, "{path}");
        let headers = reply.headers().clone();
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.contains("script-src 'self' 'wasm-unsafe-eval'") && !policy.contains("unsafe-inline"),
            "{policy}"
        );
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["cache-control"], "no-cache");
        assert!(headers.contains_key("x-request-id"));
        assert!(
            reply
                .text()
                .await
                .unwrap()
                .to_lowercase()
                .contains("<!doctype html>"),
            "{path}"
        );
    }
    assert_eq!(api.get("/missing.js").await.status(), StatusCode::NOT_FOUND);
    let tag = api.get("/").await.headers()["etag"].clone();
    for known in [tag.to_str().unwrap(), "*"] {
        let request = api.bare(Method::GET, "/").header("if-none-match", known);
        let same = request.send().await.unwrap().status();
        assert_eq!(same, StatusCode::NOT_MODIFIED, "{known}");
    }
    let docs = api.get("/api/docs/").await;
    assert_eq!(docs.status(), StatusCode::OK);
    assert!(
        !docs.headers()["content-security-policy"]
            .to_str()
            .unwrap()
            .contains("script-src 'self' 'unsafe")
    );
    assert!(docs.text().await.unwrap().contains("swagger"));
    let metrics = api.get("/metrics").await.text().await.unwrap();
    for name in [
        "fleethold_stores{state=\"unknown\"}",
        "fleethold_database{state=",
        "fleethold_feed_clients 0",
    ] {
        assert!(metrics.contains(name), "{name} not in {metrics}");
    }
}
