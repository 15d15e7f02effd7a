//! A file of a run piece by piece: some hundred kilobytes of memory, whatever its size.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use zstd::stream::raw::{Decoder, InBuffer, Operation as _, OutBuffer};

use super::attachment::{BenchAttachment, MAX_ATTACHMENT_BYTES};
use super::new_run::hex;
use super::store::blocking;
use crate::database::Database;
use crate::error::HistoryError;

/// Bytes of the stored form that are asked for at once.
const SLICE: i32 = 256 << 10;
/// Bytes of a piece at most.
const PIECE: usize = 256 << 10;

/// Reads a file. The stored row does not change; should it go meanwhile, reading fails.
pub struct AttachmentReader {
    database: Arc<Database>,
    file: BenchAttachment,
    /// Bytes of the stored form, and how many of them came.
    stored: i32,
    came: i32,
    /// Absent while a thread works with it, and after an error.
    unpacker: Option<Unpacker>,
    /// The newest piece. It leaves when another comes, the last one when all together are known to be what was kept: a
    /// reader who counts bytes must not have all of them before.
    held: Vec<u8>,
}

/// What unpacks, with what it was given.
struct Unpacker {
    decoder: Decoder<'static>,
    input: Vec<u8>,
    used: usize,
    unpacked: u64,
    hash: Sha256,
    /// The last piece filled its buffer: the decoder may hold more.
    was_full: bool,
}

impl AttachmentReader {
    pub(super) fn new(
        database: Arc<Database>,
        file: BenchAttachment,
        stored: i32,
    ) -> Result<Self, HistoryError> {
        if file.size > MAX_ATTACHMENT_BYTES as u64 {
            return Err(damaged(&file, format!("{} bytes", file.size)));
        }
        let decoder = Decoder::new().map_err(|error| damaged(&file, error.to_string()))?;
        Ok(Self {
            database,
            file,
            stored,
            came: 0,
            unpacker: Some(Unpacker {
                decoder,
                input: Vec::new(),
                used: 0,
                unpacked: 0,
                hash: Sha256::new(),
                was_full: false,
            }),
            held: Vec::new(),
        })
    }

    /// What is read.
    pub fn file(&self) -> &BenchAttachment {
        &self.file
    }

    /// The next piece, never empty; `None` after the last one. The last comes when all of them together are what was kept.
    ///
    /// # Errors
    /// [`HistoryError::Row`] when what is stored does not give the bytes that were kept, others when the database goes
    /// away. Nothing more comes then.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, HistoryError> {
        loop {
            let Some(mut unpacker) = self.unpacker.take() else {
                return Err(damaged(&self.file, "an end before its time".to_owned()));
            };
            if unpacker.wants_more() {
                if self.came >= self.stored {
                    let (size, sha256) = (unpacker.unpacked, hex(unpacker.hash.clone()));
                    if (size, &sha256) != (self.file.size, &self.file.sha256) {
                        return Err(damaged(&self.file, format!("{size} bytes with SHA-256 {sha256}")));
                    }
                    self.unpacker = Some(unpacker);
                    let last = std::mem::take(&mut self.held);
                    return Ok(Some(last).filter(|last| !last.is_empty()));
                }
                unpacker.input = self.slice().await?;
                unpacker.used = 0;
            }
            let size = self.file.size;
            let step = move || unpacker.step(size).map(|piece| (unpacker, piece));
            let (unpacker, piece) = blocking("decompress an attachment", step)
                .await?
                .map_err(|found| damaged(&self.file, found))?;
            self.unpacker = Some(unpacker);
            if !piece.is_empty() {
                let before = std::mem::replace(&mut self.held, piece);
                if !before.is_empty() {
                    return Ok(Some(before));
                }
            }
        }
    }

    /// The next bytes of the stored form. They are stored outside of the row and not compressed by the database, so that
    /// it reads these alone.
    async fn slice(&mut self) -> Result<Vec<u8>, HistoryError> {
        let pool = self.database.pool()?;
        let query = sqlx::query_scalar!(
            r#"SELECT substring(zstd FROM $2 FOR $3) AS "slice!" FROM bench_attachment WHERE id = $1"#,
            self.file.id,
            // SQL counts from 1.
            self.came + 1,
            SLICE,
        );
        let read = query.fetch_optional(&pool);
        let slice = self.database.bounded("read an attachment", read).await?;
        let slice = slice.filter(|slice| !slice.is_empty());
        let slice =
            slice.ok_or_else(|| damaged(&self.file, "nothing: it was removed meanwhile".to_owned()))?;
        self.came = i32::try_from(slice.len()).map_or(self.stored, |length| self.came + length);
        Ok(slice)
    }
}

impl Unpacker {
    fn wants_more(&self) -> bool {
        self.used >= self.input.len() && !self.was_full
    }

    /// Unpacks one piece; the error is what was found in place of what was kept.
    fn step(&mut self, size: u64) -> Result<Vec<u8>, String> {
        let mut piece = Vec::with_capacity(PIECE);
        let (used, made) = {
            let mut output = OutBuffer::around(&mut piece);
            let mut input = InBuffer::around(self.input.get(self.used..).unwrap_or_default());
            // Until the piece is full or all input is used: one call does not promise either.
            loop {
                let before = (input.pos(), output.pos());
                self.decoder
                    .run(&mut input, &mut output)
                    .map_err(|error| error.to_string())?;
                let after = (input.pos(), output.pos());
                if after == before || after.1 >= PIECE {
                    break after;
                }
            }
        };
        self.used += used;
        self.was_full = made >= PIECE;
        self.unpacked += piece.len() as u64;
        if self.unpacked > size {
            return Err(format!("more than {size} bytes"));
        }
        self.hash.update(&piece);
        Ok(piece)
    }
}

fn damaged(file: &BenchAttachment, found: String) -> HistoryError {
    HistoryError::Row {
        table: "bench_attachment",
        id: file.id.to_string(),
        field: "zstd",
        found,
        expected: "the bytes that were kept",
    }
}
