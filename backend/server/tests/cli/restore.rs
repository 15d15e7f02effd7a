//! Targets, keys and reports of `restore`.

use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::harness::{
    ENCRYPTED, IMAGE, IMAGE_SHA256, Ran, SNAPSHOT, World, golden, restore_args, sha256, text,
};

fn store() -> String {
    text(&golden().join("store")).to_owned()
}

#[test]
fn a_file_is_sparse_and_the_report_says_what_was_done() {
    let world = World::new();
    let target = world.out("disk.raw");
    let (store, target_text) = (store(), text(&target).to_owned());
    let mut args = restore_args(&store, SNAPSHOT, IMAGE, &target_text);
    args.push("--json");
    let report = world.run(&args).ok().json();
    let fields = [
        ("store", Value::from(store.as_str())),
        ("ns", "".into()),
        ("snapshot", SNAPSHOT.into()),
        ("archive", IMAGE.into()),
        ("outcome", "ok".into()),
        ("bytes_total", 30_015_488.into()),
        ("chunks_total", 8.into()),
        ("parallel", 16.into()),
        (
            "index_csum",
            "4f3a9a285fee657ab8ba8f0aeaa5efacf38cebf29928ce243287c25ff83c1eae".into(),
        ),
        ("sha256", Value::Null),
        ("error", Value::Null),
        ("signature", "not-checked".into()),
    ];
    for (field, expected) in fields {
        assert_eq!(report[field], expected, "{field}");
    }
    let number = |field: &str| {
        report[field]
            .as_u64()
            .unwrap_or_else(|| panic!("{field} is a whole number: {report}"))
    };
    assert_eq!(number("bytes_written") + number("zero_bytes"), 30_015_488);
    assert!(number("zero_bytes") > 0 && number("duration_ns") > 0 && number("cpu_ns") > 0);
    assert_eq!(
        number("chunks_fetched"),
        number("chunks_distinct"),
        "each distinct chunk is fetched once"
    );
    assert!(number("encoded_bytes_read") > 0 && report["rate_bytes_per_s"].as_f64().unwrap() > 0.0);
    let metadata = std::fs::metadata(&target).unwrap();
    assert_eq!(metadata.len(), 30_015_488);
    assert!(metadata.blocks() * 512 < metadata.len(), "zeros are holes");
}

#[test]
fn names_are_accepted_with_and_without_extension() {
    let world = World::new();
    let store = store();
    for (given, expected) in [
        ("drive-scsi0.img", "drive-scsi0.img.fidx"),
        ("drive-scsi0", "drive-scsi0.img.fidx"),
        ("qemu-server.conf", "qemu-server.conf.blob"),
        ("client.log", "client.log.blob"),
        ("index.json.blob", "index.json.blob"),
    ] {
        let mut args = restore_args(&store, SNAPSHOT, given, "null");
        args.push("--json");
        assert_eq!(world.run(&args).ok().json()["archive"], expected);
    }
}

#[test]
fn stdout_gets_the_bytes_and_nothing_else() {
    let world = World::new();
    let store = store();
    for parallel in ["1", "16"] {
        let mut args = restore_args(&store, SNAPSHOT, IMAGE, "-");
        args.extend(["--sha256", "--parallel", parallel]);
        let ran = world.run(&args).ok();
        assert_eq!(sha256(&ran.stdout), IMAGE_SHA256);
        assert!(
            ran.stderr.contains(&format!("sha256 {IMAGE_SHA256}")),
            "{}",
            ran.stderr
        );
    }
    let ran = world
        .run(&restore_args(&store, SNAPSHOT, "qemu-server.conf", "-"))
        .ok();
    assert_eq!(
        sha256(&ran.stdout),
        "897e53d609e11d071be164d69315cb0e91a7a180fb5b4e86af005e078483806e"
    );
}

#[test]
fn a_reader_of_stdout_that_goes_away_is_a_failure() {
    let world = World::new();
    let store = store();
    let mut child = world
        .command(&restore_args(&store, SNAPSHOT, IMAGE, "-"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    Ran::from(child.wait_with_output().unwrap()).fails(1, &["cannot write to stdout", "Broken pipe"]);
}

#[test]
fn null_reads_everything_and_writes_nothing() {
    let world = World::new();
    let store = store();
    let mut args = restore_args(&store, SNAPSHOT, IMAGE, "null");
    args.extend(["--sha256", "--json"]);
    assert_eq!(world.run(&args).ok().json()["sha256"], IMAGE_SHA256);
    assert!(!world.path("null").exists());
}

#[test]
fn an_existing_file_is_refused_and_replaced_only_when_asked() {
    let world = World::new();
    let store = store();
    let target = world.write("out/disk.raw", "precious");
    let args = restore_args(&store, SNAPSHOT, IMAGE, text(&target));
    world.run(&args).fails(1, &["disk.raw exists already"]);
    assert_eq!(std::fs::read(&target).unwrap(), b"precious");
    let mut args = args.clone();
    args.push("--overwrite");
    world.run(&args).ok();
    assert_eq!(sha256(&std::fs::read(&target).unwrap()), IMAGE_SHA256);
    assert_eq!(world.out_files(), ["disk.raw"]);
}

#[test]
fn key_files_with_and_without_password() {
    let world = World::new();
    let store = store();
    let key = |name: &str| text(&golden().join(name)).to_owned();
    let (plain, scrypt, other) = (
        key("encryption-key.json"),
        key("encryption-key-scrypt.json"),
        key("real/enc.key"),
    );
    let good = text(&world.write("good", "golden-pass\n")).to_owned();
    let bad = text(&world.write("bad", "golden-pas\n")).to_owned();
    let base = restore_args(&store, ENCRYPTED, "drive-virtio0.img", "null");
    let with = |extra: &[&str]| world.run(&[&base, extra].concat());
    let digest = "9181e16b34239cd44bd62f1191e0acb57dcdd70f611f2cd79755c5e7886cc14c";

    let sum = |ran: Ran| ran.ok().json()["sha256"].as_str().unwrap().to_owned();
    assert_eq!(sum(with(&["--sha256", "--json", "--key-file", &plain])), digest);
    assert_eq!(
        sum(with(&[
            "--sha256",
            "--json",
            "--key-file",
            &scrypt,
            "--key-password-file",
            &good
        ])),
        digest
    );
    let mut command = world.command(&[&base[..], &["--sha256", "--json", "--key-file", &scrypt]].concat());
    command.env("FLEETHOLD_KEY_PASSWORD", "golden-pass");
    assert_eq!(sum(Ran::of(command)), digest);

    with(&[]).fails(1, &["drive-virtio0.img.fidx", "encrypted and no key was given"]);
    with(&["--key-file", &scrypt]).fails(
        1,
        &[
            "encryption-key-scrypt.json",
            "needs its password",
            "the test password",
        ],
    );
    with(&["--key-file", &scrypt, "--key-password-file", &bad]).fails(1, &["wrong passphrase"]);
    with(&["--key-file", "/nonexistent/key"]).fails(1, &["key file /nonexistent/key", "No such file"]);
    with(&["--key-file", &good]).fails(1, &["cannot use", ": key file: "]);
    let refused = with(&["--json", "--key-file", &other])
        .fails(1, &["c1:f1:bd:a5"])
        .json();
    assert_eq!(
        (&refused["error"]["code"], &refused["outcome"]),
        (&"wrong-key".into(), &"failed".into())
    );
}

#[test]
fn memory_and_parallelism_do_not_change_the_bytes() {
    let world = World::new();
    let store = store();
    for (parallel, memory) in [("1", "64MiB"), ("3", "512MiB"), ("64", "67108864")] {
        let mut args = restore_args(&store, SNAPSHOT, IMAGE, "out/disk.raw");
        args.extend([
            "--overwrite",
            "--json",
            "--sha256",
            "--parallel",
            parallel,
            "--memory",
            memory,
        ]);
        let report = world.run(&args).ok().json();
        assert_eq!(report["sha256"], IMAGE_SHA256);
        assert_eq!(report["parallel"].to_string(), parallel);
    }
}

#[test]
fn progress_is_json_lines_on_stderr() {
    let world = World::new();
    let store = store();
    let mut args = restore_args(&store, SNAPSHOT, IMAGE, "null");
    args.extend(["--progress", "json", "--json"]);
    let ran = world.run(&args).ok();
    assert_eq!(ran.out().lines().count(), 1);
    let last: Value = serde_json::from_str(ran.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["bytes_done"], &last["bytes_total"]),
        (&30_015_488.into(), &30_015_488.into())
    );
    assert_eq!(last["archive"], "drive-scsi0.img");
}

#[test]
fn an_interrupt_leaves_no_file() {
    let world = World::new();
    let store = store();
    for (signal, name) in [
        (rustix::process::Signal::INT, "int"),
        (rustix::process::Signal::TERM, "term"),
    ] {
        let target = text(&world.out(name)).to_owned();
        let mut args = restore_args(&store, SNAPSHOT, IMAGE, &target);
        args.extend(["--simulate-latency", "10m", "--json"]);
        let child = world
            .command(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The temporary file stands there once signals are listened to.
        let mut looks = 0;
        while world.out_files().is_empty() {
            looks += 1;
            assert!(looks < 12_000, "the restore starts within a minute");
            std::thread::sleep(Duration::from_millis(5));
        }
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap()).fails(130, &["cancelled"]);
        assert_eq!(ran.json()["outcome"], "cancelled");
        assert_eq!(world.out_files(), Vec::<String>::new());
    }
}

#[test]
fn a_configured_name_is_enough_and_maintenance_is_respected() {
    let world = World::new();
    let store = store();
    world.run(&["store", "add", "golden", &store]).ok();
    let mut args = restore_args("golden", SNAPSHOT, IMAGE, "null");
    args.extend(["--sha256", "--json"]);
    let report = world.run(&args).ok().json();
    assert_eq!(
        (&report["store"], &report["sha256"]),
        (&"golden".into(), &IMAGE_SHA256.into())
    );

    let config = world.path("state/etc/datastore.cfg");
    let text = std::fs::read_to_string(&config).unwrap() + "\tmaintenance-mode offline,message=moving\n";
    std::fs::write(&config, &text).unwrap();
    let refused = world
        .run(&args)
        .fails(1, &["golden", "offline maintenance mode: moving"])
        .json();
    assert_eq!(refused["error"]["code"], "not-started");
    std::fs::write(&config, text.replace("offline", "read-only")).unwrap();
    world.run(&args).ok();
}
