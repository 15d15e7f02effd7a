//! Changes of users, tokens and rules: what they write, what they leave, what they refuse.

use fleethold_fleet::config_file;

use super::*;
use crate::auth::acl::{AclPath, Privileges, role};

/// As a newer PBS might write it, with an odd editor.
const USERS_TEXT: &str = "user: ann@pbs\n    comment   from  accounting\n\tfuture-flag   maybe\n\n\nuser: root@pam\n\temail root@example.org\n\n\
                          group: staff\n\tmembers ann@pbs\n\ntoken: ann@pbs!cicd\n\tcomment robots\n";

fn place() -> (tempfile::TempDir, UserStore) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("user.cfg"), USERS_TEXT).unwrap();
    let users = UserStore::open(directory.path()).unwrap();
    (directory, users)
}

fn text(directory: &tempfile::TempDir, name: &str) -> String {
    std::fs::read_to_string(directory.path().join(name)).unwrap_or_default()
}

fn authid(text: &str) -> Authid {
    Authid::parse(text).unwrap()
}

fn user(text: &str) -> Userid {
    Userid::parse(text).unwrap()
}

fn comment(text: &str) -> Fields {
    Fields {
        comment: Some(text.to_owned()),
        ..Fields::default()
    }
}

#[test]
fn what_a_change_is_not_about_stays_byte_for_byte() {
    let (directory, users) = place();
    let fields = Fields {
        lastname: Some(" Smith ".into()),
        expire: Some(4_000_000_000),
        ..Fields::default()
    };
    let change = users.update(&user("ann@pbs"), &fields, &[], None).unwrap();
    let expected = USERS_TEXT.replace("maybe\n", "maybe\n\tlastname Smith\n\texpire 4000000000\n");
    assert_eq!(text(&directory, "user.cfg"), expected);
    assert_eq!(change.old["comment"], "from  accounting");
    assert_eq!(
        (&change.new["lastname"], change.new["expire"].as_i64()),
        (&"Smith".into(), Some(4_000_000_000))
    );

    users
        .update(&user("ann@pbs"), &comment(""), &[Deletable::Lastname], None)
        .unwrap();
    let left = text(&directory, "user.cfg");
    assert!(!left.contains("accounting") && !left.contains("Smith"), "{left}");
    assert!(left.contains("\tfuture-flag   maybe\n") && left.contains("group: staff\n\tmembers ann@pbs\n"));
}

#[test]
fn a_change_meant_for_another_file_is_refused_and_nothing_is_written() {
    let (directory, users) = place();
    let seen = users.table().digest();
    assert_eq!(seen, config_file::digest(USERS_TEXT.as_bytes()));
    users
        .update(&user("ann@pbs"), &comment("one"), &[], Some(&seen))
        .unwrap();
    let between = text(&directory, "user.cfg");
    let path = AclPath::parse("/datastore").unwrap();
    let audit = role("Audit").unwrap();
    let empty = config_file::digest(b"");
    users
        .change_rule(&path, &authid("ann@pbs"), audit, Some(true), Some(&empty))
        .unwrap();
    let token = authid("ann@pbs!cicd");
    for refused in [
        users
            .update(&user("ann@pbs"), &comment("two"), &[], Some(&seen))
            .map(drop),
        users
            .create(
                &user("bob@pbs"),
                Some("a good password"),
                &Fields::default(),
                Some(&seen),
            )
            .map(drop),
        users.remove(&user("ann@pbs"), Some(&seen)).map(drop),
        users
            .create_token(&authid("ann@pbs!new"), &Fields::default(), Some(&seen))
            .map(drop),
        users
            .update_token(&token, &Fields::default(), &[], true, Some(&seen))
            .map(drop),
        users.remove_token(&token, Some(&seen)).map(drop),
        users
            .change_rule(&path, &token, audit, Some(true), Some(&empty))
            .map(drop),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, UserError::Modified { .. }), "{error}");
        assert!(
            error.to_string().starts_with("detected modified configuration"),
            "{error}"
        );
    }
    assert_eq!(text(&directory, "user.cfg"), between);
    assert_eq!(text(&directory, "acl.cfg"), "acl:1:/datastore:ann@pbs:Audit\n");
    assert!(
        !text(&directory, "token.shadow").contains('$') && !text(&directory, "shadow.json").contains('$')
    );
}

#[test]
fn a_token_from_beginning_to_end() {
    let (directory, users) = place();
    let token = authid("ann@pbs!new");
    let (secret, change) = users.create_token(&token, &comment("a robot"), None).unwrap();
    assert_eq!(secret.len(), 36);
    assert_eq!(change.new["secret"], "replaced");
    assert!(!format!("{change:?}").contains(&**secret), "{change:?}");
    assert!(users.verify_token(&token, &secret).unwrap());
    assert!(text(&directory, "token.shadow").contains("\"ann@pbs!new\": \"$argon2id$"));
    assert!(matches!(
        users.create_token(&token, &Fields::default(), None),
        Err(UserError::Exists { .. })
    ));
    for nobody in ["nobody@pbs!new", "root@pbs!new"] {
        let refused = users.create_token(&authid(nobody), &Fields::default(), None);
        assert!(matches!(refused, Err(UserError::NotFound { .. })));
    }
    let named = Fields {
        firstname: Some("Robot".into()),
        ..Fields::default()
    };
    let refused = users.update_token(&token, &named, &[], false, None).unwrap_err();
    assert!(
        refused.to_string().contains("firstname of ann@pbs!new"),
        "{refused}"
    );

    let (none, _) = users
        .update_token(&token, &comment("x"), &[Deletable::Comment], false, None)
        .unwrap();
    assert!(none.is_none() && users.verify_token(&token, &secret).unwrap());
    let (fresh, _) = users
        .update_token(&token, &Fields::default(), &[], true, None)
        .unwrap();
    let fresh = fresh.unwrap();
    assert!(!users.verify_token(&token, &secret).unwrap() && users.verify_token(&token, &fresh).unwrap());

    let path = AclPath::parse("/datastore/store1").unwrap();
    users
        .change_rule(&path, &token, role("Audit").unwrap(), Some(true), None)
        .unwrap();
    users.remove_token(&token, None).unwrap();
    assert!(!users.verify_token(&token, &fresh).unwrap());
    assert_eq!(text(&directory, "user.cfg"), USERS_TEXT);
    assert_eq!(
        (
            text(&directory, "acl.cfg").as_str(),
            text(&directory, "token.shadow").as_str()
        ),
        ("", "{}\n")
    );
    assert!(matches!(
        users.remove_token(&token, None),
        Err(UserError::NotFound { .. })
    ));
    let refused = users.remove_token(&authid("ann@pbs"), None);
    assert!(
        matches!(refused, Err(UserError::NotFound { .. })),
        "a user is no token"
    );
}

#[test]
fn rules_are_given_and_taken() {
    let (directory, users) = place();
    let path = AclPath::parse("/datastore/store1").unwrap();
    let ann = authid("ann@pbs");
    let change = |name: &str, give| {
        let change = users
            .change_rule(&path, &ann, role(name).unwrap(), give, None)
            .unwrap();
        (change.old, change.new)
    };
    let (old, new) = change("DatastoreReader", Some(false));
    assert!(old.is_null() && new["roles"][0]["propagate"] == false, "{new}");
    assert!(
        users
            .acl()
            .privileges(&ann, &["datastore", "store1"])
            .any(Privileges::READ)
    );
    assert!(
        !users
            .acl()
            .privileges(&ann, &["datastore", "store1", "ns"])
            .any(Privileges::READ)
    );
    let (old, new) = change("DatastoreReader", Some(false));
    assert_eq!(old, new);
    let (_, new) = change("DatastoreReader", None);
    assert!(new.is_null() && text(&directory, "acl.cfg").is_empty());
    assert_eq!(
        change("DatastoreReader", None),
        (serde_json::Value::Null, serde_json::Value::Null)
    );
    let nobody = users.change_rule(
        &path,
        &authid("nobody@pbs"),
        role("Audit").unwrap(),
        Some(true),
        None,
    );
    assert!(matches!(nobody, Err(UserError::NotFound { .. })));
    // What stands there of somebody who is gone can be taken.
    std::fs::write(
        directory.path().join("acl.cfg"),
        "acl:1:/datastore/store1:gone@pbs:Audit\n",
    )
    .unwrap();
    users
        .change_rule(&path, &authid("gone@pbs"), role("Audit").unwrap(), None, None)
        .unwrap();
    assert_eq!(text(&directory, "acl.cfg"), "");
}

#[test]
fn a_user_without_password_cannot_sign_in_with_an_old_one() {
    let (directory, users) = place();
    let bob = user("bob@pbs");
    let sha = "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";
    std::fs::write(
        directory.path().join("shadow.json"),
        format!("{{\"bob@pbs\":\"{sha}\"}}"),
    )
    .unwrap();
    users.create(&bob, None, &Fields::default(), None).unwrap();
    assert!(users.is_active(&bob.clone().into()));
    assert!(!users.verify_password(&bob, "Hello world!").unwrap());
    let refused = users.update(
        &bob,
        &Fields {
            expire: Some(-1),
            ..Fields::default()
        },
        &[],
        None,
    );
    assert!(matches!(refused, Err(UserError::Field { field: "expire", .. })));
}
