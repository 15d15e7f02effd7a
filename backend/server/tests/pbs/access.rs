//! Who may ask, and how requests are understood.

use reqwest::{Method, StatusCode, header};
use serde_json::json;

use crate::client::{Client, Reply};

#[tokio::test]
async fn without_signing_in() {
    let stranger = Client::stranger();
    assert_eq!(stranger.get("/ping").await.data(), json!({ "pong": true }));
    let domains = stranger.get("/access/domains").await.data();
    assert_eq!(
        (&domains[0]["realm"], &domains[0]["type"]),
        (&json!("pbs"), &json!("pbs"))
    );
    for path in ["/version", "/admin/datastore", "/nodes/localhost/tasks"] {
        let reply = stranger.get(path).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{path}: {}", reply.text);
        assert!(
            !reply.text.starts_with('{'),
            "errors are plain text: {}",
            reply.text
        );
    }
    let nowhere = stranger.get("/nowhere").await;
    assert_eq!(nowhere.status, StatusCode::NOT_FOUND);
    assert!(nowhere.text.contains("/api2/json/nowhere"), "{}", nowhere.text);
}

#[tokio::test]
async fn log_in_by_form_and_by_json() {
    let client = Client::stranger();
    let (user, password) = (&client.server.user, &client.server.password);
    let form = client
        .post("/access/ticket", &[("username", user), ("password", password)])
        .await
        .data();
    let body = json!({ "username": user, "password": password });
    let json = client
        .send(client.request(Method::POST, "/access/ticket").json(&body))
        .await
        .data();
    for session in [form, json] {
        assert_eq!(session["username"], **user);
        assert!(
            session["ticket"]
                .as_str()
                .unwrap()
                .starts_with(&format!("PBS:{user}:")),
            "in the body"
        );
        let csrf = session["CSRFPreventionToken"].as_str().unwrap();
        assert_eq!(csrf.find(':'), Some(8), "{csrf}");
    }

    let wrong = client
        .post(
            "/access/ticket",
            &[("username", user), ("password", "not the password")],
        )
        .await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    let missing = client.post("/access/ticket", &[("username", user)]).await;
    assert!(
        missing.refusal().contains("'password': parameter is missing"),
        "{}",
        missing.text
    );
    let unknown = [
        ("username", user.as_str()),
        ("password", password),
        ("paswort", "x"),
    ];
    let unknown = client.post("/access/ticket", &unknown).await;
    assert!(unknown.refusal().contains("'paswort'"), "{}", unknown.text);
}

#[tokio::test]
async fn a_ticket_renews_itself() {
    let client = Client::signed_in().await;
    let ticket = client.ticket.clone().unwrap();
    let stranger = Client::stranger();
    let renewed = stranger
        .post(
            "/access/ticket",
            &[("username", &client.server.user), ("password", &ticket)],
        )
        .await;
    assert!(renewed.data()["ticket"].as_str().unwrap().starts_with("PBS:"));
    let of_another = stranger
        .post(
            "/access/ticket",
            &[("username", "root@pam"), ("password", &ticket)],
        )
        .await;
    assert_eq!(of_another.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn cookies_paths_and_parameters_as_real_clients_send_them() {
    let mut client = Client::signed_in().await;
    let raw = client.ticket.clone().unwrap();
    assert_eq!(client.get("/version").await.data()["version"], "4.1");

    // Percent-encoded, as browsers and proxmoxer do.
    client.ticket = Some(
        raw.replace(':', "%3A")
            .replace('@', "%40")
            .replace('/', "%2F")
            .replace('=', "%3D"),
    );
    assert_eq!(client.get("/version").await.status, StatusCode::OK);
    // A slash too many, as pve-storage does; a cache breaker, as the reference's page does.
    let url = format!("{}//api2//json/version?_dc=1717", client.server.url);
    let reply = client.request(Method::GET, "").build().unwrap();
    let mut request = reqwest::Request::new(Method::GET, url.parse().unwrap());
    *request.headers_mut() = reply.headers().clone();
    let http = reqwest::Client::builder()
        .tls_danger_accept_invalid_certs(true)
        .build()
        .unwrap();
    assert_eq!(http.execute(request).await.unwrap().status(), StatusCode::OK);

    let unknown = client.get("/version?x=1&y=2").await;
    assert!(
        unknown.refusal().contains("- 'x'") && unknown.text.contains("- 'y'"),
        "{}",
        unknown.text
    );
    let wrong = client.get("/admin/datastore/golden/status?verbose=maybe").await;
    assert!(
        wrong.refusal().contains("'verbose': expected a boolean"),
        "{}",
        wrong.text
    );
    let long = client
        .request(Method::GET, &format!("/version?x={}", "x".repeat(4000)))
        .send()
        .await
        .unwrap();
    assert_eq!(long.status(), StatusCode::URI_TOO_LONG);
}

#[tokio::test]
async fn the_ticket_in_a_cookie_that_scripts_cannot_read() {
    let client = Client::stranger();
    let form = [
        ("username", client.server.user.as_str()),
        ("password", &client.server.password),
        ("http-only", "1"),
    ];
    let response = client
        .request(Method::POST, "/access/ticket")
        .form(&form)
        .send()
        .await
        .unwrap();
    let cookie = response.headers()[header::SET_COOKIE]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(cookie.starts_with("__Host-PBSAuthCookie=PBS%3A"), "{cookie}");
    for flag in ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"] {
        assert!(cookie.contains(flag), "{cookie}");
    }
    let data = crate::client::Reply::read(response).await.data();
    assert!(data["ticket"].is_null());
    assert!(
        data["ticket-info"].as_str().unwrap().starts_with("PBS:"),
        "{data}"
    );
    let sent = cookie.split(';').next().unwrap();
    let reply = client
        .send(
            client
                .request(Method::GET, "/version")
                .header(header::COOKIE, sent),
        )
        .await;
    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn what_changes_something_needs_the_csrf_token() {
    let mut client = Client::signed_in().await;
    let csrf = client.csrf.take();
    assert_eq!(
        client.delete("/access/ticket").await.status,
        StatusCode::UNAUTHORIZED
    );
    client.csrf = Some("00000000:AAAA".into());
    assert_eq!(
        client.delete("/access/ticket").await.status,
        StatusCode::UNAUTHORIZED
    );
    client.csrf = csrf;
    assert!(client.delete("/access/ticket").await.data().is_null());
    assert_eq!(
        client.get("/version").await.status,
        StatusCode::UNAUTHORIZED,
        "signed out"
    );
}

#[tokio::test]
async fn every_path_says_what_may_be_done_there() {
    let client = Client::signed_in().await;
    for (method, path, allowed) in [
        (Method::PUT, "/access/ticket", "POST, DELETE"),
        (Method::POST, "/admin/datastore", "GET, HEAD"),
        (Method::DELETE, "/admin/datastore/golden/groups", "GET, HEAD"),
    ] {
        let reply = client.request(method, path).send().await.unwrap();
        assert_eq!(reply.headers()[header::ALLOW], allowed, "{path}");
        let reply = Reply::read(reply).await;
        assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED, "{}", reply.text);
    }
    let head = client.request(Method::HEAD, "/version").send().await.unwrap();
    assert_eq!(head.status(), StatusCode::OK);
    assert_eq!(Reply::read(head).await.text, "");
    assert_eq!(client.get("/access/nothing").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_password_is_changed_by_who_proves_to_be_there() {
    let client = Client::signed_in().await;
    let change = |form: &'static [(&'static str, &'static str)]| {
        client.send(client.request(Method::PUT, "/access/password").form(form))
    };
    let unproved = change(&[("userid", "guest@pbs"), ("password", "long enough")]).await;
    assert!(
        unproved.refusal().contains("'confirmation-password'"),
        "of another, too: {}",
        unproved.text
    );
    let unproved = change(&[("userid", "admin@pbs"), ("password", "long enough")]).await;
    assert!(
        unproved.refusal().contains("'confirmation-password'"),
        "{}",
        unproved.text
    );
    let wrong = [
        ("userid", "admin@pbs"),
        ("password", "long enough"),
        ("confirmation-password", "guessed"),
    ];
    let wrong = client
        .send(client.request(Method::PUT, "/access/password").form(&wrong))
        .await;
    assert_eq!(wrong.status, StatusCode::FORBIDDEN, "{}", wrong.text);
}
