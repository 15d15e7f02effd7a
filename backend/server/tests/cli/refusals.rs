//! What is asked for wrongly: the exit code, and a sentence that names it.

use super::harness::{IMAGE, SNAPSHOT, World, golden, restore_args, text};

#[test]
fn what_does_not_exist() {
    let world = World::new();
    let store = text(&golden().join("store")).to_owned();
    let other = text(&golden().join("real")).to_owned();
    for (args, words) in [
        (
            restore_args("nowhere", SNAPSHOT, IMAGE, "null"),
            &["no such datastore: nowhere", "datastore.cfg"][..],
        ),
        (
            restore_args("/nonexistent/store", SNAPSHOT, IMAGE, "null"),
            &["/nonexistent/store"],
        ),
        (
            restore_args(&other, SNAPSHOT, IMAGE, "null"),
            &["real", ".chunks"],
        ),
        (
            restore_args(&store, "vm/999/2024-05-01T10:00:00Z", IMAGE, "null"),
            &["vm/999/2024-05-01T10:00:00Z"],
        ),
        (
            restore_args(&store, "vm/100/2024-05-03T10:00:00Z", IMAGE, "null"),
            &["vm/100/2024-05-03T10:00:00Z", "unfinished"],
        ),
        (
            restore_args(&store, SNAPSHOT, "drive-scsi9.img", "null"),
            &["drive-scsi9.img"],
        ),
        (
            restore_args(&store, SNAPSHOT, "../../../etc/passwd", "null"),
            &["etc/passwd"],
        ),
        (restore_args(&store, SNAPSHOT, ".chunks", "null"), &[".chunks"]),
        (
            restore_args(&store, SNAPSHOT, IMAGE, "out/missing/disk.raw"),
            &["out/missing/disk.raw", "No such file"],
        ),
        (restore_args(&store, SNAPSHOT, IMAGE, "out"), &["target out"]),
        (
            restore_args(&store, SNAPSHOT, IMAGE, "/dev/null"),
            &["/dev/null", "expected a block device", "--to null"],
        ),
        (
            restore_args(&store, SNAPSHOT, IMAGE, "/dev/nonexistent0"),
            &["/dev/nonexistent0", "expected a block device"],
        ),
    ] {
        world.run(&args).fails(1, words);
        let json = world.run(&[&args[..], &["--json"]].concat()).json();
        assert_eq!(json["outcome"], "failed", "{args:?}");
        assert!(json["error"]["message"].as_str().unwrap().len() > 10 && json["error"]["code"].is_string());
        assert!(world.out_files().is_empty());
    }
    let mut args = restore_args(&store, SNAPSHOT, IMAGE, "null");
    args.extend(["--ns", "no/where"]);
    world.run(&args).fails(1, &["no/where"]);
    assert!(!std::path::Path::new("/dev/nonexistent0").exists());
}

#[test]
fn what_cannot_be_meant() {
    let world = World::new();
    let base = restore_args("store", SNAPSHOT, IMAGE, "null");
    let with = |extra: &[&'static str]| [&base[..], extra].concat();
    for (args, word) in [
        (
            restore_args("store", "vm/100", IMAGE, "null"),
            "--snapshot vm/100: expected type, id and time, such as vm/100/2024",
        ),
        (
            restore_args("store", "vm/../../x/2024-05-01T10:00:00Z", IMAGE, "null"),
            "--snapshot",
        ),
        (
            restore_args("store", "vm/100/yesterday", IMAGE, "null"),
            "such as vm/100/2024-05-01T10:00:00Z",
        ),
        (restore_args("store", SNAPSHOT, IMAGE, ""), "--to"),
        (with(&["--ns", "../prod"]), "--ns"),
        (with(&["--ns", "a/b/c/d/e/f/g/h/i"]), "--ns"),
        (with(&["--simulate-latency", "20"]), "expected a duration"),
        (with(&["--parallel", "many"]), "--parallel"),
        (with(&["--progress", "loud"]), "--progress"),
        (with(&["--key-password-file", "x"]), "--key-file"),
        (with(&["--colour"]), "--colour"),
        (
            [&restore_args("store", SNAPSHOT, IMAGE, "-")[..], &["--json"]].concat(),
            "both want stdout",
        ),
        (vec!["restore"], "--store"),
        (
            vec!["fixture", "image", "--dir", "x", "--size", "1 GB and more"],
            "expected a size",
        ),
        (
            vec![
                "fixture", "image", "--dir", "x", "--size", "1GiB", "--mix", "1,2,3",
            ],
            "add up to 100",
        ),
        (vec!["store", "add", "no/name", "/srv"], "datastore name"),
        (vec!["user", "add", "ann"], "user id"),
        (vec!["frobnicate"], "frobnicate"),
        (vec![], "Usage"),
    ] {
        let ran = world.run(&args).fails(2, &[word]);
        assert_eq!(ran.out(), "", "{args:?}");
    }
    // A group without a time: nothing is chosen, but named.
    let store = text(&golden().join("store")).to_owned();
    let newest = "of the group: vm/100/2024-05-02T10:00:00Z, vm/100/2024-05-01T10:00:00Z";
    world
        .run(&restore_args(&store, "vm/100", IMAGE, "null"))
        .fails(2, &[newest]);
    for (memory, parallel, word) in [
        ("1MiB", "1", "at least 64MiB"),
        ("1GiB", "0", "from 1 to 1024"),
        ("lots", "1", "a size"),
    ] {
        world
            .run(&with(&["--memory", memory, "--parallel", parallel]))
            .fails(2, &[word]);
    }
}

#[test]
fn what_is_wrong_with_a_key_file_is_said_once() {
    let world = World::new();
    let store = text(&golden().join("store")).to_owned();
    let key = world.write("key.json", "not a key");
    let mut args = restore_args(&store, SNAPSHOT, IMAGE, "null");
    args.extend(["--key-file", text(&key)]);
    let ran = world.run(&args).fails(1, &["key.json: key file: "]);
    assert_eq!(ran.stderr.matches("key file").count(), 1, "{}", ran.stderr);
    args.pop();
    args.push("no-such-key");
    let ran = world.run(&args).fails(1, &["cannot read key file no-such-key"]);
    assert_eq!(ran.stderr.matches("key file").count(), 1, "{}", ran.stderr);
}

#[test]
fn a_broken_set_up_is_said_to_be_one() {
    let world = World::new();
    std::fs::create_dir_all(world.path("state/etc")).unwrap();
    world.write("state/etc/datastore.cfg", "datastore: main\n\tpath relative\n");
    world
        .run(&["store", "list"])
        .fails(3, &["datastore.cfg: line 2", "expected an absolute path"]);
    world.run(&["ls"]).fails(3, &["datastore.cfg: line 2"]);
    world
        .run(&restore_args("main", SNAPSHOT, IMAGE, "null"))
        .fails(3, &["datastore.cfg: line 2"]);
    world.write("state/etc/user.cfg", "nonsense\n");
    world.run(&["user", "list"]).fails(3, &["user.cfg"]);
    world.write("state/etc/fleethold.toml", "listen = \"everywhere\"\n");
    world
        .run(&["config", "show"])
        .fails(3, &["listen", "fleethold.toml", "everywhere"]);
    world.write("state/etc/fleethold.toml", "colour = 1\n");
    world
        .run(&["config", "show"])
        .fails(3, &["fleethold.toml: line 1", "colour"]);
}

#[test]
fn every_command_explains_itself_with_examples() {
    let world = World::new();
    for command in [
        &["serve"][..],
        &["restore"],
        &["check"],
        &["ls"],
        &["store", "add"],
        &["store", "list"],
        &["store", "remove"],
        &["user", "create"],
        &["user", "list"],
        &["user", "update"],
        &["user", "passwd"],
        &["user", "delete"],
        &["user", "enable"],
        &["user", "disable"],
        &["token", "list"],
        &["token", "create"],
        &["token", "update"],
        &["token", "regenerate"],
        &["token", "delete"],
        &["acl", "list"],
        &["acl", "set"],
        &["acl", "delete"],
        &["fixture", "fleet"],
        &["fixture", "image"],
        &["config", "show"],
        &[],
    ] {
        let ran = world.run(&[command, &["--help"]].concat()).ok();
        let example = format!("  fleethold {}", command.join(" "));
        assert!(
            ran.out().contains("Examples:") && ran.out().contains(&example),
            "{command:?}: {}",
            ran.out()
        );
    }
    for command in ["passwd", "disable"] {
        let help = world.run(&["user", command, "--help"]).ok();
        assert!(help.out().contains("sessions"), "{command}: {}", help.out());
    }
    assert!(world.run(&["--version"]).ok().out().starts_with("fleethold "));
}
