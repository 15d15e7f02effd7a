//! Running the binary, and places to run it on.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use fleethold_format::hash::Sha256;
use serde_json::Value;

/// The golden stores, unpacked once and only ever read.
pub(crate) fn golden() -> &'static Path {
    static UNPACKED: LazyLock<PathBuf> = LazyLock::new(|| {
        let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden.tar.zst");
        let packed = std::fs::read(&archive).unwrap();
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("golden-{}", &sha256(&packed)[..16]));
        if !place.exists() {
            let fresh = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            tar::Archive::new(zstd::Decoder::new(packed.as_slice()).unwrap())
                .unpack(fresh.path())
                .unwrap();
            // Another test process may have been first: then its copy serves.
            if std::fs::rename(fresh.path(), &place).is_err() {
                assert!(place.exists());
            }
        }
        place
    });
    &UNPACKED
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// A state directory of its own, and a place for targets.
pub(crate) struct World {
    directory: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("out")).unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn out(&self, name: &str) -> PathBuf {
        self.path("out").join(name)
    }

    /// Everything in the targets' directory, temporary files included.
    pub(crate) fn out_files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("out")).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// The binary, with nothing inherited that could change what it does.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fleethold"));
        command
            .env_clear()
            .env("FLEETHOLD_STATE_DIR", self.path("state"))
            .env("FLEETHOLD_RUN_DIR", self.path("run"))
            .env(
                "FLEETHOLD_BENCH_LOCK",
                self.directory.path().file_name().unwrap_or_default(),
            )
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args))
    }

    /// A private copy of a golden store, to be damaged.
    pub(crate) fn copy_of(&self, store: &str) -> PathBuf {
        let copy = self.path("copy");
        copy_tree(&golden().join(store), &copy);
        copy
    }
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::write(target, std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// What a run said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(mut command: Command) -> Self {
        Self::from(command.output().unwrap())
    }

    pub(crate) fn out(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// The one object in the last line of stdout.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let last = self
            .out()
            .lines()
            .last()
            .unwrap_or_else(|| panic!("no line on stdout: {self:?}"));
        let value: Value = serde_json::from_str(last).unwrap();
        assert!(value.is_object());
        value
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self
    }

    /// Ended with `code`, having said on stderr whatever it likes.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}", self.stderr);
        self
    }

    /// Fails with `code` and an error of one line that holds each of `words`.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, code, "{}", self.stderr);
        for word in words {
            assert!(
                self.stderr.contains(word),
                "expected {word:?} in: {}",
                self.stderr
            );
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        if code != 2 {
            assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        }
        self
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Arguments of a restore of the golden image most tests use.
pub(crate) const SNAPSHOT: &str = "vm/100/2024-05-01T10:00:00Z";
pub(crate) const IMAGE: &str = "drive-scsi0.img.fidx";
pub(crate) const IMAGE_SHA256: &str = "5ee3a82e80d51a7cb9d26ed85f2c559b4942a5d3a061119369379a222e102b34";
pub(crate) const ENCRYPTED: &str = "vm/101/2024-05-01T11:00:00Z";

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

pub(crate) fn restore_args<'a>(
    store: &'a str,
    snapshot: &'a str,
    archive: &'a str,
    to: &'a str,
) -> Vec<&'a str> {
    vec![
        "restore",
        "--store",
        store,
        "--snapshot",
        snapshot,
        "--archive",
        archive,
        "--to",
        to,
    ]
}
