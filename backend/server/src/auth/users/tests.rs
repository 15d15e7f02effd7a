use std::os::unix::fs::PermissionsExt;

use super::*;

fn user(text: &str) -> Userid {
    Userid::parse(text).unwrap()
}

fn store() -> (tempfile::TempDir, UserStore) {
    let directory = tempfile::tempdir().unwrap();
    let users = UserStore::open(directory.path()).unwrap();
    (directory, users)
}

#[test]
fn a_user_from_beginning_to_end() {
    let (directory, users) = store();
    let ann = user("ann@pbs");
    assert!(users.is_empty() && !users.verify_password(&ann, "a good password").unwrap());
    users
        .add(&ann, "a good password", Some("from accounting"))
        .unwrap();
    assert!(users.verify_password(&ann, "a good password").unwrap());
    assert!(!users.verify_password(&ann, "a bad password").unwrap());
    assert!(matches!(
        users.add(&ann, "another password", None),
        Err(UserError::Exists { .. })
    ));
    assert!(
        users.verify_password(&ann, "a good password").unwrap(),
        "a refused add changes no password"
    );
    users.set_password(&ann, "a new password").unwrap();
    assert!(!users.verify_password(&ann, "a good password").unwrap());
    assert!(users.verify_password(&ann, "a new password").unwrap());
    users.set_enabled(&ann, false).unwrap();
    assert!(!users.verify_password(&ann, "a new password").unwrap() && !users.is_active(&ann.clone().into()));
    users.set_enabled(&ann, true).unwrap();
    assert!(users.is_active(&ann.clone().into()));
    assert_eq!(
        std::fs::read_to_string(directory.path().join("user.cfg")).unwrap(),
        "user: ann@pbs\n\tcomment from accounting\n\tenable true\n"
    );
    let shadow = directory.path().join("shadow.json");
    assert_eq!(
        std::fs::metadata(&shadow).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(std::fs::read_to_string(&shadow).unwrap().contains("$argon2id$"));
    users.remove(&ann, None).unwrap();
    assert!(users.is_empty());
    let left = std::fs::read_to_string(&shadow).unwrap();
    assert!(
        !left.contains('$') && left.contains("ann@pbs not-before"),
        "{left}"
    );
    for result in [
        users.remove(&ann, None),
        users.set_enabled(&ann, true),
        users
            .set_password(&ann, "some password")
            .map(|(_, change)| change),
    ] {
        assert!(matches!(result, Err(UserError::NotFound { .. })));
    }
}

#[test]
fn another_process_is_seen_by_the_next_look_or_log_in() {
    let (directory, users) = store();
    let other = UserStore::open(directory.path()).unwrap();
    let ann = user("ann@pbs");
    other.add(&ann, "a good password", None).unwrap();
    assert!(users.verify_password(&ann, "a good password").unwrap());
    assert!(users.is_active(&ann.clone().into()));
    other.set_enabled(&ann, false).unwrap();
    let ann = Authid::from(ann);
    assert!(users.is_active(&ann), "no request looks at a file");
    users.look();
    assert!(!users.is_active(&ann));
}

#[test]
fn what_is_refused() {
    let (directory, users) = store();
    for (who, password) in [("ann@pam", "a good password"), ("root@pam", "a good password")] {
        assert!(matches!(
            users.add(&user(who), password, None),
            Err(UserError::Realm { .. })
        ));
    }
    for password in ["short", "", "with\ncontrol characters", &"x".repeat(65)] {
        let error = users.add(&user("ann@pbs"), password, None).unwrap_err();
        assert!(matches!(error, UserError::Password { .. }), "{error}");
        assert!(
            password.is_empty() || !error.to_string().contains(password),
            "a password is never shown"
        );
    }
    let error = users
        .add(&user("ann@pbs"), "a good password", Some("two\nlines"))
        .unwrap_err();
    assert!(matches!(error, UserError::Field { .. }));
    let names = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(
        names.collect::<Vec<_>>(),
        [".user.lck"],
        "nothing was written but the lock"
    );
}

#[test]
fn hashes_of_an_imported_host_and_tokens() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name| directory.path().join(name);
    let sha = "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";
    std::fs::write(
        at("user.cfg"),
        "user: ann@pbs\n\tenable 1\n\tfirstname Ann\n\nuser: old@pbs\n\texpire 1000\n\ntoken: ann@pbs!cicd\n\ntoken: old@pbs!cicd\n\n\
         token: ann@pbs!off\n\tenable no\n",
    )
    .unwrap();
    std::fs::write(
        at("shadow.json"),
        format!("{{\"ann@pbs\":\"{sha}\",\"old@pbs\":\"{sha}\",\"gone@pbs\":\"{sha}\"}}"),
    )
    .unwrap();
    std::fs::write(
        at("token.shadow"),
        format!("{{\"ann@pbs!cicd\":\"{sha}\",\"old@pbs!cicd\":\"{sha}\",\"ann@pbs!off\":\"{sha}\"}}"),
    )
    .unwrap();
    let users = UserStore::open(directory.path()).unwrap();
    let password = "Hello world!";
    assert!(users.verify_password(&user("ann@pbs"), password).unwrap());
    assert!(
        !users.verify_password(&user("old@pbs"), password).unwrap(),
        "expired"
    );
    assert!(
        !users.verify_password(&user("gone@pbs"), password).unwrap(),
        "a hash without a user"
    );
    let token = |text| {
        users
            .verify_token(&Authid::parse(text).unwrap(), password)
            .unwrap()
    };
    assert!(token("ann@pbs!cicd"));
    assert!(!token("old@pbs!cicd"), "the token of an expired user");
    assert!(!token("ann@pbs!off") && !token("ann@pbs!none"));
    assert!(
        !users
            .verify_token(&Authid::parse("ann@pbs").unwrap(), password)
            .unwrap(),
        "a user is no token"
    );

    users.remove(&user("ann@pbs"), None).unwrap();
    let left: Vec<_> = users
        .table()
        .iter()
        .map(|entry| entry.authid.to_string())
        .collect();
    assert_eq!(left, ["old@pbs", "old@pbs!cicd"]);
    assert!(
        !std::fs::read_to_string(at("token.shadow"))
            .unwrap()
            .contains("ann@pbs")
    );
}

#[test]
fn the_first_administrator_gets_every_right() {
    let (directory, users) = store();
    std::fs::write(directory.path().join("acl.cfg"), "acl:1:/datastore:x@pbs:Audit").unwrap();
    users.create_admin(&user("admin@pbs"), "a good password").unwrap();
    assert_eq!(
        std::fs::read_to_string(directory.path().join("acl.cfg")).unwrap(),
        "acl:1:/datastore:x@pbs:Audit\nacl:1:/:admin@pbs:Admin\n"
    );
}

#[test]
fn rights_go_with_the_user() {
    let (directory, users) = store();
    let acl = directory.path().join("acl.cfg");
    users.create_admin(&user("ann@pbs"), "a good password").unwrap();
    let rules =
        "acl:1:/datastore:ann@pbs,bob@pbs:Audit\nacl:0:/system:ann@pbs!cicd:Audit\nacl:1:/:joann@pbs:Admin\n";
    std::fs::write(&acl, std::fs::read_to_string(&acl).unwrap() + rules).unwrap();
    users.remove(&user("ann@pbs"), None).unwrap();
    assert_eq!(
        std::fs::read_to_string(&acl).unwrap(),
        "acl:1:/datastore:bob@pbs:Audit\nacl:1:/:joann@pbs:Admin\n"
    );
}

#[test]
fn a_broken_file_keeps_the_last_good_users_and_is_not_written_over() {
    let (directory, users) = store();
    let ann = user("ann@pbs");
    users.add(&ann, "a good password", None).unwrap();
    let file = directory.path().join("user.cfg");
    for broken in [
        "nonsense\n",
        "user: ann@pbs\n\tenable perhaps\n",
        "user: ann@pbs!token\n",
        "user: ann\n",
        "user: ann@pbs\n\texpire -1\n",
    ] {
        std::fs::write(&file, broken).unwrap();
        users.look();
        assert!(users.is_active(&ann.clone().into()), "{broken}");
        let [_, (name, problem), _, _] = users.problems();
        assert!(
            name == "user.cfg" && problem.unwrap().contains("user.cfg: line 1"),
            "{broken}"
        );
        assert!(
            matches!(users.set_enabled(&ann, false), Err(UserError::Invalid { .. })),
            "{broken}"
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), broken);
        assert!(UserStore::open(directory.path()).is_err());
    }
    std::fs::write(directory.path().join("shadow.json"), "{\"ann@pbs\": \"$5$secret").unwrap();
    let error = users.verify_password(&ann, "x").unwrap_err().to_string();
    assert!(
        error.contains("shadow.json: line 1") && !error.contains("secret"),
        "{error}"
    );
}

#[test]
fn sessions_end_with_the_password_the_user_and_for_good() {
    let (directory, users) = store();
    let ann = user("ann@pbs");
    users.add(&ann, "a good password", None).unwrap();
    let sign_in = |password| users.sign_in(&ann, password, clock::epoch()).unwrap();
    let first = sign_in("a good password").unwrap();
    assert!(!users.session_ended(&ann, first));
    assert_eq!(sign_in("a bad password"), None);

    // The command line is another process.
    let shell = UserStore::open(directory.path()).unwrap();
    let (good_from, _) = shell.set_password(&ann, "a new password").unwrap();
    users.look();
    assert!(users.session_ended(&ann, first) && !users.session_ended(&ann, good_from));
    let second = sign_in("a new password").unwrap();
    assert!(second >= good_from);

    shell.remove(&ann, None).unwrap();
    shell.add(&ann, "a good password", None).unwrap();
    users.look();
    assert!(users.session_ended(&ann, first) && users.session_ended(&ann, second));

    let third = sign_in("a good password").unwrap();
    users.end_session(&ann, third).unwrap();
    let fourth = sign_in("a good password").unwrap();
    assert!(!users.session_ended(&ann, fourth));
    users.set_enabled(&ann, false).unwrap();
    users.set_enabled(&ann, true).unwrap();
    let restarted = UserStore::open(directory.path()).unwrap();
    for ended in [first, second, third, fourth] {
        assert!(restarted.session_ended(&ann, ended));
    }
}
