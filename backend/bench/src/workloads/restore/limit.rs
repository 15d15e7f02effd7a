//! What the machine can do at best: each chunk of the image checked by CRC, decompressed and hashed, with one-shot calls
//! of the libraries and reused buffers, on all cores, from memory. Shares no code with the restore engine.
//!
//! Before is the bound that the parts set, each measured alone: 1 / (1/zstd + 1/SHA-256). After is the loop.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fleethold_bench_model::sample::Side;
use fleethold_bench_model::unit::Unit;
use fleethold_format::blob::{BlobKind, PLAIN_HEADER_LEN};
use fleethold_format::index::zero_digest;
use openssl::sha::sha256;
use zstd::bulk::Decompressor;

use super::{Opened, failed};
use crate::clock;
use crate::error::BenchError;
use crate::measured::Measured;

/// Longest stored form of a chunk of 16 MiB, generously.
const MAX_ENCODED: usize = 17 << 20;

struct Chunk {
    stored: Vec<u8>,
    plain_len: usize,
    digest: [u8; 32],
}

impl Chunk {
    fn payload(&self) -> &[u8] {
        self.stored.get(PLAIN_HEADER_LEN..).unwrap_or_default()
    }

    fn compressed(&self) -> bool {
        self.stored.starts_with(&BlobKind::Zstd.magic())
    }

    fn crc(&self) -> Option<u32> {
        let (_magic, rest) = self.stored.split_first_chunk::<8>()?;
        rest.first_chunk().map(|crc| u32::from_le_bytes(*crc))
    }
}

/// Which parts of the work are done.
#[derive(Clone, Copy)]
struct Parts {
    crc: bool,
    zstd: bool,
    sha256: bool,
}

pub(super) fn sample(opened: &Opened, side: Side, megabytes: f64) -> Result<Measured, BenchError> {
    let chunks = load(opened)?;
    let cpu = clock::process_cpu();
    let time = match side {
        Side::Before => {
            let alone = |zstd, sha256| {
                run(
                    &chunks,
                    Parts {
                        crc: false,
                        zstd,
                        sha256,
                    },
                )
            };
            alone(true, false)? + alone(false, true)?
        }
        Side::After => run(
            &chunks,
            Parts {
                crc: true,
                zstd: true,
                sha256: true,
            },
        )?,
    };
    let mut measured = Measured::default();
    measured.add("time", Unit::Seconds, time.as_secs_f64());
    measured.add(
        "cpu",
        Unit::CpuSeconds,
        clock::process_cpu().saturating_sub(cpu).as_secs_f64(),
    );
    measured.add("rate", Unit::MebibytesPerSecond, megabytes / time.as_secs_f64());
    Ok(measured)
}

/// All different chunks with data, in memory.
fn load(opened: &Opened) -> Result<Vec<Chunk>, BenchError> {
    const WHAT: &str = "reading the chunks";
    let index = opened
        .snapshot
        .open_index(&opened.archive)
        .map_err(|error| failed(WHAT, error))?;
    let source = opened
        .snapshot
        .store()
        .chunk_source()
        .map_err(|error| failed(WHAT, error))?;
    let zeros = index.chunk_size().map(|size| zero_digest(size, None));
    let mut seen = HashSet::new();
    let mut chunks = Vec::new();
    for position in 0..index.chunk_count() {
        let entry = index.entry(position).map_err(|error| failed(WHAT, error))?;
        if Some(entry.digest) == zeros || !seen.insert(entry.digest) {
            continue;
        }
        let stored = source
            .read_blocking(entry.digest, MAX_ENCODED, Vec::new())
            .map_err(|error| failed(WHAT, error))?;
        chunks.push(Chunk {
            stored,
            plain_len: usize::try_from(entry.len).map_err(|error| failed(WHAT, error))?,
            digest: *entry.digest.as_bytes(),
        });
    }
    Ok(chunks)
}

/// Does the parts on all cores; returns the time it took.
fn run(chunks: &[Chunk], parts: Parts) -> Result<Duration, BenchError> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicUsize::new(0);
    let start = clock::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| work(chunks, &next, parts)))
            .collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(done) => done,
            Err(_) => Err(failed("measuring the limit", "a thread panicked")),
        })
    })?;
    Ok(clock::since(start))
}

fn work(chunks: &[Chunk], next: &AtomicUsize, parts: Parts) -> Result<(), BenchError> {
    let wrong = |what: &str| failed("measuring the limit", format!("a chunk is damaged: {what}"));
    let mut zstd = Decompressor::new().map_err(|error| failed("measuring the limit", error))?;
    let longest = chunks.iter().map(|chunk| chunk.plain_len).max().unwrap_or(0);
    let mut buffer = vec![0; longest];
    while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
        if parts.crc && Some(crc32fast::hash(chunk.payload())) != chunk.crc() {
            return Err(wrong("its CRC"));
        }
        let plain = buffer.get_mut(..chunk.plain_len).unwrap_or_default();
        let mut hashed: &[u8] = plain;
        if chunk.compressed() {
            if parts.zstd {
                let written = zstd
                    .decompress_to_buffer(chunk.payload(), plain)
                    .map_err(|_| wrong("its stream"))?;
                if written != chunk.plain_len {
                    return Err(wrong("its length"));
                }
                hashed = plain;
            }
        } else {
            hashed = chunk.payload();
        }
        // Without decompression there is nothing to compare with; the work is the same.
        let digest = parts.sha256.then(|| sha256(hashed));
        if parts.zstd && digest.is_some_and(|digest| digest != chunk.digest) {
            return Err(wrong("its digest"));
        }
    }
    Ok(())
}
