//! Users, tokens and rules as reference clients change them.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::client::{Client, Reply};
use crate::server::READER_PASSWORD;

async fn put(client: &Client, path: &str, form: &[(&str, &str)]) -> Reply {
    client.send(client.request(Method::PUT, path).form(form)).await
}

async fn digest(client: &Client, path: &str) -> String {
    client.get(path).await.envelope()["digest"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn row<'v>(list: &'v Value, key: &str, value: &str) -> &'v Value {
    let rows = list.as_array().unwrap();
    rows.iter().find(|row| row[key] == value).unwrap_or(&Value::Null)
}

#[tokio::test]
async fn a_user_is_made_changed_and_deleted() {
    let admin = Client::signed_in().await;
    let form = [
        ("userid", "mia@pbs"),
        ("password", READER_PASSWORD),
        ("comment", "from accounting"),
        ("email", "mia@example.org"),
        ("expire", "4000000000"),
    ];
    assert!(admin.post("/access/users", &form).await.data().is_null());
    let again = admin.post("/access/users", &form).await;
    assert!(
        again.refusal().contains("mia@pbs already exists"),
        "{}",
        again.text
    );
    let mia = admin.get("/access/users/mia@pbs").await;
    assert_eq!(
        mia.data(),
        json!({"userid": "mia@pbs", "comment": "from accounting", "email": "mia@example.org", "expire": 4_000_000_000i64})
    );
    let seen = mia.envelope()["digest"].as_str().unwrap().to_owned();
    assert_eq!(seen.len(), 64);

    let change = [
        ("comment", "moved"),
        ("delete", "email"),
        ("enable", "0"),
        ("digest", seen.as_str()),
    ];
    assert!(
        put(&admin, "/access/users/mia@pbs", &change)
            .await
            .data()
            .is_null()
    );
    assert_eq!(
        admin.get("/access/users/mia@pbs").await.data(),
        json!({"userid": "mia@pbs", "comment": "moved", "expire": 4_000_000_000i64, "enable": false})
    );
    // The file is another one now.
    for (method, path) in [
        (Method::PUT, "/access/users/mia@pbs"),
        (Method::PUT, "/access/users/mia@pbs/token/robot"),
        (Method::POST, "/access/users/mia@pbs/token/robot"),
    ] {
        let form = [("comment", "late"), ("digest", seen.as_str())];
        let late = admin.send(admin.request(method, path).form(&form)).await;
        assert!(
            late.refusal().starts_with("detected modified configuration"),
            "{}",
            late.text
        );
    }
    let late = admin
        .delete(&format!("/access/users/mia@pbs?digest={seen}"))
        .await;
    assert!(
        late.refusal().starts_with("detected modified configuration"),
        "{}",
        late.text
    );
    let broken = put(&admin, "/access/users/mia@pbs", &[("digest", "12")]).await;
    assert!(broken.refusal().contains("'digest'"), "{}", broken.text);

    for (form, says) in [
        ([("userid", "mia"), ("password", READER_PASSWORD)], "'userid'"),
        ([("userid", "x@pam"), ("password", READER_PASSWORD)], "realm pbs"),
        ([("userid", "x@pbs"), ("password", "short")], "8 to 64 characters"),
        ([("userid", "x@pbs"), ("comment", "a\nb")], "control characters"),
        ([("userid", "x@pbs"), ("groups", "all")], "'groups'"),
    ] {
        let refused = admin.post("/access/users", &form).await;
        assert!(refused.refusal().contains(says), "{}", refused.text);
        assert!(!refused.text.contains(READER_PASSWORD));
    }
    assert!(admin.delete("/access/users/mia@pbs").await.data().is_null());
    for reply in [
        admin.delete("/access/users/mia@pbs").await,
        admin.get("/access/users/mia@pbs").await,
        admin.get("/access/users/mia@pbs/token").await,
        put(&admin, "/access/users/mia@pbs", &[("comment", "x")]).await,
    ] {
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{}", reply.text);
    }
}

#[tokio::test]
async fn a_token_says_its_secret_once() {
    let admin = Client::signed_in().await;
    admin
        .post(
            "/access/users",
            &[("userid", "noa@pbs"), ("password", READER_PASSWORD)],
        )
        .await
        .data();
    let noa = Client::signed_in_as("noa@pbs", READER_PASSWORD).await;
    let path = "/access/users/noa@pbs/token/robot";
    let made = noa.post(path, &[("comment", "nightly")]).await.data();
    assert_eq!(made["tokenid"], "noa@pbs!robot");
    let secret = made["value"].as_str().unwrap().to_owned();
    let version = |secret: String| async move {
        let stranger = Client::stranger();
        let header = format!("PBSAPIToken=noa@pbs!robot:{secret}");
        stranger
            .send(
                stranger
                    .request(Method::GET, "/version")
                    .header("authorization", header),
            )
            .await
    };
    assert_eq!(version(secret.clone()).await.status, StatusCode::OK);
    assert_eq!(
        noa.get("/access/users/noa@pbs/token").await.data(),
        json!([{"token-name": "robot", "tokenid": "noa@pbs!robot", "comment": "nightly"}])
    );
    assert_eq!(
        noa.get(path).await.data(),
        json!({"tokenid": "noa@pbs!robot", "comment": "nightly"})
    );
    let users = noa.get("/access/users?include_tokens=1").await.data();
    assert_eq!(
        users.as_array().unwrap().len(),
        1,
        "oneself and nobody else: {users}"
    );
    assert_eq!(users[0]["tokens"][0]["tokenid"], "noa@pbs!robot");

    let same = noa.post(path, &[]).await;
    assert!(same.refusal().contains("already exists"), "{}", same.text);
    assert!(put(&noa, path, &[("comment", "hourly")]).await.data().is_null());
    let fresh = put(&noa, path, &[("regenerate", "1")]).await.data();
    let fresh = fresh["secret"].as_str().unwrap().to_owned();
    assert_eq!(version(secret).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(version(fresh.clone()).await.status, StatusCode::OK);
    assert!(noa.delete(path).await.data().is_null());
    assert_eq!(version(fresh).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(noa.delete(path).await.status, StatusCode::NOT_FOUND);
    let short = noa.post("/access/users/noa@pbs/token/x", &[]).await;
    assert!(short.refusal().contains("'token-name'"), "{}", short.text);
}

#[tokio::test]
async fn rules_are_listed_given_and_taken() {
    let admin = Client::signed_in().await;
    admin
        .post(
            "/access/users",
            &[("userid", "lea@pbs"), ("password", READER_PASSWORD)],
        )
        .await
        .data();
    let lea = Client::signed_in_as("lea@pbs", READER_PASSWORD).await;
    lea.post("/access/users/lea@pbs/token/robot", &[]).await.data();
    assert_eq!(lea.get("/admin/datastore").await.data(), json!([]));

    let rule = [
        ("path", "/datastore/golden"),
        ("role", "DatastoreReader"),
        ("auth-id", "lea@pbs"),
    ];
    assert!(put(&admin, "/access/acl", &rule).await.data().is_null());
    let rules = admin
        .get("/access/acl?path=/datastore/golden&exact=1")
        .await
        .data();
    assert_eq!(
        *row(&rules, "ugid", "lea@pbs"),
        json!({"path": "/datastore/golden", "ugid": "lea@pbs", "ugid_type": "user", "propagate": true, "roleid": "DatastoreReader"})
    );
    assert!(
        !row(
            &admin.get("/access/acl?path=/datastore").await.data(),
            "ugid",
            "lea@pbs"
        )
        .is_null()
    );
    assert!(
        row(
            &admin.get("/access/acl?path=/datastore&exact=1").await.data(),
            "ugid",
            "lea@pbs"
        )
        .is_null()
    );
    assert_eq!(
        lea.get("/admin/datastore/golden/status").await.status,
        StatusCode::OK
    );
    assert_eq!(
        lea.get("/access/permissions").await.data(),
        json!({
            "/datastore/golden": {"Datastore.Audit": true, "Datastore.Read": true, "Datastore.Verify": true},
            "/datastore/golden/prod/db": {"Datastore.Audit": true, "Datastore.Read": true, "Datastore.Verify": true},
        })
    );

    // One's own tokens, and no more than that.
    let own = [
        ("path", "/datastore/golden"),
        ("role", "Admin"),
        ("auth-id", "lea@pbs!robot"),
        ("propagate", "0"),
    ];
    assert!(put(&lea, "/access/acl", &own).await.data().is_null());
    let seen = lea.get("/access/acl").await.data();
    assert_eq!(seen.as_array().unwrap().len(), 1, "{seen}");
    assert_eq!(
        (&seen[0]["ugid"], &seen[0]["propagate"]),
        (&json!("lea@pbs!robot"), &json!(false))
    );
    let token = lea
        .get("/access/permissions?auth-id=lea@pbs!robot&path=/datastore/golden")
        .await
        .data();
    assert_eq!(
        token,
        json!({"/datastore/golden": {"Datastore.Audit": false, "Datastore.Read": false, "Datastore.Verify": false}}),
        "no more than its user"
    );
    for who in ["lea@pbs", "owner@pbs!laptop", "guest@pbs"] {
        let form = [("path", "/datastore/golden"), ("role", "Admin"), ("auth-id", who)];
        assert_eq!(
            put(&lea, "/access/acl", &form).await.status,
            StatusCode::FORBIDDEN,
            "{who}"
        );
    }

    let seen = digest(&admin, "/access/acl").await;
    let late = [
        rule[0],
        rule[1],
        rule[2],
        ("delete", "1"),
        ("digest", &"0".repeat(64)),
    ];
    let late = put(&admin, "/access/acl", &late).await;
    assert!(
        late.refusal().starts_with("detected modified configuration"),
        "{}",
        late.text
    );
    let taken = [rule[0], rule[1], rule[2], ("delete", "1"), ("digest", &seen)];
    // Another test of this program may change the file in between: then the digest says so.
    let reply = put(&admin, "/access/acl", &taken).await;
    if reply.status != StatusCode::OK {
        assert!(reply.refusal().starts_with("detected modified"), "{}", reply.text);
        put(&admin, "/access/acl", &taken[..4]).await.data();
    }
    assert_eq!(lea.get("/admin/datastore").await.data(), json!([]));
    for (form, says) in [
        (
            [("path", "/nowhere"), ("role", "Audit"), ("auth-id", "lea@pbs")],
            "'path'",
        ),
        (
            [("path", "/"), ("role", "King"), ("auth-id", "lea@pbs")],
            "'role'",
        ),
        ([("path", "/"), ("role", "Audit"), ("group", "all")], "group"),
    ] {
        let refused = put(&admin, "/access/acl", &form).await;
        assert!(refused.refusal().contains(says), "{}", refused.text);
    }
    let nobody = [("path", "/"), ("role", "Audit"), ("auth-id", "nobody@pbs")];
    assert_eq!(
        put(&admin, "/access/acl", &nobody).await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn roles_and_ones_own_permissions_are_for_everybody() {
    let guest = Client::signed_in_as("guest@pbs", READER_PASSWORD).await;
    let roles = guest.get("/access/roles").await.data();
    assert_eq!(
        row(&roles, "roleid", "DatastoreBackup")["privs"],
        json!(["Datastore.Backup"])
    );
    assert_eq!(
        row(&roles, "roleid", "Admin")["privs"].as_array().unwrap().len(),
        23
    );
    assert_eq!(row(&roles, "roleid", "NoAccess")["privs"], json!([]));
    assert_eq!(guest.get("/access/permissions").await.data(), json!({}));
    let admin = Client::signed_in().await;
    let all = admin.get("/access/permissions").await.data();
    for path in ["/", "/access", "/datastore", "/remote", "/system", "/tape"] {
        assert_eq!(all[path]["Permissions.Modify"], true, "{all}");
    }
}

#[tokio::test]
async fn what_somebody_without_rights_is_refused() {
    let guest = Client::signed_in_as("guest@pbs", READER_PASSWORD).await;
    let before = guest.get("/access/users/guest@pbs").await.data();
    let requests = [
        guest
            .request(Method::POST, "/access/users")
            .form(&[("userid", "evil@pbs")]),
        guest
            .request(Method::PUT, "/access/users/auditor@pbs")
            .form(&[("comment", "x")]),
        guest
            .request(Method::PUT, "/access/users/guest@pbs")
            .form(&[("enable", "1")]),
        guest
            .request(Method::PUT, "/access/users/guest@pbs")
            .form(&[("expire", "0")]),
        guest.request(Method::DELETE, "/access/users/guest@pbs"),
        guest.request(Method::GET, "/access/users/auditor@pbs"),
        guest.request(Method::GET, "/access/users/auditor@pbs/token"),
        guest.request(Method::POST, "/access/users/auditor@pbs/token/evil"),
        guest.request(Method::DELETE, "/access/users/auditor@pbs/token/evil"),
        guest.request(Method::GET, "/access/permissions?auth-id=auditor@pbs"),
        guest.request(Method::PUT, "/access/password").form(&[
            ("userid", "auditor@pbs"),
            ("password", "a new password"),
            ("confirmation-password", READER_PASSWORD),
        ]),
    ];
    for request in requests {
        let refused = guest.send(request).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text);
    }
    assert_eq!(guest.get("/access/acl").await.data(), json!([]));
    assert_eq!(guest.get("/access/users/guest@pbs").await.data(), before);
    // But say who one is.
    let described = put(&guest, "/access/users/guest@pbs", &[("firstname", "Gus")]).await;
    assert!(described.data().is_null());
    assert_eq!(guest.get("/access/users").await.data()[0]["firstname"], "Gus");
    for path in [
        "/access/users",
        "/access/acl",
        "/access/roles",
        "/access/permissions",
    ] {
        assert_eq!(
            Client::stranger().get(path).await.status,
            StatusCode::UNAUTHORIZED
        );
    }
}

#[tokio::test]
async fn an_administrator_sets_anothers_password() {
    let admin = Client::signed_in().await;
    admin
        .post(
            "/access/users",
            &[("userid", "kim@pbs"), ("password", READER_PASSWORD)],
        )
        .await
        .data();
    let kim = Client::signed_in_as("kim@pbs", READER_PASSWORD).await;
    let form = [
        ("userid", "kim@pbs"),
        ("password", "given by admin"),
        ("confirmation-password", &admin.server.password),
    ];
    assert!(put(&admin, "/access/password", &form).await.data().is_null());
    assert_eq!(
        kim.get("/version").await.status,
        StatusCode::UNAUTHORIZED,
        "all sessions end"
    );
    let kim = Client::signed_in_as("kim@pbs", "given by admin").await;
    assert_eq!(kim.get("/version").await.status, StatusCode::OK);
    let own = [
        ("userid", "kim@pbs"),
        ("password", "chosen by kim"),
        ("confirmation-password", "given by admin"),
    ];
    assert!(put(&kim, "/access/password", &own).await.data().is_null());
    Client::signed_in_as("kim@pbs", "chosen by kim").await;
}
