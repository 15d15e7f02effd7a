//! Files kept with a run: flame graphs, counters, logs, the imported original. Compressed, and bounded.

use fleethold_bench_model::sample::Side;
use sqlx::PgConnection;
use uuid::Uuid;

use super::new_run::{check_text, hex_sha256};
use super::run::stored_word;
use super::store::{BULK_LIMIT, blocking};
use crate::database::Database;
use crate::error::HistoryError;

/// Largest file: as much as an import may have.
pub const MAX_ATTACHMENT_BYTES: usize = 128 << 20;
/// Most files of one run.
const MAX_ATTACHMENTS: i64 = 64;
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
    pub(super) fn check(&self) -> Result<(), HistoryError> {
        check_text("attachment name", &self.name, 400)?;
        if self.bytes.len() > MAX_ATTACHMENT_BYTES {
            return Err(HistoryError::Refused {
                field: "attachment",
                found: format!("{} bytes", self.bytes.len()),
                expected: "at most 134217728 bytes",
            });
        }
        Ok(())
    }
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
        file.check()?;
        let pool = self.pool()?;
        let query = sqlx::query!(
            r#"SELECT (SELECT count(*) FROM bench_attachment WHERE run = $1) AS "files!" FROM bench_run WHERE id = $1"#,
            run
        );
        let Some(found) = self.bounded("look up a run", query.fetch_optional(&pool)).await? else {
            return Ok(None);
        };
        if found.files >= MAX_ATTACHMENTS {
            return Err(HistoryError::Refused {
                field: "attachments of the run",
                found: found.files.to_string(),
                expected: "at most 64",
            });
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

    /// A file with its bytes as they came.
    ///
    /// # Errors
    /// [`HistoryError::Row`] when what is stored does not give the bytes that were kept.
    pub async fn attachment(&self, id: Uuid) -> Result<Option<(BenchAttachment, Vec<u8>)>, HistoryError> {
        let pool = self.pool()?;
        let query = sqlx::query!(
            "SELECT id, run, kind, side, name, size, sha256, zstd FROM bench_attachment WHERE id = $1",
            id
        );
        let read = query.fetch_optional(&pool);
        let Some(record) = self.bounded_by(BULK_LIMIT, "read an attachment", read).await? else {
            return Ok(None);
        };
        let zstd = record.zstd;
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
        let damaged = |found: String| HistoryError::Row {
            table: "bench_attachment",
            id: id.to_string(),
            field: "zstd",
            found,
            expected: "the bytes that were kept",
        };
        let size = usize::try_from(file.size)
            .ok()
            .filter(|size| *size <= MAX_ATTACHMENT_BYTES)
            .ok_or_else(|| damaged(format!("{} bytes", file.size)))?;
        let bytes = blocking("decompress an attachment", move || {
            let bytes = zstd::bulk::decompress(&zstd, size).map_err(|error| error.to_string())?;
            Ok((hex_sha256(&bytes), bytes))
        })
        .await?;
        let (sha256, bytes) = bytes.map_err(damaged)?;
        if sha256 != file.sha256 {
            return Err(damaged(format!("SHA-256 {sha256}")));
        }
        Ok(Some((file, bytes)))
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
