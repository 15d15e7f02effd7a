//! Files with measurements.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use fleethold_bench_model::import::{Imported, MAX_BYTES, import};

use super::super::exit::CliResult;

/// Reads a file in whatever format it has.
pub(super) fn read(path: &Path) -> CliResult<Imported> {
    let (name, bytes) = bytes(path)?;
    Ok(import(&name, &bytes, None)?)
}

/// The name of a file, and what it holds.
pub(super) fn bytes(path: &Path) -> CliResult<(String, Vec<u8>)> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path).with_context(|| format!("opening {name}"))?;
    let mut bytes = Vec::new();
    // One byte more than allowed: the importer refuses what is too long.
    file.take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("reading {name}"))?;
    Ok((name, bytes))
}
