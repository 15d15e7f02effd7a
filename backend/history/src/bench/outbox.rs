//! Runs that wait for a database: each a file of its own JSON in a folder, made at once and whole, removed when the
//! database has it. `export` and `compare` read them like any other run.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::sample::Side;
use serde::{Deserialize, Serialize};

use super::attachment::{AttachmentKind, NewAttachment};
use super::new_run::{BenchMeta, NewBenchRun, NewContent};
use super::store::blocking;
use crate::database::Database;
use crate::error::HistoryError;

/// Most files of the folder.
pub const MAX_WAITING: usize = 256;
/// Largest file: more than the largest matrix and its stacks.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// What own JSON calls itself.
const FORMAT: &str = "fleethold-bench";
const VERSION: u64 = 1;

/// Own JSON with what only the history wants to know.
#[derive(Serialize, Deserialize)]
struct Document<M> {
    format: String,
    version: u64,
    run: M,
    history: BenchMeta,
    attachments: Vec<WaitingFile>,
}

#[derive(Serialize, Deserialize)]
struct WaitingFile {
    kind: AttachmentKind,
    side: Option<Side>,
    name: String,
    text: String,
}

/// What became of the runs that waited.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Uploaded {
    /// Stored now.
    pub stored: u64,
    /// Were there already.
    pub known: u64,
    /// Refused, and why; they stay beside the others with `.refused` at the end of their name.
    pub refused: Vec<(PathBuf, String)>,
}

/// The outbox of a state directory.
pub fn dir(state_dir: &Path) -> PathBuf {
    state_dir.join("bench").join("outbox")
}

/// Puts a measured run into the folder and answers its file. Blocks.
///
/// # Errors
/// [`HistoryError::Refused`] when the folder is full, the run is no matrix or a file of it no text;
/// [`HistoryError::Outbox`] when it cannot be written.
pub fn put(dir: &Path, run: &NewBenchRun) -> Result<PathBuf, HistoryError> {
    let text = encode(run)?;
    fs::create_dir_all(dir).map_err(failed("create", dir))?;
    let waiting = fs::read_dir(dir).map_err(failed("list", dir))?.count();
    if waiting >= MAX_WAITING {
        return Err(HistoryError::Refused {
            field: "number of runs that wait for a database",
            found: format!("{waiting} in {}", dir.display()),
            expected: "fewer than 256: start the server, or name a database that takes them",
        });
    }
    let path = dir.join(format!("{}.json", run.meta.id));
    let part = dir.join(format!(".{}.part", run.meta.id));
    let mut file = File::create(&part).map_err(failed("create", &part))?;
    let written = file.write_all(&text).and_then(|()| file.sync_all());
    if let Err(source) = written {
        drop(fs::remove_file(&part));
        return Err(failed("write", &part)(source));
    }
    fs::rename(&part, &path).map_err(failed("rename", &part))?;
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(failed("sync", dir))?;
    Ok(path)
}

/// Stores every run of the folder, oldest first, and removes each when the database has it. A run that comes twice,
/// here or from another process, is stored once. A folder that does not exist is empty.
///
/// # Errors
/// [`HistoryError`] when the database goes away or a file cannot be read; what is not stored still waits.
pub async fn upload_outbox(database: &Database, dir: &Path) -> Result<Uploaded, HistoryError> {
    let mut uploaded = Uploaded::default();
    let files = {
        let dir = dir.to_owned();
        blocking("list the outbox", move || waiting(&dir)).await??
    };
    for path in files {
        let read = {
            let path = path.clone();
            blocking("read the outbox", move || read(&path)).await??
        };
        // Another process was faster.
        let Some(read) = read else { continue };
        let result = match read {
            Ok(run) => database.store_bench_run(run).await,
            Err(reason) => Err(HistoryError::Refused {
                field: "file of the outbox",
                found: reason,
                expected: "a run as bench run keeps it",
            }),
        };
        let target = match result {
            Ok(stored) => {
                uploaded.stored += u64::from(!stored.known);
                uploaded.known += u64::from(stored.known);
                None
            }
            Err(error @ (HistoryError::Refused { .. } | HistoryError::Matrix(_))) => {
                tracing::warn!(path = %path.display(), %error, "a benchmark run is refused and put aside");
                let aside = path.with_extension("json.refused");
                uploaded.refused.push((aside.clone(), error.to_string()));
                Some(aside)
            }
            Err(error) => return Err(error),
        };
        blocking("clear the outbox", move || settle(&path, target.as_deref())).await??;
    }
    Ok(uploaded)
}

fn encode(run: &NewBenchRun) -> Result<Vec<u8>, HistoryError> {
    let refused = |field, found: String, expected| HistoryError::Refused {
        field,
        found,
        expected,
    };
    let NewContent::Matrix(matrix) = &run.content else {
        return Err(refused(
            "run",
            run.meta.source.clone(),
            "a matrix with both sides",
        ));
    };
    let file = |file: &NewAttachment| {
        let text = String::from_utf8(file.bytes.clone())
            .map_err(|_| refused("attachment", file.name.clone(), "UTF-8 text"))?;
        Ok(WaitingFile {
            kind: file.kind,
            side: file.side,
            name: file.name.clone(),
            text,
        })
    };
    let document = Document {
        format: FORMAT.to_owned(),
        version: VERSION,
        run: &**matrix,
        history: run.meta.clone(),
        attachments: run
            .attachments
            .iter()
            .map(file)
            .collect::<Result<_, HistoryError>>()?,
    };
    serde_json::to_vec(&document).map_err(|error| refused("run", error.to_string(), "a run that has a text"))
}

/// Ids are UUIDv7: the order of the names is the order of the runs.
fn waiting(dir: &Path) -> Result<Vec<PathBuf>, HistoryError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("list", dir)(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed("list", dir))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// `None`: the file is gone. The inner error: it holds no run.
fn read(path: &Path) -> Result<Option<Result<NewBenchRun, String>>, HistoryError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("open", path)(error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(failed("read", path))?;
    Ok(Some(decode(&bytes)))
}

fn decode(bytes: &[u8]) -> Result<NewBenchRun, String> {
    let document: Document<Matrix> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if (document.format.as_str(), document.version) != (FORMAT, VERSION) {
        return Err(format!("{} version {}", document.format, document.version));
    }
    let file = |file: WaitingFile| NewAttachment {
        kind: file.kind,
        side: file.side,
        name: file.name,
        bytes: file.text.into_bytes(),
    };
    let attachments = document.attachments.into_iter().map(file).collect();
    Ok(NewBenchRun::measured(document.history, document.run, attachments))
}

fn settle(path: &Path, aside: Option<&Path>) -> Result<(), HistoryError> {
    let done = match aside {
        Some(aside) => fs::rename(path, aside),
        None => fs::remove_file(path),
    };
    match done {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed("clear", path)(error)),
        _ => Ok(()),
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> HistoryError {
    let path = path.to_owned();
    move |source| HistoryError::Outbox { action, path, source }
}
