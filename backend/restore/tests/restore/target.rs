//! Targets: names, roots, devices, a full disk.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use fleethold_restore::{
    DeviceOptions, DeviceSink, FileOptions, FileSink, RestoreRoot, Sink, StreamSink, TargetError,
};

use crate::support::{Image, engine, names};

const MIB: usize = 1 << 20;

/// Data, zeros, data, and a short tail of zeros.
fn sparse() -> Image {
    let mut bytes = vec![7; MIB];
    bytes.extend_from_slice(&vec![0; 8 * MIB]);
    bytes.extend_from_slice(&vec![9; MIB]);
    bytes.extend_from_slice(&vec![0; 12_345]);
    Image::fixed(bytes, MIB as u64)
}

#[tokio::test(flavor = "multi_thread")]
async fn zeros_become_holes_and_the_size_is_exact() {
    let image = sparse();
    let directory = tempfile::tempdir().expect("a directory");
    let target = directory.path().join("image");
    let sink = FileSink::create(&target, FileOptions::default()).expect("a file");
    let report = engine()
        .execute(image.request(Sink::File(sink)))
        .await
        .expect("a restore");
    assert_eq!(report.bytes_written, 2 * MIB as u64);
    assert_eq!(report.zero_bytes, 8 * MIB as u64 + 12_345);
    assert_eq!(fs::read(&target).expect("the file"), image.bytes);
    let metadata = fs::metadata(&target).expect("metadata");
    assert_eq!(metadata.len(), image.bytes.len() as u64);
    assert!(
        metadata.blocks() * 512 < 4 * MIB as u64,
        "{} blocks",
        metadata.blocks()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_existing_target_is_kept_unless_overwriting_is_asked_for() {
    let image = sparse();
    let directory = tempfile::tempdir().expect("a directory");
    let target = directory.path().join("image");
    fs::write(&target, "precious").expect("a file");
    let refused = FileSink::create(&target, FileOptions::default()).expect_err("an existing file");
    assert_eq!(refused.code(), "target-exists");

    let sink = FileSink::create(&target, FileOptions { overwrite: true }).expect("a file");
    assert_eq!(
        fs::read(&target).expect("the file"),
        b"precious",
        "until the new one is complete"
    );
    engine()
        .execute(image.request(Sink::File(sink)))
        .await
        .expect("a restore");
    assert_eq!(
        fs::read(&target).expect("the file"),
        image.bytes,
        "no byte of the old one"
    );

    for (name, make) in [
        ("link", link as fn(&Path)),
        ("directory", |path| fs::create_dir(path).expect("a directory")),
    ] {
        let path = directory.path().join(name);
        make(&path);
        let refused = FileSink::create(&path, FileOptions { overwrite: true }).expect_err(name);
        assert_eq!(refused.code(), "target-unsuitable", "{name}");
    }
}

fn link(path: &Path) {
    symlink("/etc/hostname", path).expect("a link");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_appears_during_the_restore_is_not_replaced() {
    let image = sparse();
    let directory = tempfile::tempdir().expect("a directory");
    let target = directory.path().join("image");
    let sink = FileSink::create(&target, FileOptions::default()).expect("a file");
    fs::write(&target, "somebody else's").expect("a file");
    let error = engine()
        .execute(image.request(Sink::File(sink)))
        .await
        .expect_err("a taken name");
    assert_eq!(error.code(), "target-exists");
    assert_eq!(fs::read(&target).expect("the file"), b"somebody else's");
    assert_eq!(names(directory.path()), ["image"]);
}

#[test]
fn a_sink_that_is_never_used_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let long = "x".repeat(255);
    for name in ["image", long.as_str()] {
        let sink = FileSink::create(&directory.path().join(name), FileOptions::default()).expect("a file");
        let temporary = names(directory.path()).pop().expect("a temporary file");
        assert!(
            temporary.starts_with('.') && temporary.ends_with(".part"),
            "{temporary}"
        );
        assert_eq!(sink.temporary_path(), directory.path().join(temporary));
        drop(sink);
        assert_eq!(names(directory.path()), Vec::<String>::new());
    }
}

#[test]
fn a_root_confines_targets() {
    let directory = tempfile::tempdir().expect("a directory");
    let (root, outside) = (directory.path().join("root"), directory.path().join("outside"));
    fs::create_dir_all(root.join("vm/100")).expect("directories");
    fs::create_dir(&outside).expect("a directory");
    symlink(&outside, root.join("way-out")).expect("a link");
    symlink("vm", root.join("inside")).expect("a link");
    let root_handle = RestoreRoot::open(&root).expect("a root");

    for target in ["image", "vm/100/image", "./vm/image"] {
        let place = root_handle.resolve(Path::new(target)).expect(target);
        drop(FileSink::create_in(place, FileOptions::default()).expect(target));
    }
    let place = root_handle
        .resolve(&root.join("vm/image"))
        .expect("an absolute path inside");
    assert_eq!(place.path(), root.join("vm/image"));

    for target in [
        "../image",
        "vm/../../image",
        "way-out/image",
        "inside/image",
        "/etc/image",
    ] {
        let refused = root_handle.resolve(Path::new(target)).expect_err(target);
        assert_eq!(refused.code(), "target-outside-root", "{target}: {refused}");
    }
    for target in ["", ".", "vm/", "vm/."] {
        let refused = root_handle.resolve(Path::new(target)).expect_err(target);
        assert_eq!(refused.code(), "target-unsuitable", "{target}: {refused}");
    }
    let missing = root_handle
        .resolve(Path::new("no/such/image"))
        .expect_err("no directory");
    assert!(matches!(missing, TargetError::Io { .. }), "{missing}");

    // A link as the last name is not followed either.
    symlink(outside.join("image"), root.join("image")).expect("a link");
    let place = root_handle
        .resolve(Path::new("image"))
        .expect("the name itself is inside");
    let refused = FileSink::create_in(place, FileOptions { overwrite: true }).expect_err("a link");
    assert_eq!(refused.code(), "target-unsuitable");
    assert_eq!(names(&outside), Vec::<String>::new());
}

#[test]
fn only_free_block_devices_are_taken() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    fs::write(&file, "a file").expect("a file");
    for path in [file.as_path(), Path::new("/dev/null"), directory.path()] {
        let refused = DeviceSink::open(path, DeviceOptions::default()).expect_err("no block device");
        assert_eq!(refused.code(), "target-unsuitable", "{refused}");
    }
    assert_eq!(fs::read(&file).expect("the file"), b"a file");
}

/// A loop device over a file of this many bytes; `None` where the system does not allow one.
struct Loop {
    device: String,
    file: tempfile::NamedTempFile,
}

impl Loop {
    fn new(content: &[u8]) -> Option<Self> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), content).expect("writing the file");
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(file.path())
            .output()
            .ok()?;
        if !output.status.success() {
            println!(
                "not tested, no loop device here: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            return None;
        }
        Some(Self {
            device: String::from_utf8(output.stdout)
                .expect("a path")
                .trim()
                .to_owned(),
            file,
        })
    }

    fn open(&self, options: DeviceOptions) -> Result<DeviceSink, TargetError> {
        DeviceSink::open(Path::new(&self.device), options)
    }

    fn content(&self) -> Vec<u8> {
        fs::read(self.file.path()).expect("the device's file")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _status = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_gets_its_zeros_unless_it_has_them() {
    let image = sparse();
    let size = image.bytes.len().next_multiple_of(4096) + 8192;
    let Some(device) = Loop::new(&vec![0xff; size]) else {
        return;
    };
    let sink = device.open(DeviceOptions::default()).expect("a device");
    assert_eq!(sink.size(), size as u64);
    let busy = device.open(DeviceOptions::default()).expect_err("taken");
    assert_eq!(busy.code(), "target-unsuitable", "{busy}");
    let mut request = image.request(Sink::Device(sink));
    request.sha256 = true;
    let report = engine().execute(request).await.expect("a restore");
    assert_eq!(report.sha256, Some(image.sha256()), "read back");
    let content = device.content();
    assert_eq!(content[..image.bytes.len()], image.bytes);
    assert!(
        content[image.bytes.len()..].iter().all(|byte| *byte == 0xff),
        "nothing beyond the image"
    );

    let Some(small) = Loop::new(&vec![0; MIB]) else {
        return;
    };
    let sink = small.open(DeviceOptions::default()).expect("a device");
    let error = engine()
        .execute(image.request(Sink::Device(sink)))
        .await
        .expect_err("too small");
    assert_eq!(error.code(), "target-unsuitable", "{error}");

    let Some(zero) = Loop::new(&vec![0xff; size]) else {
        return;
    };
    let sink = zero
        .open(DeviceOptions { target_is_zero: true })
        .expect("a device");
    engine()
        .execute(image.request(Sink::Device(sink)))
        .await
        .expect("a restore");
    assert_eq!(zero.content()[2 * MIB], 0xff, "zeros were not written");
}

#[test]
fn a_stream_written_out_is_complete_or_an_error() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let image = sparse();
    let (sink, receiver) = StreamSink::channel(4);
    let job = runtime.spawn({
        let (engine, request) = (engine(), image.request(Sink::Stream(sink)));
        async move { engine.execute(request).await }
    });
    let mut written = Vec::new();
    assert_eq!(
        receiver.write_to(&mut written).expect("a clean end"),
        image.bytes.len() as u64
    );
    assert_eq!(written, image.bytes);
    runtime.block_on(job).expect("a task").expect("a restore");

    let (sink, receiver) = StreamSink::channel(4);
    drop(sink);
    receiver.write_to(Vec::new()).expect_err("no job, no clean end");
}

/// Runs `full_disk` below on a file system of 4 MiB, made in a mount namespace of its own.
#[test]
fn a_full_disk_is_a_clear_error_and_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = r#"mount -t tmpfs -o size=4m tmpfs "$1" && FLEETHOLD_TEST_FULL_DISK="$1" exec "$2" --exact target::full_disk --ignored --nocapture"#;
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(directory.path())
        .arg(std::env::current_exe().expect("this test"))
        .output()
        .expect("unshare (util-linux)");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    if text.contains("unshare failed") || text.contains("permission denied") {
        println!("not tested, no mount namespace here: {text}");
        return;
    }
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by a_full_disk_is_a_clear_error_and_leaves_nothing on a small file system"]
async fn full_disk() {
    let directory = std::env::var("FLEETHOLD_TEST_FULL_DISK").expect("the small file system");
    let directory = Path::new(&directory);
    let bytes: Vec<u8> = (0..8 * MIB).map(|at| (at / MIB + 1) as u8).collect();
    let image = Image::fixed(bytes, MIB as u64);
    let sink = FileSink::create(&directory.join("image"), FileOptions::default()).expect("a file");
    let error = engine()
        .execute(image.request(Sink::File(sink)))
        .await
        .expect_err("a full disk");
    assert_eq!(error.code(), "no-space", "{error}");
    assert!(error.place().is_some());
    assert_eq!(names(directory), Vec::<String>::new());
}
