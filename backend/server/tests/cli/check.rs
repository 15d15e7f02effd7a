//! `check` and `ls` on whole stores.

use super::harness::{SNAPSHOT, World, golden, text};

#[test]
fn a_good_store_with_its_key() {
    let world = World::new();
    for (store, key, files) in [
        ("store", "encryption-key.json", 19),
        ("real/store", "real/enc.key", 14),
    ] {
        let (store, key) = (golden().join(store), golden().join(key));
        let ran = world
            .run(&["check", text(&store), "--key-file", text(&key), "--json"])
            .ok();
        assert_eq!(ran.out().lines().count(), 1);
        let report = ran.json();
        assert_eq!(
            (&report["outcome"], &report["files_ok"]),
            (&"ok".into(), &files.into()),
            "{report}"
        );
        assert_eq!(
            (&report["files_failed"], &report["files_skipped"]),
            (&0.into(), &0.into())
        );
        assert!(report["bytes_total"].as_u64().unwrap() > 40_000_000);
    }
    let store = golden().join("store");
    let ran = world
        .run(&[
            "check",
            text(&store),
            "--key-file",
            text(&golden().join("encryption-key.json")),
        ])
        .ok();
    assert!(
        ran.out()
            .contains(&format!("ok    {SNAPSHOT} drive-scsi0.img.fidx (28.6 MiB)")),
        "{}",
        ran.out()
    );
    assert!(ran.out().lines().last().unwrap().starts_with("ok: "));
}

#[test]
fn without_the_key_it_is_incomplete() {
    let world = World::new();
    let store = golden().join("store");
    let ran = world.run(&["check", text(&store), "--json"]);
    let report = ran.json();
    assert_eq!(
        (ran.code, &report["outcome"]),
        (4, &"incomplete".into()),
        "{report}"
    );
    let skipped = report["skipped"].as_array().unwrap();
    assert_eq!(report["files_skipped"], skipped.len());
    assert!(
        skipped.iter().all(|finding| finding["code"] == "key-missing"),
        "{report}"
    );
    assert_eq!(report["snapshots_unfinished"], 1);
    let ran = world.run(&["check", text(&store), "--ns", "prod/db"]);
    assert_eq!(ran.code, 4);
    assert!(
        ran.out().contains("skip") && ran.out().contains("no key was given"),
        "{}",
        ran.out()
    );
}

#[test]
fn every_bad_file_is_named_and_the_others_are_checked() {
    let world = World::new();
    let store = world.copy_of("store");
    let web = "host/web1/2024-05-01T10:01:40Z";
    std::fs::write(store.join(SNAPSHOT).join("qemu-server.conf.blob"), "not a blob").unwrap();
    std::fs::write(store.join(web).join("index.json.blob"), "not a manifest").unwrap();
    let key = golden().join("encryption-key.json");
    let ran = world.run(&["check", text(&store), "--json", "--key-file", text(&key)]);
    let report = ran.json();
    assert_eq!((ran.code, &report["outcome"]), (4, &"failed".into()), "{report}");
    let failures = report["failures"].as_array().unwrap();
    let named: Vec<(&str, &str)> = failures
        .iter()
        .map(|finding| {
            (
                finding["snapshot"].as_str().unwrap(),
                finding["archive"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        named,
        [(web, "index.json.blob"), (SNAPSHOT, "qemu-server.conf.blob")]
    );
    assert!(
        failures
            .iter()
            .all(|finding| finding["message"].as_str().unwrap().contains(text(&store)))
    );
    assert_eq!(
        report["files_ok"],
        19 - 1 - 3,
        "what the broken manifest listed is not reachable"
    );
}

#[test]
fn a_chunk_gone_shows_where_it_is_missed() {
    let world = World::new();
    let store = world.copy_of("real/store");
    let index = std::fs::read(store.join("host/real1/2024-05-01T10:00:00Z/root.pxar.didx")).unwrap();
    let digest = hex::encode(&index[4096 + 8..4096 + 40]);
    std::fs::remove_file(store.join(".chunks").join(&digest[..4]).join(&digest)).unwrap();
    let ran = world.run(&[
        "check",
        text(&store),
        "--json",
        "--key-file",
        text(&golden().join("real/enc.key")),
    ]);
    assert_eq!(ran.code, 4);
    let failures = ran.json()["failures"].clone();
    let failures = failures.as_array().unwrap();
    assert!(!failures.is_empty());
    for finding in failures {
        assert_eq!(
            (&finding["code"], &finding["chunk"]),
            (&"chunk-missing".into(), &digest.as_str().into())
        );
        assert!(finding["position"].is_u64());
    }
}

#[test]
fn what_is_in_no_manifest_is_a_note() {
    let world = World::new();
    let store = world.copy_of("store");
    let snapshot = store.join(SNAPSHOT);
    // What a backup server leaves there is not remarked upon.
    for own in ["client.log.blob", ".protected", ".index.json.lck"] {
        std::fs::copy(snapshot.join("qemu-server.conf.blob"), snapshot.join(own)).unwrap();
    }
    let key = golden().join("encryption-key.json");
    let args = ["check", text(&store), "--key-file", text(&key)];
    let json = || world.run(&[&args[..], &["--json"]].concat()).ok().json();
    let report = json();
    assert_eq!(
        (&report["files_unlisted"], &report["unlisted"]),
        (&0.into(), &serde_json::json!([]))
    );
    for strange in ["drive-scsi9.img.fidx", "notes\u{1b}[2J"] {
        std::fs::write(snapshot.join(strange), "what is this?").unwrap();
    }
    let report = json();
    assert_eq!(
        (&report["outcome"], &report["files_unlisted"]),
        (&"ok".into(), &2.into()),
        "{report}"
    );
    assert_eq!(
        report["unlisted"][0],
        serde_json::json!({"ns": "", "snapshot": SNAPSHOT, "file": "drive-scsi9.img.fidx"})
    );
    let ran = world.run(&args).ok();
    for line in [
        format!("note  {SNAPSHOT} drive-scsi9.img.fidx: not in the manifest"),
        format!("note  {SNAPSHOT} notes\\u{{1b}}[2J: not in the manifest"),
        "2 files are in no manifest".to_owned(),
    ] {
        assert!(ran.out().contains(&line), "{line}: {}", ran.out());
    }
}

#[test]
fn listings_from_store_to_file() {
    let world = World::new();
    let store = text(&golden().join("store")).to_owned();
    let groups = world.run(&["ls", &store, "--json"]).ok().json();
    let names: Vec<&str> = groups["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["group"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["host/web1", "vm/100", "vm/101"]);
    assert_eq!(
        groups["namespaces"],
        serde_json::json!(["empty", "prod", "prod/db"])
    );
    // The newest snapshot is unfinished: no backup yet.
    assert_eq!(groups["groups"][1]["last_backup"], "2024-05-02T10:00:00Z");

    let snapshots = world.run(&["ls", &store, "vm/100", "--json"]).ok().json();
    let found: Vec<(&str, bool, bool)> = snapshots["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["snapshot"].as_str().unwrap(),
                one["finished"].as_bool().unwrap(),
                one["protected"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("vm/100/2024-05-03T10:00:00Z", false, false),
            ("vm/100/2024-05-02T10:00:00Z", true, true),
            ("vm/100/2024-05-01T10:00:00Z", true, false),
        ]
    );
    let files = world.run(&["ls", &store, SNAPSHOT, "--json"]).ok().json();
    let image = files["files"]
        .as_array()
        .unwrap()
        .iter()
        .find(|file| file["name"] == "drive-scsi0.img.fidx")
        .unwrap();
    assert_eq!(
        (&image["size"], &image["crypt_mode"]),
        (&30_015_488.into(), &"none".into())
    );

    let table = world.run(&["ls", &store, SNAPSHOT]).ok();
    assert!(
        table.out().contains("drive-scsi0.img.fidx") && table.out().contains("28.6 MiB"),
        "{}",
        table.out()
    );
    let table = world.run(&["ls", &store, "--ns", "prod"]).ok();
    assert!(
        table.out().contains("namespace prod/db") && table.out().contains("vm/200"),
        "{}",
        table.out()
    );
    world.run(&["ls", &store, "vm/999"]).fails(1, &["vm/999"]);
    world
        .run(&["ls", &store, "--ns", "nowhere"])
        .fails(1, &["nowhere"]);
    world.run(&["ls", &store, "vm"]).fails(2, &["vm/100"]);
}

#[test]
fn a_list_that_cannot_be_read_is_a_finding_and_the_rest_is_checked() {
    let world = World::new();
    let store = world.copy_of("store");
    std::fs::rename(store.join("host"), store.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", store.join("host")).unwrap();
    let key = golden().join("encryption-key.json");
    let args = ["check", text(&store), "--key-file", text(&key), "--json"];
    let ran = world.run(&args);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    let summary = ran.json();
    assert_eq!(summary["outcome"], "failed");
    assert!(summary["files_ok"].as_u64().unwrap() > 0, "{summary}");
    let failures = summary["failures"].as_array().unwrap();
    assert!(
        failures
            .iter()
            .any(|failure| failure["message"].as_str().unwrap().contains("host")),
        "{summary}"
    );
}
