//! Every file of both golden stores, plain and encrypted, through every sink, eight at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fleethold_datastore::{ChunkSource, Datastore};
use fleethold_format::crypt::CryptKey;
use fleethold_format::key_file::KeyFile;
use fleethold_format::names::{ArchiveName, DatastoreName, Namespace, SnapshotPath};
use fleethold_restore::{
    BlobRequest, FileOptions, FileSink, Progress, RestoreEngine, RestoreIdentity, RestoreReport,
    RestoreRequest, Sink, StreamSink,
};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::support::{engine, names, read_all, sha256, unpack_golden};

/// One line of the stores' tables of expectations.
#[derive(Clone)]
struct Expected {
    store: Datastore,
    ns: Namespace,
    snapshot: SnapshotPath,
    archive: ArchiveName,
    size: u64,
    sha256: String,
    key: Arc<CryptKey>,
}

fn expectations(golden: &Path) -> Vec<Expected> {
    let stores = [
        ("store", "expected.json", "encryption-key.json"),
        ("real/store", "real/expected-real.json", "real/enc.key"),
    ];
    stores
        .iter()
        .flat_map(|(store, table, key)| {
            let name = DatastoreName::parse("golden").expect("a name");
            let store = Datastore::open(name, &golden.join(store)).expect("a store");
            let key =
                KeyFile::parse(&std::fs::read(golden.join(key)).expect("a key file")).expect("a key file");
            let key = Arc::new(key.unlock(None).expect("a key without password"));
            let table: Value =
                serde_json::from_slice(&std::fs::read(golden.join(table)).expect("a table")).expect("JSON");
            let files = table["files"].as_array().expect("files").clone();
            files.into_iter().map(move |file| expected(&store, &key, &file))
        })
        .collect()
}

fn expected(store: &Datastore, key: &Arc<CryptKey>, file: &Value) -> Expected {
    let text = |name: &str| file[name].as_str().expect("a text").to_owned();
    let path = text("path");
    let parts: Vec<&str> = path.split('/').collect();
    let (namespace, snapshot) = parts.split_at(parts.len() - 3);
    let namespace: Vec<&str> = namespace.iter().skip(1).step_by(2).copied().collect();
    Expected {
        store: store.clone(),
        ns: Namespace::parse(&namespace.join("/")).expect("a namespace"),
        snapshot: SnapshotPath::parse(&snapshot.join("/")).expect("a snapshot"),
        archive: ArchiveName::parse(&text("file")).expect("an archive"),
        size: file["plain-size"].as_u64().expect("a size"),
        sha256: text("plain-sha256"),
        key: Arc::clone(key),
    }
}

#[derive(Copy, Clone, Debug)]
enum To {
    File,
    Null,
    Stream,
}

async fn restore(engine: &RestoreEngine, what: &Expected, sink: Sink) -> RestoreReport {
    let snapshot = what.store.snapshot(&what.ns, &what.snapshot).expect("a snapshot");
    snapshot.verify_signature(&what.key).ok();
    let identity = RestoreIdentity {
        store: what.store.name().to_string(),
        ns: what.ns.clone(),
        snapshot: what.snapshot.clone(),
        archive: what.archive.clone(),
    };
    let (progress, cancel, key) = (
        watch::Sender::new(Progress::default()),
        CancellationToken::new(),
        Some(Arc::clone(&what.key)),
    );
    let result = if what.archive.kind().is_index() {
        let index = Arc::new(snapshot.open_index(&what.archive).expect("an index"));
        let file = snapshot.entry(&what.archive).expect("a listed file").clone();
        let plan = engine
            .plan(&index, file.crypt_mode, key.as_deref())
            .expect("a plan");
        let source: Arc<dyn ChunkSource> = Arc::new(what.store.chunk_source().expect("a source"));
        let request = RestoreRequest {
            plan: Arc::new(plan),
            index,
            file,
            source,
            sink,
            key,
            parallel: 4,
            progress,
            cancel,
            identity,
            sha256: true,
        };
        engine.execute(request).await
    } else {
        let raw = snapshot.read_blob_raw(&what.archive).expect("a blob");
        let file = snapshot.entry(&what.archive).ok().cloned();
        engine
            .restore_blob(BlobRequest {
                raw,
                file,
                key,
                sink,
                progress,
                cancel,
                identity,
                sha256: true,
            })
            .await
    };
    result.unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_golden_file_restores_through_every_sink_eight_at_once() {
    let golden = unpack_golden();
    let out = tempfile::tempdir().expect("a directory");
    let engine = engine();
    let all = expectations(golden.path());
    assert_eq!(all.len(), 33, "the tables of both stores");
    let jobs: Vec<(PathBuf, Expected, To)> = all
        .iter()
        .enumerate()
        .flat_map(|(number, what)| {
            let target = out.path().join(number.to_string());
            [To::File, To::Null, To::Stream].map(|to| (target.clone(), what.clone(), to))
        })
        .collect();
    let running = stream::iter(jobs).map(|(target, what, to)| {
        let engine = engine.clone();
        async move {
            let (report, content) = match to {
                To::File => {
                    let sink = FileSink::create(&target, FileOptions::default()).expect("a file");
                    let report = restore(&engine, &what, Sink::File(sink)).await;
                    (report, Some(std::fs::read(&target).expect("the restored file")))
                }
                To::Null => (restore(&engine, &what, Sink::Null).await, None),
                To::Stream => {
                    let (sink, receiver) = StreamSink::channel(2);
                    let (report, content) =
                        tokio::join!(restore(&engine, &what, Sink::Stream(sink)), read_all(receiver));
                    (report, Some(content.expect("a clean end")))
                }
            };
            let label = format!("{} {} to {to:?}", what.snapshot, what.archive);
            assert_eq!(report.sha256.as_deref(), Some(what.sha256.as_str()), "{label}");
            assert_eq!(report.bytes_total, what.size, "{label}");
            assert_eq!(report.bytes_written + report.zero_bytes, what.size, "{label}");
            if let Some(content) = content {
                assert_eq!(sha256(&content), what.sha256, "{label}");
            }
        }
    });
    running.buffer_unordered(8).collect::<Vec<()>>().await;
    let mut expected: Vec<String> = (0..all.len()).map(|number| number.to_string()).collect();
    expected.sort();
    assert_eq!(names(out.path()), expected, "no temporary file remains");
    let budget = engine.stats().budget;
    assert_eq!((budget.used_bytes, budget.jobs), (0, 0), "all memory came back");
    assert!(budget.high_water_bytes <= budget.total_bytes);
}

#[test]
fn both_key_files_hold_the_same_key() {
    let golden = unpack_golden();
    let read =
        |name: &str| KeyFile::parse(&std::fs::read(golden.path().join(name)).expect(name)).expect(name);
    let plain = read("encryption-key.json")
        .unlock(None)
        .expect("a key without password");
    let derived = read("encryption-key-scrypt.json")
        .unlock(Some(b"golden-pass"))
        .expect("a key under scrypt");
    assert_eq!(plain.fingerprint(), derived.fingerprint());
}
