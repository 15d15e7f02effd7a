//! `store`, `user`, `config` and `fixture`.

use serde_json::Value;

use super::harness::{Ran, World, golden, restore_args, text};

#[test]
fn stores_are_added_listed_and_removed() {
    let world = World::new();
    let (store, real) = (
        text(&golden().join("store")).to_owned(),
        text(&golden().join("real/store")).to_owned(),
    );
    assert_eq!(
        world.run(&["store", "list", "--json"]).ok().json()["stores"],
        Value::Array(Vec::new())
    );
    world
        .run(&["store", "add", "main", &store, "--comment", "the first one"])
        .ok();
    world.run(&["store", "add", "real", &real]).ok();
    let list = world.run(&["store", "list", "--json"]).ok().json();
    assert_eq!(list["stores"][0]["name"], "main");
    assert_eq!(
        (&list["stores"][0]["path"], &list["stores"][0]["comment"]),
        (&store.as_str().into(), &"the first one".into())
    );
    assert_eq!(list["stores"][1]["name"], "real");
    let table = world.run(&["store", "list"]).ok();
    assert_eq!(table.out().lines().count(), 3);
    assert_eq!(
        world.run(&["ls", "--json"]).ok().json()["stores"][1]["name"],
        "real"
    );

    world
        .run(&["store", "add", "main", &real])
        .fails(1, &["main already exists"]);
    world
        .run(&["store", "add", "other", &store])
        .fails(1, &["that of datastore main already"]);
    world
        .run(&["store", "add", "other", text(golden())])
        .fails(1, &["other", ".chunks"]);
    world
        .run(&["store", "add", "other", "/nonexistent/store"])
        .fails(1, &["/nonexistent/store"]);
    world
        .run(&["store", "remove", "other"])
        .fails(1, &["no such datastore: other"]);
    world.run(&["store", "remove", "main"]).ok();
    assert_eq!(
        world.run(&["store", "list", "--json"]).ok().json()["stores"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert!(golden().join("store/.chunks").is_dir());
}

#[test]
fn users_with_passwords_that_never_stand_in_the_arguments() {
    let world = World::new();
    let file = world.write("password", "correct horse battery\n");
    world
        .run(&[
            "user",
            "add",
            "ann@pbs",
            "--password-file",
            text(&file),
            "--comment",
            "accounting",
        ])
        .ok();
    let mut command = world.command(&["user", "add", "bob@pbs", "--admin"]);
    command.env("FLEETHOLD_PASSWORD", "another good one");
    Ran::of(command).ok();
    let hashes = std::fs::read_to_string(world.path("state/etc/shadow.json")).unwrap();
    assert!(hashes.contains("$argon2id$") && !hashes.contains("horse"));
    assert_eq!(
        std::fs::read_to_string(world.path("state/etc/acl.cfg")).unwrap(),
        "acl:1:/:bob@pbs:Admin\n"
    );

    world
        .run(&["user", "add", "cat@pbs"])
        .fails(1, &["no password for cat@pbs", "--password-file"]);
    world
        .run(&["user", "add", "ann@pbs", "--password-file", text(&file)])
        .fails(1, &["ann@pbs already exists"]);
    world
        .run(&["user", "add", "cat@pam", "--password-file", text(&file)])
        .fails(1, &["expected realm pbs"]);
    let short = world.write("short", "short");
    world
        .run(&["user", "passwd", "ann@pbs", "--password-file", text(&short)])
        .fails(1, &["8 to 64 characters"]);
    world
        .run(&["user", "passwd", "nobody@pbs", "--password-file", text(&file)])
        .fails(1, &["no such user"]);
    world
        .run(&["user", "passwd", "bob@pbs", "--password-file", text(&file)])
        .ok();
    assert_ne!(
        std::fs::read_to_string(world.path("state/etc/shadow.json")).unwrap(),
        hashes
    );

    world.run(&["user", "disable", "ann@pbs"]).ok();
    let list = world.run(&["user", "list", "--json"]).ok().json();
    assert_eq!(
        (&list["users"][0]["id"], &list["users"][0]["enabled"]),
        (&"ann@pbs".into(), &false.into())
    );
    assert_eq!(list["users"][0]["comment"], "accounting");
    world.run(&["user", "enable", "ann@pbs"]).ok();
    let table = world.run(&["user", "list"]).ok();
    assert!(
        table.out().lines().nth(1).unwrap().starts_with("ann@pbs  yes"),
        "{}",
        table.out()
    );
    world.run(&["user", "remove", "ann@pbs"]).ok();
    world
        .run(&["user", "remove", "ann@pbs"])
        .fails(1, &["no such user: ann@pbs"]);
}

#[test]
fn settings_with_their_origin() {
    let world = World::new();
    std::fs::create_dir_all(world.path("state/etc")).unwrap();
    world.write("state/etc/fleethold.toml", "parallel = 4\nmemory = \"100MiB\"\n");
    let mut command = world.command(&["config", "show", "--json", "--listen", "127.0.0.1:9000"]);
    command
        .env("FLEETHOLD_MEMORY", "1GiB")
        .env("DATABASE_URL", "postgres://ann:s3cret@db/fleet")
        .env(
            "FLEETHOLD_BENCH_WEBHOOK",
            "https://chat.example/hooks/s3cret?key=s3cret",
        )
        .env("FLEETHOLD_BENCH_KEEP_DAYS", "0");
    let ran = Ran::of(command).ok();
    let shown = ran.json();
    let file = world.path("state/etc/fleethold.toml");
    for (key, value, origin) in [
        ("listen", Value::from("127.0.0.1:9000"), "flag --listen"),
        ("memory_bytes", (1u64 << 30).into(), "variable FLEETHOLD_MEMORY"),
        ("default_parallel", 4.into(), text(&file)),
        (
            "database_url",
            "postgres://ann:***@db/fleet".into(),
            "variable DATABASE_URL",
        ),
        ("tls_cert", Value::Null, "default"),
        ("bench_keep_days", 0.into(), "variable FLEETHOLD_BENCH_KEEP_DAYS"),
        (
            "bench_webhook",
            "https://chat.example/***".into(),
            "variable FLEETHOLD_BENCH_WEBHOOK",
        ),
    ] {
        assert_eq!(
            (&shown[key]["value"], &shown[key]["origin"]),
            (&value, &origin.into()),
            "{key}"
        );
    }
    assert!(!ran.out().contains("s3cret"));
    let table = world.run(&["config", "show"]).ok();
    let line = table
        .out()
        .lines()
        .find(|line| line.starts_with("default_parallel"))
        .unwrap();
    assert!(line.contains(" 4 ") && line.ends_with("fleethold.toml"), "{line}");
}

#[test]
fn logs_are_json_when_asked() {
    let world = World::new();
    let store = text(&golden().join("store")).to_owned();
    let mut args = vec!["--log", "info", "--log-format", "json"];
    args.extend(restore_args(
        &store,
        super::harness::SNAPSHOT,
        "qemu-server.conf",
        "null",
    ));
    let ran = world.run(&args).ok();
    let line: Value = serde_json::from_str(ran.stderr.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&line["level"], &line["message"]),
        (&"INFO".into(), &"snapshot opened".into()),
        "{line}"
    );
    world
        .run(&["--log", "=loud=", "store", "list"])
        .fails(3, &["--log", "=loud="]);
}

#[test]
fn an_image_is_made_once_and_restores() {
    let world = World::new();
    let image = text(&world.path("image")).to_owned();
    let make = [
        "fixture", "image", "--size", "9MiB", "--seed", "3", "--dir", &image, "--json",
    ];
    assert_eq!(world.run(&make).ok().json()["outcome"], "created");
    assert_eq!(world.run(&make).ok().json()["outcome"], "unchanged");
    let checked = world.run(&["check", &image, "--json"]).ok().json();
    assert!(checked["bytes_total"].as_u64().unwrap() >= 9 << 20, "{checked}");
    world
        .run(&[
            "fixture",
            "image",
            "--size",
            "9MiB",
            "--dir",
            text(&world.path("out/../state")),
            "--mix",
            "100,0,0",
        ])
        .ok();
    world.write("out/precious", "mine");
    world
        .run(&["fixture", "image", "--size", "9MiB", "--dir", "out"])
        .fails(1, &["out"]);
    assert_eq!(world.out_files(), ["precious"]);
}

#[test]
fn a_fleet_restores_to_the_digests_it_lists() {
    let world = World::new();
    let fleet = world.path("fleet");
    // A seed whose images are small.
    world
        .run(&[
            "fixture",
            "fleet",
            "--stores",
            "2",
            "--seed",
            "2",
            "--dir",
            text(&fleet),
        ])
        .ok();
    let listed: Value = serde_json::from_slice(&std::fs::read(fleet.join("fleet.json")).unwrap()).unwrap();
    let stores = listed["stores"].as_array().unwrap();
    assert_eq!(stores.len(), 2);
    for store in stores {
        for archive in store["archives"].as_array().unwrap() {
            let word = |field: &str| archive[field].as_str().unwrap();
            let name = store["name"].as_str().unwrap();
            let mut args = vec!["--config-dir", text(&fleet)];
            args.extend(restore_args(name, word("snapshot"), word("archive"), "null"));
            args.extend(["--ns", word("ns"), "--sha256", "--json"]);
            let report = world.run(&args).ok().json();
            assert_eq!(
                (&report["sha256"], &report["bytes_total"]),
                (&archive["sha256"], &archive["size"]),
                "{report}"
            );
        }
        assert!(store["snapshots"].as_u64().unwrap() >= 3 && store["groups"].as_u64().unwrap() >= 2);
    }
}
