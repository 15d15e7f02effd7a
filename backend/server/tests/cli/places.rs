//! Sources and targets of other kinds than a folder on a writable disk with room: mounts, devices, taken ports.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::harness::{IMAGE, IMAGE_SHA256, Ran, SNAPSHOT, World, golden, restore_args, sha256, text};

/// Runs the binary in a mount namespace of its own, between two shell scripts that have `place` as `$place`; `None`
/// where such namespaces are not allowed.
fn run_mounted(world: &World, place: &Path, before: &str, args: &[&str], after: &str) -> Option<Ran> {
    let inside = world.command(args);
    let mut command = Command::new("unshare");
    command
        .args(["--map-root-user", "--mount", "sh", "-c"])
        .arg(format!(
            "{before} || exit 77; \"$@\"; code=$?; {after}; exit $code"
        ))
        .arg("sh")
        .arg(inside.get_program())
        .args(inside.get_args())
        .env("place", place)
        .env("FLEETHOLD_STATE_DIR", world.path("state"))
        .env("FLEETHOLD_RUN_DIR", world.path("run"));
    let ran = Ran::of(command);
    if ran.code == 77 || ran.stderr.contains("unshare failed") {
        println!("not tested, no mount namespace here: {}", ran.stderr);
        return None;
    }
    Some(ran)
}

#[test]
fn a_store_on_a_read_only_mount_restores() {
    let world = World::new();
    let store = world.copy_of("store");
    let target = world.out("disk.raw");
    let read_only =
        r#"mount --bind "$place" "$place" && mount -o remount,bind,ro "$place" && ! touch "$place/new" 2>&-"#;
    let args = restore_args(text(&store), SNAPSHOT, IMAGE, text(&target));
    if let Some(ran) = run_mounted(&world, &store, read_only, &args, "true") {
        ran.ok();
        assert_eq!(sha256(&std::fs::read(&target).unwrap()), IMAGE_SHA256);
    }
}

#[test]
fn a_full_disk_is_named_and_nothing_stays() {
    let world = World::new();
    let store = golden().join("store");
    let (out, target) = (world.path("out"), world.out("disk.raw"));
    let args = restore_args(text(&store), SNAPSHOT, IMAGE, text(&target));
    let small = r#"mount -t tmpfs -o size=4m tmpfs "$place""#;
    // What the mount holds is gone with its namespace: so it is listed inside.
    let list = r#"ls -A "$place" >"$place/../left""#;
    if let Some(ran) = run_mounted(&world, &out, small, &args, list) {
        ran.fails(1, &["no space left", "disk.raw", SNAPSHOT]);
        assert_eq!(
            std::fs::read_to_string(world.path("left")).unwrap(),
            "",
            "left in the target's folder"
        );
    }
}

/// A loop device over a file; detached when dropped.
struct Loop {
    device: PathBuf,
}

impl Loop {
    fn attach(file: &Path) -> Option<Self> {
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(file)
            .output();
        match output {
            Ok(output) if output.status.success() => Some(Self {
                device: String::from_utf8(output.stdout).unwrap().trim().into(),
            }),
            other => {
                println!("not tested, no loop device here: {other:?}");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let detached = Command::new("losetup").arg("--detach").arg(&self.device).status();
        assert!(
            detached.is_ok_and(|status| status.success()),
            "{} stays",
            self.device.display()
        );
    }
}

const IMAGE_BYTES: usize = 30_015_488;

#[test]
fn a_block_device_holds_the_image_and_its_zeros_are_written() {
    let world = World::new();
    let store = golden().join("store");
    let disk = world.write("disk", vec![0xa5; IMAGE_BYTES + (1 << 20)]);
    let Some(device) = Loop::attach(&disk) else { return };
    let args = restore_args(text(&store), SNAPSHOT, IMAGE, text(&device.device));
    world.run(&args).ok();
    let written = std::fs::read(&disk).unwrap();
    assert_eq!(sha256(&written[..IMAGE_BYTES]), IMAGE_SHA256);
    assert!(
        written[IMAGE_BYTES..].iter().all(|byte| *byte == 0xa5),
        "nothing behind the image"
    );
}

#[test]
fn a_block_device_that_is_too_small_is_left_alone() {
    let world = World::new();
    let store = golden().join("store");
    let disk = world.write("disk", vec![0xa5; 1 << 20]);
    let Some(device) = Loop::attach(&disk) else { return };
    let args = restore_args(text(&store), SNAPSHOT, IMAGE, text(&device.device));
    world
        .run(&args)
        .fails(1, &[text(&device.device), "30015488", "1048576"]);
    assert_eq!(std::fs::read(&disk).unwrap(), vec![0xa5; 1 << 20]);
}

#[test]
fn a_taken_port_is_named_and_no_database_stays() {
    let world = World::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    world
        .run(&["serve", "--listen", &address])
        .fails(1, &["cannot listen on", &address, "in use"]);
    assert!(!world.path("state/pg/postmaster.pid").exists());
}
