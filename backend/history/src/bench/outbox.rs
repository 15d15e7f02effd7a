//! Runs that wait for a database: each a file of its own JSON in a folder, made at once and whole, removed when the
//! database has it. `export` and `compare` read them like any other run.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::sample::Side;
use serde::{Deserialize, Serialize};
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::attachment::{AttachmentKind, NewAttachment};
use super::new_run::{BenchMeta, NewBenchRun, NewContent};
use super::store::blocking;
use crate::database::Database;
use crate::error::HistoryError;

/// Most runs that wait in the folder.
pub const MAX_WAITING: usize = 256;
/// Most refused files that are kept; the oldest go.
pub const MAX_REFUSED: usize = 64;
/// A file that was begun so long ago is of a process that ended.
const STALE: Duration = Duration::from_secs(24 * 3600);
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
    /// When measuring began, for an import of the file.
    #[serde(default)]
    started_at: Option<String>,
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
    /// Could not be read or removed, and why; they wait on.
    pub failed: Vec<(PathBuf, String)>,
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
    sweep(dir)?;
    let waiting = waiting(dir)?.len();
    if waiting >= MAX_WAITING {
        return Err(HistoryError::refused(
            "number of runs that wait for a database",
            format!("{waiting} in {}", dir.display()),
            format!("fewer than {MAX_WAITING}: start the server, or name a database that takes them"),
        ));
    }
    let path = file_of(dir, run.meta.id);
    write(&path, &text)?;
    Ok(path)
}

/// The file of a run that waits.
pub fn file_of(dir: &Path, id: Uuid) -> PathBuf {
    dir.join(format!("{id}.json"))
}

/// Writes a run as the folder holds it to a file of its own, for when the folder is full: `bench import` reads it.
/// Blocks.
///
/// # Errors
/// As [`put`], and when the file is there already.
pub fn put_aside(path: &Path, run: &NewBenchRun) -> Result<(), HistoryError> {
    let text = encode(run)?;
    let mut file = File::create_new(path).map_err(failed("create", path))?;
    let written = file.write_all(&text).and_then(|()| file.sync_all());
    written.map_err(failed("write", path))
}

/// Takes note in a waiting run's file that the run is kept for good. Answers whether it waits here. Blocks.
///
/// # Errors
/// [`HistoryError::Outbox`] when its file cannot be read or written; [`HistoryError::Refused`] when it holds no run.
pub fn pin(dir: &Path, id: Uuid) -> Result<bool, HistoryError> {
    let path = file_of(dir, id);
    match read(&path)? {
        None => Ok(false),
        Some(Ok(mut run)) => {
            if !run.meta.pinned {
                run.meta.pinned = true;
                write(&path, &encode(&run)?)?;
            }
            Ok(true)
        }
        Some(Err(reason)) => Err(no_run(reason)),
    }
}

fn no_run(reason: String) -> HistoryError {
    HistoryError::refused("file of the outbox", reason, "a run as bench run keeps it")
}

/// A whole file or none, on disk when this returns.
fn write(path: &Path, text: &[u8]) -> Result<(), HistoryError> {
    let dir = path.parent().unwrap_or(path);
    let part = path.with_extension("part");
    let mut file = File::create(&part).map_err(failed("create", &part))?;
    let written = file.write_all(text).and_then(|()| file.sync_all());
    if let Err(source) = written {
        drop(fs::remove_file(&part));
        return Err(failed("write", &part)(source));
    }
    fs::rename(&part, path).map_err(failed("rename", &part))?;
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(failed("sync", dir))
}

/// Removes what processes that ended began to write, and the oldest refused files beyond [`MAX_REFUSED`].
fn sweep(dir: &Path) -> Result<(), HistoryError> {
    let mut refused = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed("list", dir))? {
        let entry = entry.map_err(failed("list", dir))?;
        let path = entry.path();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("refused") => refused.push(path),
            Some("part") => {
                let age = entry
                    .metadata()
                    .ok()
                    .and_then(|of| of.modified().ok()?.elapsed().ok());
                if age.is_some_and(|age| age > STALE) {
                    settle(&path, None)?;
                }
            }
            _ => {}
        }
    }
    // Ids are UUIDv7: the first names are the oldest.
    refused.sort_unstable();
    let beyond = refused.len().saturating_sub(MAX_REFUSED);
    for path in refused.drain(..beyond) {
        tracing::warn!(path = %path.display(), "the oldest refused benchmark run is removed: there are too many");
        settle(&path, None)?;
    }
    Ok(())
}

/// Stores every run of the folder, oldest first, and removes each when the database has it. A run that comes twice,
/// here or from another process, is stored once. A folder that does not exist is empty.
///
/// # Errors
/// [`HistoryError`] when the database goes away or the folder cannot be read; what is not stored still waits. A file
/// that cannot be read holds up no other: it is in [`Uploaded::failed`].
pub async fn upload_outbox(database: &Database, dir: &Path) -> Result<Uploaded, HistoryError> {
    let mut uploaded = Uploaded::default();
    let files = {
        let dir = dir.to_owned();
        blocking("list the outbox", move || waiting(&dir)).await??
    };
    for path in files {
        match upload_one(database, &path, &mut uploaded).await {
            Err(error) if error.is_of_the_database() => return Err(error),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a benchmark run waits on");
                uploaded.failed.push((path, error.to_string()));
            }
            Ok(()) => {}
        }
    }
    if !uploaded.refused.is_empty() {
        let dir = dir.to_owned();
        blocking("sweep the outbox", move || sweep(&dir)).await??;
    }
    Ok(uploaded)
}

async fn upload_one(database: &Database, path: &Path, uploaded: &mut Uploaded) -> Result<(), HistoryError> {
    let file = path.to_owned();
    // `None`: another process was faster.
    let Some(read) = blocking("read the outbox", move || read(&file)).await?? else {
        return Ok(());
    };
    let result = match read {
        Ok(run) => database.store_bench_run(run).await,
        Err(reason) => Err(no_run(reason)),
    };
    let target = match result {
        Ok(stored) => {
            uploaded.stored += u64::from(!stored.known);
            uploaded.known += u64::from(stored.known);
            None
        }
        Err(error) if error.is_refusal() => {
            tracing::warn!(path = %path.display(), %error, "a benchmark run is refused and put aside");
            let aside = path.with_extension("json.refused");
            uploaded.refused.push((aside.clone(), error.to_string()));
            Some(aside)
        }
        Err(error) => return Err(error),
    };
    let path = path.to_owned();
    blocking("clear the outbox", move || settle(&path, target.as_deref())).await?
}

fn encode(run: &NewBenchRun) -> Result<Vec<u8>, HistoryError> {
    let refused = HistoryError::refused::<&'static str, String, &'static str>;
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
        started_at: run.meta.started_at.and_then(|at| at.format(&Rfc3339).ok()),
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
