//! PostgreSQL's binary COPY form of `bench_sample`, in pieces.

use sqlx::PgConnection;
use uuid::Uuid;

/// Signature, flags, length of the extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// In place of the number of fields of another row.
const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();
/// Bytes of a piece: what waits in memory.
const PIECE: usize = 1 << 20;

/// Sends samples `(series, position, value)` of `run`.
pub(super) async fn samples(
    connection: &mut PgConnection,
    run: Uuid,
    rows: impl Iterator<Item = (i64, i32, f64)>,
) -> Result<u64, sqlx::Error> {
    let mut copy = connection
        .copy_in_raw("COPY bench_sample (series, run, position, value) FROM STDIN (FORMAT binary)")
        .await?;
    let mut buffer = Vec::with_capacity(PIECE + 64);
    buffer.extend_from_slice(HEADER);
    for (series, position, value) in rows {
        row(&mut buffer, series, run, position, value);
        if buffer.len() >= PIECE {
            copy.send(buffer.as_slice()).await?;
            buffer.clear();
        }
    }
    buffer.extend_from_slice(&TRAILER);
    copy.send(buffer.as_slice()).await?;
    copy.finish().await
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
