//! What is taken away is gone at the very next request, whoever takes it: REST, the command line, an editor.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use support::{Api, Ground, Server, USER_PASSWORD, eventually};

/// Long enough for a request to be looked at; a refusal is answered later.
const DECIDED: Duration = Duration::from_millis(300);

/// Ways to take a token away.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Loss {
    Secret,
    Token,
    TokenDisabled,
    TokenExpired,
    UserDisabled,
    UserDeleted,
    UserExpired,
}

const LOSSES: [Loss; 7] = [
    Loss::Secret,
    Loss::Token,
    Loss::TokenDisabled,
    Loss::TokenExpired,
    Loss::UserDisabled,
    Loss::UserDeleted,
    Loss::UserExpired,
];

fn fleethold(ground: &Ground, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fleethold"))
        .env_clear()
        .env("FLEETHOLD_STATE_DIR", ground.path("state"))
        .env("FLEETHOLD_RUN_DIR", ground.path("run"))
        .env("FLEETHOLD_PASSWORD", USER_PASSWORD)
        .stdin(Stdio::null())
        .args(args)
        .output()
        .unwrap()
}

/// The object that a command which must succeed prints.
fn done(ground: &Ground, args: &[&str]) -> Value {
    let output = fleethold(ground, &[args, &["--json"]].concat());
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn rest(api: &Api, method: Method, path: &str, form: &[(&str, &str)]) -> Value {
    let request = api.request(method, &format!("/api2/json{path}"));
    let reply = if form.is_empty() {
        request
    } else {
        request.form(form)
    };
    let reply = reply.send().await.unwrap();
    assert_eq!(
        reply.status(),
        StatusCode::OK,
        "{path}: {}",
        reply.text().await.unwrap()
    );
    reply.json::<Value>().await.unwrap()["data"].take()
}

async fn with_token(server: &Server, token: &str, secret: &str, path: &str) -> StatusCode {
    let request = server.stranger().bare(Method::GET, path);
    let header = format!("PBSAPIToken={token}:{secret}");
    request
        .header("authorization", header)
        .send()
        .await
        .unwrap()
        .status()
}

/// As an editor does: the file is another one.
fn rewrite(ground: &Ground, name: &str, change: impl FnOnce(String) -> String) {
    let path = ground.path("state/etc").join(name);
    let text = change(fs::read_to_string(&path).unwrap());
    let new = path.with_extension("edited");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

async fn lose_by_rest(admin: &Api, user: &str, loss: Loss) {
    let (of_user, of_token) = (
        format!("/access/users/{user}"),
        format!("/access/users/{user}/token/tok"),
    );
    match loss {
        Loss::Secret => rest(admin, Method::PUT, &of_token, &[("regenerate", "1")]).await,
        Loss::Token => rest(admin, Method::DELETE, &of_token, &[]).await,
        Loss::TokenDisabled => rest(admin, Method::PUT, &of_token, &[("enable", "0")]).await,
        Loss::TokenExpired => rest(admin, Method::PUT, &of_token, &[("expire", "1000")]).await,
        Loss::UserDisabled => rest(admin, Method::PUT, &of_user, &[("enable", "0")]).await,
        Loss::UserDeleted => rest(admin, Method::DELETE, &of_user, &[]).await,
        Loss::UserExpired => rest(admin, Method::PUT, &of_user, &[("expire", "1000")]).await,
    };
}

fn lose_by_command(ground: &Ground, user: &str, loss: Loss) {
    let token = format!("{user}!tok");
    let args: &[&str] = match loss {
        Loss::Secret => &["token", "regenerate", &token],
        Loss::Token => &["token", "delete", &token],
        Loss::TokenDisabled => &["token", "update", &token, "--enable", "false"],
        Loss::TokenExpired => &["token", "update", &token, "--expire", "2001-01-01"],
        Loss::UserDisabled => &["user", "disable", user],
        Loss::UserDeleted => &["user", "delete", user],
        Loss::UserExpired => &["user", "update", user, "--expire", "1000"],
    };
    done(ground, args);
}

fn lose_by_hand(ground: &Ground, user: &str, loss: Loss) {
    let token = format!("{user}!tok");
    let (of_user, of_token) = (format!("user: {user}\n"), format!("token: {token}\n"));
    let add = |header: &str, line: &str| {
        rewrite(ground, "user.cfg", |text| {
            assert!(text.contains(header), "{header:?} in {text}");
            text.replace(header, &format!("{header}\t{line}\n"))
        });
    };
    match loss {
        // Written in place.
        Loss::Secret | Loss::Token => {
            let path = ground.path("state/etc/token.shadow");
            let mut hashes: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            if loss == Loss::Token {
                hashes.as_object_mut().unwrap().remove(&token);
            } else {
                // SHA-crypt of "Hello world!", its specification's own example.
                hashes[&token] = "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5".into();
            }
            fs::write(path, hashes.to_string()).unwrap();
        }
        Loss::TokenDisabled => add(&of_token, "enable false"),
        Loss::TokenExpired => add(&of_token, "expire 1000"),
        Loss::UserDisabled => add(&of_user, "enable 0"),
        Loss::UserExpired => add(&of_user, "expire 1000"),
        Loss::UserDeleted => rewrite(ground, "user.cfg", |text| {
            assert!(text.contains(&of_user), "{text}");
            text.replace(&of_user, &format!("future: {user}\n"))
        }),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_taken_away_is_refused_at_the_next_request() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let admin = server.client().await;
    let mut tokens = Vec::new();
    for n in 0..LOSSES.len() * 3 + 1 {
        let user = format!("u{n}@pbs");
        rest(&admin, Method::POST, "/access/users", &[("userid", &user)]).await;
        let path = format!("/access/users/{user}/token/tok");
        let made = rest(&admin, Method::POST, &path, &[]).await;
        let secret = made["value"].as_str().unwrap().to_owned();
        // Once by the slow hash, once as it is known.
        for _ in 0..2 {
            let found = with_token(&server, &format!("{user}!tok"), &secret, "/api2/json/version").await;
            assert_eq!(found, StatusCode::OK);
        }
        tokens.push((user, secret));
    }
    let server = &std::sync::Arc::new(server);
    let mut refusals = Vec::new();
    let ways = ["rest", "command line", "editor"];
    for ((user, secret), (way, loss)) in tokens
        .iter()
        .zip(ways.iter().flat_map(|way| LOSSES.map(|loss| (*way, loss))))
    {
        match way {
            "rest" => lose_by_rest(&admin, user, loss).await,
            "command line" => lose_by_command(&ground, user, loss),
            _ => lose_by_hand(&ground, user, loss),
        }
        let (token, secret, server) = (
            format!("{user}!tok"),
            secret.clone(),
            std::sync::Arc::clone(server),
        );
        let mut asked = Box::pin(async move {
            let status = with_token(&server, &token, &secret, "/api2/json/version").await;
            (loss, way, status)
        });
        // A refusal comes late. By then it is decided: what is taken away next must not be what tells the server.
        match tokio::time::timeout(DECIDED, &mut asked).await {
            Ok((_, _, status)) => assert_eq!(status, StatusCode::UNAUTHORIZED, "{loss:?} by {way}"),
            Err(_) => refusals.push(tokio::spawn(asked)),
        }
    }
    for answer in refusals {
        let (loss, way, status) = answer.await.unwrap();
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{loss:?} by {way}");
    }
    let (user, secret) = tokens.last().unwrap();
    let bystander = with_token(server, &format!("{user}!tok"), secret, "/api2/json/version").await;
    assert_eq!(bystander, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_command_line_changes_a_running_server_sees_at_once() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let said = done(&ground, &["user", "create", "ann@pbs", "--comment", "robots"]);
    assert_eq!(said, json!({"user": "ann@pbs", "done": "added"}));
    let ann = server.client_as("ann@pbs", USER_PASSWORD).await;
    let made = done(
        &ground,
        &["token", "create", "ann@pbs!tok", "--expire", "2100-01-31"],
    );
    let secret = made["value"].as_str().unwrap();
    let status = "/api2/json/admin/datastore/golden/status";
    let found = async || with_token(&server, "ann@pbs!tok", secret, status).await;
    assert_eq!(found().await, StatusCode::FORBIDDEN);
    for who in ["ann@pbs", "ann@pbs!tok"] {
        assert_eq!(found().await, StatusCode::FORBIDDEN);
        done(
            &ground,
            &["acl", "set", "/datastore/golden", who, "DatastoreAudit"],
        );
    }
    assert_eq!(found().await, StatusCode::OK);
    let rules = done(&ground, &["acl", "list", "--path", "/datastore/golden"]);
    assert_eq!(rules["rules"].as_array().unwrap().len(), 2);
    assert_eq!(
        rest(&ann, Method::GET, "/access/acl", &[]).await[0]["ugid"],
        "ann@pbs!tok"
    );
    done(
        &ground,
        &["acl", "delete", "/datastore/golden", "ann@pbs", "DatastoreAudit"],
    );
    assert_eq!(
        found().await,
        StatusCode::FORBIDDEN,
        "a token can do no more than its user"
    );
    // And by an editor.
    ground.allow("acl:1:/datastore:ann@pbs:DatastoreAudit\n");
    assert_eq!(found().await, StatusCode::OK);

    let tokens = done(&ground, &["token", "list", "ann@pbs"]);
    assert_eq!(
        tokens["tokens"],
        json!([{"id": "ann@pbs!tok", "enabled": true, "expire": 4_105_036_800i64, "comment": null}])
    );
    let of_ann = rest(&ann, Method::GET, "/access/users/ann@pbs/token/tok", &[]).await;
    assert_eq!(of_ann["expire"], 4_105_036_800i64);
    done(&ground, &["user", "disable", "ann@pbs"]);
    let reply = ann.get("/api/v1/session").await;
    assert_eq!(reply.status(), StatusCode::UNAUTHORIZED, "her session, too");

    for (args, code, says) in [
        (&["token", "create", "ann@pbs"][..], 2, "found a user"),
        (
            &["token", "create", "ann@pbs!tok"],
            1,
            "token ann@pbs!tok already exists",
        ),
        (&["token", "delete", "ann@pbs!none"], 1, "no such token"),
        (&["token", "update", "ann@pbs!tok"], 2, "--expire"),
        (&["acl", "set", "/nowhere", "ann@pbs", "Audit"], 2, "/nowhere"),
        (&["acl", "set", "/", "ann@pbs", "King"], 2, "DatastoreReader"),
        (
            &["acl", "set", "/", "bob@pbs", "Audit"],
            1,
            "no such user: bob@pbs",
        ),
        (
            &["acl", "delete", "/", "ann@pbs", "Audit"],
            1,
            "no rule gives ann@pbs the role Audit at /",
        ),
        (&["user", "update", "ann@pbs", "--expire", "tomorrow"], 2, "never"),
    ] {
        let output = fleethold(&ground, args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(says), "{args:?}: {error}");
    }
    for command in [
        &["token"][..],
        &["token", "create"],
        &["acl", "set"],
        &["user", "update"],
    ] {
        let help = fleethold(&ground, &[command, &["--help"]].concat());
        let text = String::from_utf8(help.stdout).unwrap();
        assert!(
            help.status.success() && (command.len() == 1 || text.contains("Examples:")),
            "{text}"
        );
    }
    rewrite(&ground, "user.cfg", |text| text + "nonsense");
    assert_eq!(fleethold(&ground, &["token", "list"]).status.code(), Some(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_wrong_tokens_does_not_reach_the_slow_hash() {
    let ground = Ground::new();
    let server = ground.serve().await;
    let admin = server.client().await;
    rest(&admin, Method::POST, "/access/users", &[("userid", "ann@pbs")]).await;
    let made = rest(&admin, Method::POST, "/access/users/ann@pbs/token/tok", &[]).await;
    let secret = made["value"].as_str().unwrap().to_owned();
    let version = "/api2/json/version";
    assert_eq!(
        with_token(&server, "ann@pbs!tok", &secret, version).await,
        StatusCode::OK
    );

    let http = server.stranger();
    let flood: Vec<_> = (0..1000)
        .map(|n| {
            // Half of them guess a secret, half a token.
            let token = if n % 2 == 0 {
                "ann@pbs!tok".to_owned()
            } else {
                format!("ann@pbs!tok{n}")
            };
            let request = http.bare(Method::GET, version);
            let request = request.header("authorization", format!("PBSAPIToken={token}:guess{n}"));
            tokio::spawn(async move { request.send().await.unwrap().status() })
        })
        .collect();
    let mut answered = 0;
    while flood.iter().any(|one| !one.is_finished()) {
        let found = with_token(&server, "ann@pbs!tok", &secret, version).await;
        assert_eq!(found, StatusCode::OK, "who is known is let in, whoever floods");
        answered += 1;
    }
    assert!(answered > 0);
    // Passwords have a gate of their own.
    server.client().await;
    let (mut unauthorized, mut refused) = (0, 0);
    for one in flood {
        match one.await.unwrap() {
            StatusCode::UNAUTHORIZED => unauthorized += 1,
            StatusCode::TOO_MANY_REQUESTS => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert!(unauthorized >= 10 && refused >= 500, "{unauthorized} {refused}");
    let metrics = server.stranger().get("/metrics").await.text().await.unwrap();
    let value = |name: &str| -> u64 {
        let line = metrics.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(
        value("fleethold_login_hashes_total{kind=\"token\"}") <= 12,
        "{metrics}"
    );
    assert_eq!(value("fleethold_login_refused_total{kind=\"token\"}"), refused);
    assert_eq!(
        value("fleethold_login_failed_total{kind=\"token\"}"),
        unauthorized
    );
    assert_eq!(value("fleethold_tokens_known"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_says_who_changed_what_and_no_secret() {
    let ground = Ground::new();
    let server = ground.serve_with(None).await;
    let admin = server.client().await;
    let form = [
        ("userid", "ann@pbs"),
        ("password", USER_PASSWORD),
        ("comment", "one"),
    ];
    rest(&admin, Method::POST, "/access/users", &form).await;
    let made = rest(&admin, Method::POST, "/access/users/ann@pbs/token/tok", &[]).await;
    let secret = made["value"].as_str().unwrap().to_owned();
    rest(
        &admin,
        Method::PUT,
        "/access/users/ann@pbs",
        &[("comment", "two")],
    )
    .await;
    // What changes nothing is no change.
    rest(
        &admin,
        Method::PUT,
        "/access/users/ann@pbs",
        &[("comment", "two")],
    )
    .await;
    done(&ground, &["acl", "set", "/datastore", "ann@pbs", "Audit"]);
    let ann = server.client_as("ann@pbs", USER_PASSWORD).await;
    let new = [
        ("userid", "ann@pbs"),
        ("password", "quite another one"),
        ("confirmation-password", USER_PASSWORD),
    ];
    rest(&ann, Method::PUT, "/access/password", &new).await;
    let log = eventually("the audit log", || async {
        let reply = admin.get("/api/v1/audit").await;
        let page: Value = (reply.status() == StatusCode::OK)
            .then_some(reply)?
            .json()
            .await
            .ok()?;
        (page["items"].as_array()?.len() == 5).then_some(page)
    })
    .await;
    let short: Vec<[&str; 4]> = log["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| ["actor", "via", "action", "target"].map(|key| item[key].as_str().unwrap()))
        .collect();
    let uid = format!("uid {}", rustix::process::getuid().as_raw());
    assert_eq!(
        short,
        [
            ["ann@pbs", "session", "user.password", "ann@pbs"],
            [&uid, "command-line", "acl.set", "/datastore"],
            ["admin@pbs", "session", "user.update", "ann@pbs"],
            ["admin@pbs", "session", "token.create", "ann@pbs!tok"],
            ["admin@pbs", "session", "user.create", "ann@pbs"],
        ]
    );
    let update = &log["items"][2];
    assert_eq!(
        (
            &update["was"]["comment"],
            &update["became"]["comment"],
            &update["address"]
        ),
        (&json!("one"), &json!("two"), &json!("127.0.0.1"))
    );
    let text = log.to_string();
    for kept in [USER_PASSWORD, "quite another one", &secret, "$argon2id"] {
        assert!(!text.contains(kept), "{text}");
    }
    let first = admin.json("/api/v1/audit?limit=2&target=ann@pbs").await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest_of_it = admin
        .json(&format!("/api/v1/audit?limit=2&target=ann@pbs&cursor={cursor}"))
        .await;
    assert_eq!(rest_of_it["items"][0]["action"], "user.create");
    for (query, code) in [
        ("limit=0", "invalid-limit"),
        ("limit=501", "invalid-limit"),
        ("cursor=x", "invalid-cursor"),
    ] {
        let reply = admin.get(&format!("/api/v1/audit?{query}")).await;
        admin.problem(reply, StatusCode::BAD_REQUEST, code).await;
    }
    let ann = server.client_as("ann@pbs", "quite another one").await;
    let reply = ann.get("/api/v1/audit").await;
    assert_eq!(reply.status(), StatusCode::FORBIDDEN);
}
