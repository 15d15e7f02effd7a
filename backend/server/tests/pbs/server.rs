//! The real server over the golden stores, one for all tests of this program.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use fleethold_server::auth::users::UserStore;
use fleethold_server::serve::{self, ServeOptions};
use fleethold_server::settings::{CommonFlags, ServerFlags, Settings, Surroundings};
use serde_json::Value;

/// A start includes making keys, a certificate and a password hash on a busy machine.
const START: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) user: String,
    pub(crate) password: String,
    /// Where the golden stores were unpacked.
    pub(crate) golden: PathBuf,
}

pub(crate) static SERVER: LazyLock<Server> = LazyLock::new(start);

/// Time since some moment, for deadlines.
#[expect(clippy::disallowed_methods, reason = "a deadline for waiting on a condition")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

fn start() -> Server {
    // What is left in a static is never dropped: the place is emptied at the next start instead.
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pbs-face");
    if base.exists() {
        std::fs::remove_dir_all(&base).unwrap();
    }
    let (golden, state) = (base.join("golden"), base.join("state"));
    unpack(&golden);
    std::fs::write(golden.join("store/host/web1/owner"), "owner@pbs!laptop\n").unwrap();
    damage(&golden);
    std::fs::create_dir_all(state.join("etc")).unwrap();
    std::fs::write(state.join("etc/datastore.cfg"), config(&golden)).unwrap();

    let common = CommonFlags {
        state_dir: Some(state.clone()),
        run_dir: Some(base.join("run")),
        ..CommonFlags::default()
    };
    let server = ServerFlags {
        listen: Some("127.0.0.1:0".into()),
        // Nothing answers there: whatever is tested here goes on without the history.
        database_url: Some("postgres://nobody@127.0.0.1:1/nothing".into()),
        ..ServerFlags::default()
    };
    let around = Surroundings {
        variable: Box::new(|_| None),
        is_root: false,
        cores: 2,
    };
    let settings = Settings::load(&common, &server, &around).unwrap();
    let ready = base.join("ready.json");
    let options = ServeOptions {
        ready_file: Some(ready.clone()),
        ..ServeOptions::default()
    };
    std::thread::spawn(move || serve::start(settings, options).unwrap());

    let deadline = now() + START;
    while !ready.exists() {
        assert!(now() < deadline, "the server did not answer in {START:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let said: Value = serde_json::from_slice(&std::fs::read(&ready).unwrap()).unwrap();
    let text = |field: &str| said[field].as_str().unwrap().trim_end_matches('/').to_owned();
    let password = std::fs::read_to_string(text("password_file")).unwrap();
    add_readers(&state.join("etc"));
    Server {
        url: text("url"),
        user: text("user"),
        password: password.trim().to_owned(),
        golden,
    }
}

/// Password of everybody but the administrator.
pub(crate) const READER_PASSWORD: &str = "reader's password";

/// Users who may do less than everything; the running server sees them at once.
fn add_readers(etc: &Path) {
    let users = UserStore::open(etc).unwrap();
    for user in ["auditor@pbs", "guest@pbs", "owner@pbs", "tenant@pbs"] {
        users.add(&user.parse().unwrap(), READER_PASSWORD, None).unwrap();
    }
    let rules = etc.join("acl.cfg");
    let mut text = std::fs::read_to_string(&rules).unwrap();
    text.push_str("acl:1:/datastore/golden:auditor@pbs:DatastoreAudit\n");
    text.push_str("acl:1:/datastore/golden:owner@pbs:DatastoreBackup\n");
    text.push_str("acl:1:/datastore/golden/prod/db:tenant@pbs:DatastoreAdmin\n");
    std::fs::write(rules, text).unwrap();
}

fn unpack(to: &Path) {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden.tar.zst");
    let file = std::fs::File::open(archive).unwrap();
    tar::Archive::new(zstd::Decoder::new(file).unwrap())
        .unpack(to)
        .unwrap();
}

/// A copy of the golden store in which `drive-scsi0.img.fidx` of 2024-05-01 lost its third chunk and
/// `drive-efidisk0.img.fidx` its only one.
fn damage(golden: &Path) {
    let broken = golden.join("broken");
    copy(&golden.join("store"), &broken);
    let snapshot = broken.join("vm/100/2024-05-01T10:00:00Z");
    for (index, entry) in [("drive-scsi0.img.fidx", 2), ("drive-efidisk0.img.fidx", 0)] {
        let raw = std::fs::read(snapshot.join(index)).unwrap();
        let digest = hex::encode(&raw[4096 + entry * 32..][..32]);
        std::fs::remove_file(broken.join(".chunks").join(&digest[..4]).join(&digest)).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn config(golden: &Path) -> String {
    let golden = golden.display();
    format!(
        "datastore: broken\n\tpath {golden}/broken\n\n\
         datastore: closed\n\tpath {golden}/store\n\tmaintenance-mode offline,message=\"new disks\"\n\n\
         datastore: gone\n\tpath {golden}/nowhere\n\n\
         datastore: golden\n\tpath {golden}/store\n\tcomment made by the reference\n\n\
         datastore: real\n\tpath {golden}/real/store\n"
    )
}
