//! PostgreSQL's binary COPY form of `bench_sample`, in pieces.

use sqlx::PgConnection;
use sqlx::postgres::PgCopyIn;
use uuid::Uuid;

/// Signature, flags, length of the extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// In place of the number of fields of another row.
const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();
/// Bytes of a piece: what waits in memory.
const PIECE: usize = 1 << 20;

/// Samples of one run on their way.
pub(super) struct SampleCopy<'c> {
    copy: PgCopyIn<&'c mut PgConnection>,
    buffer: Vec<u8>,
    run: Uuid,
}

impl<'c> SampleCopy<'c> {
    pub(super) async fn begin(connection: &'c mut PgConnection, run: Uuid) -> Result<Self, sqlx::Error> {
        let copy = connection
            .copy_in_raw("COPY bench_sample (series, run, position, value) FROM STDIN (FORMAT binary)")
            .await?;
        let mut buffer = Vec::with_capacity(PIECE + 64);
        buffer.extend_from_slice(HEADER);
        Ok(Self { copy, buffer, run })
    }

    /// Adds the next sample; whenever a piece is full it is sent.
    pub(super) async fn add(&mut self, series: i64, position: i32, value: f64) -> Result<(), sqlx::Error> {
        row(&mut self.buffer, series, self.run, position, value);
        if self.buffer.len() >= PIECE {
            self.copy.send(self.buffer.as_slice()).await?;
            self.buffer.clear();
        }
        Ok(())
    }

    pub(super) async fn finish(mut self) -> Result<u64, sqlx::Error> {
        self.buffer.extend_from_slice(&TRAILER);
        self.copy.send(self.buffer.as_slice()).await?;
        self.copy.finish().await
    }
}

fn row(buffer: &mut Vec<u8>, series: i64, run: Uuid, position: i32, value: f64) {
    buffer.extend_from_slice(&4_i16.to_be_bytes());
    field(buffer, &series.to_be_bytes());
    field(buffer, run.as_bytes());
    field(buffer, &position.to_be_bytes());
    field(buffer, &value.to_be_bytes());
}

fn field<const N: usize>(buffer: &mut Vec<u8>, bytes: &[u8; N]) {
    // The lengths are 4, 8 and 16.
    buffer.extend_from_slice(&(N as i32).to_be_bytes());
    buffer.extend_from_slice(bytes);
}
