//! Who changed which user, token or rule, and how.
//!
//! A change is done when its file is written, whether or not a database is there. What is to be remembered of it is a file
//! of its own in an outbox, whole or not there at all, that the server or the command line puts there; the server moves it
//! into the database, once, by its id.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::database::Database;
use crate::error::HistoryError;

/// Most entries that wait in the outbox.
pub const MAX_WAITING: usize = 10_000;
/// Largest entry, in bytes.
const MAX_ENTRY: usize = 64 * 1024;
/// Entries stored in one go.
const BATCH: usize = 500;

/// How somebody asked for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditVia {
    /// Signed in with a password.
    Session,
    /// With an API token.
    Token,
    /// On the command line of the host.
    CommandLine,
}

impl AuditVia {
    /// The word stored in the database and shown in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Token => "token",
            Self::CommandLine => "command-line",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Session, Self::Token, Self::CommandLine]
            .into_iter()
            .find(|via| via.as_str() == word)
    }
}

/// One change. It holds no secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditEntry {
    /// UUIDv7: ids are in the order of time.
    pub id: Uuid,
    /// When.
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    /// Who: a user, a token, or a user of the host.
    pub actor: String,
    /// How.
    pub via: AuditVia,
    /// From which address.
    pub address: Option<String>,
    /// What was done: `user.create`, `acl.set`, …
    pub action: String,
    /// To whom, or where.
    pub target: String,
    /// How it was; null when it was not there.
    pub was: Value,
    /// How it is; null when it is gone.
    pub became: Value,
}

/// Some entries, the newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditPage {
    /// The entries.
    pub items: Vec<AuditEntry>,
    /// Where the next page begins.
    pub next_cursor: Option<Uuid>,
}

/// What became of the entries that waited.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AuditMoved {
    /// Stored, or were there already.
    pub stored: usize,
    /// No entries; they stay, with `.refused` at the end of their name.
    pub refused: Vec<PathBuf>,
}

/// The outbox of a state directory.
#[must_use]
pub fn dir(state_dir: &Path) -> PathBuf {
    state_dir.join("audit").join("outbox")
}

/// Puts an entry into the outbox. Blocks.
///
/// # Errors
/// [`HistoryError::Refused`] when the outbox is full or the entry too large, [`HistoryError::Outbox`] when it cannot be
/// written.
pub fn put(dir: &Path, entry: &AuditEntry) -> Result<(), HistoryError> {
    let text = serde_json::to_vec(entry).map_err(|error| {
        HistoryError::refused("entry of the audit log", error.to_string(), "one that has a text")
    })?;
    if text.len() > MAX_ENTRY {
        let found = format!("{} bytes", text.len());
        return Err(HistoryError::refused(
            "entry of the audit log",
            found,
            "at most 64 KiB",
        ));
    }
    fs::create_dir_all(dir).map_err(failed("create", dir))?;
    let waiting = waiting(dir)?.len();
    if waiting >= MAX_WAITING {
        return Err(HistoryError::refused(
            "number of audit entries that wait for a database",
            format!("{waiting} in {}", dir.display()),
            "fewer than 10,000: start the server, or see why its database is away",
        ));
    }
    let part = dir.join(format!("{}.part", entry.id));
    let path = dir.join(format!("{}.json", entry.id));
    let written = File::create_new(&part).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&part, &path)?;
        File::open(dir)?.sync_all()
    });
    written.map_err(|source| {
        // A part is no entry; what cannot be removed is in nobody's way.
        drop(fs::remove_file(&part));
        failed("write", &path)(source)
    })
}

/// Moves what waits into the database. A folder that does not exist is empty.
///
/// # Errors
/// [`HistoryError`] when the database is away or a file cannot be read or removed; what is not stored still waits.
pub async fn upload(database: &Database, dir: &Path) -> Result<AuditMoved, HistoryError> {
    let mut moved = AuditMoved::default();
    loop {
        let folder = dir.to_owned();
        let (files, refused) = crate::bench::blocking("read the outbox", move || read(&folder)).await??;
        moved.refused.extend(refused);
        if files.is_empty() {
            return Ok(moved);
        }
        let entries: Vec<&AuditEntry> = files.iter().map(|(_, entry)| entry).collect();
        database.store_audit(&entries).await?;
        moved.stored += files.len();
        let clear = move || {
            for (path, _) in files {
                gone(fs::remove_file(&path)).map_err(failed("clear", &path))?;
            }
            Ok::<_, HistoryError>(())
        };
        crate::bench::blocking("clear the outbox", clear).await??;
    }
}

/// A batch of entries, oldest first, and files that hold none.
#[expect(clippy::type_complexity, reason = "two lists of files")]
fn read(dir: &Path) -> Result<(Vec<(PathBuf, AuditEntry)>, Vec<PathBuf>), HistoryError> {
    let (mut entries, mut refused) = (Vec::new(), Vec::new());
    for path in waiting(dir)?.into_iter().take(BATCH) {
        let mut text = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(MAX_ENTRY as u64 + 1).read_to_end(&mut text));
        match read {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed("read", &path)(error)),
            Ok(_) => {}
        }
        match serde_json::from_slice(&text) {
            Ok(entry) => entries.push((path, entry)),
            Err(error) => {
                tracing::error!(path = %path.display(), %error, "a file of the audit log's outbox is no entry");
                let aside = path.with_extension("json.refused");
                gone(fs::rename(&path, &aside)).map_err(failed("put aside", &path))?;
                refused.push(aside);
            }
        }
    }
    Ok((entries, refused))
}

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

/// Another process may have been faster.
fn gone(done: std::io::Result<()>) -> std::io::Result<()> {
    match done {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> HistoryError {
    let path = path.to_owned();
    move |source| HistoryError::Outbox { action, path, source }
}

struct AuditRecord {
    id: Uuid,
    at: OffsetDateTime,
    actor: String,
    via: String,
    address: Option<String>,
    action: String,
    target: String,
    was: Option<Value>,
    became: Option<Value>,
}

impl AuditRecord {
    fn read(self) -> Result<AuditEntry, HistoryError> {
        let via = AuditVia::from_word(&self.via).ok_or_else(|| HistoryError::Row {
            table: "access_audit",
            id: self.id.to_string(),
            field: "via",
            found: self.via,
            expected: "session, token or command-line",
        })?;
        Ok(AuditEntry {
            id: self.id,
            at: self.at,
            actor: self.actor,
            via,
            address: self.address,
            action: self.action,
            target: self.target,
            was: self.was.unwrap_or_default(),
            became: self.became.unwrap_or_default(),
        })
    }
}

impl Database {
    /// Stores entries in one transaction; those that are there already stay as they are.
    async fn store_audit(&self, entries: &[&AuditEntry]) -> Result<(), HistoryError> {
        let pool = self.pool()?;
        let some = |value: &Value| (!value.is_null()).then(|| value.clone());
        let store = async {
            let mut transaction = pool.begin().await?;
            for entry in entries {
                sqlx::query!(
                    "INSERT INTO access_audit (id, at, actor, via, address, action, target, was, became)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO NOTHING",
                    entry.id,
                    entry.at,
                    entry.actor,
                    entry.via.as_str(),
                    entry.address,
                    entry.action,
                    entry.target,
                    some(&entry.was),
                    some(&entry.became),
                )
                .execute(&mut *transaction)
                .await?;
            }
            transaction.commit().await
        };
        self.bounded("store the audit log", store).await
    }

    /// A page of the audit log, the newest first; `target` is a user, a token, or the path of a rule.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn audit(
        &self,
        target: Option<&str>,
        before: Option<Uuid>,
        limit: u32,
    ) -> Result<AuditPage, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query_as!(
            AuditRecord,
            "SELECT id, at, actor, via, address, action, target, was, became FROM access_audit
             WHERE ($1::text IS NULL OR target = $1) AND ($2::uuid IS NULL OR id < $2)
             ORDER BY id DESC LIMIT $3",
            target,
            before,
            i64::from(limit) + 1,
        );
        let records = self.bounded("read the audit log", query.fetch_all(&pool)).await?;
        let more = records.len() > limit as usize;
        let items: Vec<AuditEntry> = records
            .into_iter()
            .take(limit as usize)
            .map(AuditRecord::read)
            .collect::<Result<_, _>>()?;
        Ok(AuditPage {
            next_cursor: items.last().filter(|_| more).map(|last| last.id),
            items,
        })
    }
}
