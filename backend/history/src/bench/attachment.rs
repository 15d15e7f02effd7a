//! Files kept with a run: flame graphs, counters, logs, the imported original. Compressed, and bounded.

use std::sync::Arc;

use fleethold_bench_model::flame::Folded;
use fleethold_bench_model::import::{Format, import};
use fleethold_bench_model::sample::Side;
use sqlx::PgConnection;
use uuid::Uuid;

use super::check::check_text;
use super::new_run::{MEASURED, hex_sha256};
use super::piecewise::AttachmentReader;
use super::run::stored_word;
use super::store::{BULK_LIMIT, blocking};
use crate::database::Database;
use crate::error::HistoryError;

/// Largest file: as much as an import may have.
pub const MAX_ATTACHMENT_BYTES: usize = 128 << 20;
/// Most files of one run.
const MAX_ATTACHMENTS: i64 = 64;
/// Longest name of a file, in bytes.
const MAX_ATTACHMENT_NAME: usize = 400;
const ZSTD_LEVEL: i32 = 6;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttachmentKind {
    /// Folded stacks.
    FlameGraph,
    /// `perf stat -j`.
    PerfStat,
    /// Text.
    Log,
    /// The imported file.
    Original,
}

impl AttachmentKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::FlameGraph, Self::PerfStat, Self::Log, Self::Original];

    /// The word stored in the database and shown in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FlameGraph => "flame-graph",
            Self::PerfStat => "perf-stat",
            Self::Log => "log",
            Self::Original => "original",
        }
    }

    /// The kind of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// A file to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAttachment {
    /// What it is.
    pub kind: AttachmentKind,
    /// Which side it belongs to; `None`: the run.
    pub side: Option<Side>,
    /// Its name.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl NewAttachment {
    /// Whether it is what it is said to be. Takes the processor for a while.
    pub(super) fn check(&self) -> Result<(), HistoryError> {
        check_text("attachment name", &self.name, MAX_ATTACHMENT_NAME)?;
        let field = || format!("attachment `{}`", self.name);
        if self.bytes.len() > MAX_ATTACHMENT_BYTES {
            let found = format!("{} bytes", self.bytes.len());
            let expected = format!("at most {MAX_ATTACHMENT_BYTES} bytes");
            return Err(HistoryError::refused(field(), found, expected));
        }
        match self.kind {
            AttachmentKind::FlameGraph => {
                let refused = |place: String, found: String, expected: String| {
                    HistoryError::refused(format!("{}{place}", field()), found, expected)
                };
                let text = std::str::from_utf8(&self.bytes)
                    .map_err(|error| refused(String::new(), error.to_string(), "UTF-8 text".to_owned()))?;
                // One without stacks is no mistake: nothing was running when it was looked at.
                Folded::parse(text).map_err(|error| {
                    refused(format!(", line {}", error.line), error.found, error.expected)
                })?;
            }
            AttachmentKind::PerfStat => {
                import(&self.name, &self.bytes, Some(Format::PerfStat))?;
            }
            AttachmentKind::Log => {
                if let Err(error) = std::str::from_utf8(&self.bytes) {
                    return Err(HistoryError::refused(field(), error.to_string(), "UTF-8 text"));
                }
            }
            // It was read when it was imported; nothing else brings one.
            AttachmentKind::Original => {}
        }
        Ok(())
    }
}

/// Checks the files that a run of `source` brings.
pub(super) fn check_all(source: &str, files: &[NewAttachment]) -> Result<(), HistoryError> {
    let count = i64::try_from(files.len()).unwrap_or(i64::MAX);
    if count > MAX_ATTACHMENTS {
        return Err(too_many(count));
    }
    for file in files {
        if file.kind == AttachmentKind::Original && source == MEASURED {
            let field = format!("attachment `{}`", file.name);
            return Err(HistoryError::refused(
                field,
                "original",
                "an original of an import only",
            ));
        }
        file.check()?;
    }
    Ok(())
}

fn too_many(count: i64) -> HistoryError {
    let expected = format!("at most {MAX_ATTACHMENTS}");
    HistoryError::refused("attachments of the run", count.to_string(), expected)
}

/// A file that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchAttachment {
    /// UUIDv7.
    pub id: Uuid,
    /// Its run.
    pub run: Uuid,
    /// What it is.
    pub kind: AttachmentKind,
    /// Which side it belongs to.
    pub side: Option<Side>,
    /// Its name.
    pub name: String,
    /// Bytes as they came.
    pub size: u64,
    /// SHA-256 of them, hex.
    pub sha256: String,
}

/// A file as it is stored.
#[derive(Debug)]
pub(super) struct PackedAttachment {
    kind: AttachmentKind,
    side: Option<Side>,
    name: String,
    size: i64,
    sha256: String,
    zstd: Vec<u8>,
}

impl PackedAttachment {
    pub(super) fn pack(file: &NewAttachment) -> Result<Self, HistoryError> {
        let zstd = zstd::bulk::compress(&file.bytes, ZSTD_LEVEL).map_err(|error| HistoryError::Thread {
            what: "compress an attachment",
            reason: error.to_string(),
        })?;
        Ok(Self {
            kind: file.kind,
            side: file.side,
            name: file.name.clone(),
            size: i64::try_from(file.bytes.len()).unwrap_or(i64::MAX),
            sha256: hex_sha256(&file.bytes),
            zstd,
        })
    }
}

/// Keeps a file; the same one under the same name once. Answers its id.
pub(super) async fn write(
    connection: &mut PgConnection,
    run: Uuid,
    file: &PackedAttachment,
) -> Result<Uuid, sqlx::Error> {
    sqlx::query_scalar!(
        "INSERT INTO bench_attachment (id, run, side, kind, name, sha256, size, zstd)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (run, kind, side, name, sha256) DO UPDATE SET size = EXCLUDED.size
         RETURNING id",
        Uuid::now_v7(),
        run,
        file.side.map_or("", Side::name),
        file.kind.as_str(),
        file.name,
        file.sha256,
        file.size,
        file.zstd,
    )
    .fetch_one(connection)
    .await
}

impl Database {
    /// Keeps a file with a run. `None`: no such run.
    ///
    /// # Errors
    /// [`HistoryError::Refused`] for a file that is too long or one too many.
    pub async fn attach(
        &self,
        run: Uuid,
        file: NewAttachment,
    ) -> Result<Option<BenchAttachment>, HistoryError> {
        if file.kind == AttachmentKind::Original {
            let field = format!("attachment `{}`", file.name);
            let expected = "flame-graph, perf-stat or log: an original comes with its import";
            return Err(HistoryError::refused(field, file.kind.as_str(), expected));
        }
        let file = blocking("check an attachment", move || file.check().map(|()| file)).await??;
        let pool = self.pool()?;
        let query = sqlx::query!(
            r#"SELECT (SELECT count(*) FROM bench_attachment WHERE run = $1) AS "files!" FROM bench_run WHERE id = $1"#,
            run
        );
        let Some(found) = self.bounded("look up a run", query.fetch_optional(&pool)).await? else {
            return Ok(None);
        };
        if found.files >= MAX_ATTACHMENTS {
            return Err(too_many(found.files));
        }
        let packed = blocking("compress an attachment", move || PackedAttachment::pack(&file)).await??;
        let store = async {
            let mut connection = pool.acquire().await?;
            write(&mut connection, run, &packed).await
        };
        let id = self.bounded_by(BULK_LIMIT, "store an attachment", store).await?;
        Ok(self
            .attachments(run)
            .await?
            .into_iter()
            .find(|file| file.id == id))
    }

    /// The files of a run, oldest first.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn attachments(&self, run: Uuid) -> Result<Vec<BenchAttachment>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query_as!(
            AttachmentRecord,
            "SELECT id, run, kind, side, name, size, sha256 FROM bench_attachment WHERE run = $1 ORDER BY id",
            run
        );
        let records = self.bounded("list attachments", query.fetch_all(&pool)).await?;
        records.into_iter().map(AttachmentRecord::read).collect()
    }

    /// A file, to be read piece by piece. `None`: no such file.
    ///
    /// # Errors
    /// [`HistoryError`]
    pub async fn open_attachment(
        self: &Arc<Self>,
        id: Uuid,
    ) -> Result<Option<AttachmentReader>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query!(
            r#"SELECT id, run, kind, side, name, size, sha256, octet_length(zstd) AS "stored!"
               FROM bench_attachment WHERE id = $1"#,
            id
        );
        let found = self
            .bounded("look up an attachment", query.fetch_optional(&pool))
            .await?;
        let Some(record) = found else { return Ok(None) };
        let stored = record.stored;
        let file = AttachmentRecord {
            id: record.id,
            run: record.run,
            kind: record.kind,
            side: record.side,
            name: record.name,
            size: record.size,
            sha256: record.sha256,
        }
        .read()?;
        AttachmentReader::new(Arc::clone(self), file, stored).map(Some)
    }

    /// A file with its bytes as they came, at most [`MAX_ATTACHMENT_BYTES`].
    ///
    /// # Errors
    /// [`HistoryError::Row`] when what is stored does not give the bytes that were kept.
    pub async fn attachment(
        self: &Arc<Self>,
        id: Uuid,
    ) -> Result<Option<(BenchAttachment, Vec<u8>)>, HistoryError> {
        let Some(mut reader) = self.open_attachment(id).await? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        while let Some(piece) = reader.next().await? {
            bytes.extend_from_slice(&piece);
        }
        Ok(Some((reader.file().clone(), bytes)))
    }
}

struct AttachmentRecord {
    id: Uuid,
    run: Uuid,
    kind: String,
    side: String,
    name: String,
    size: i64,
    sha256: String,
}

impl AttachmentRecord {
    fn read(self) -> Result<BenchAttachment, HistoryError> {
        let table = "bench_attachment";
        let side = match self.side.as_str() {
            "" => None,
            word => Some(stored_word(table, self.id, "side", word, Side::from_name(word))?),
        };
        Ok(BenchAttachment {
            id: self.id,
            run: self.run,
            kind: stored_word(
                table,
                self.id,
                "kind",
                &self.kind,
                AttachmentKind::from_word(&self.kind),
            )?,
            side,
            name: self.name,
            size: u64::try_from(self.size).unwrap_or_default(),
            sha256: self.sha256,
        })
    }
}
