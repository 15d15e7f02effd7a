//! Files with measurements.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use fleethold_bench_model::import::{Content, Imported, MAX_BYTES, import};
use fleethold_bench_model::matrix::Matrix;

use super::super::exit::{CliResult, Failure};

/// Reads a file in whatever format it has.
pub(super) fn read(path: &Path) -> CliResult<Imported> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path).with_context(|| format!("opening {name}"))?;
    let mut bytes = Vec::new();
    // One byte more than allowed: the importer refuses what is too long.
    file.take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("reading {name}"))?;
    Ok(import(&name, &bytes, None)?)
}

/// Reads a run with both its sides.
pub(super) fn matrix(path: &Path) -> CliResult<Matrix> {
    match read(path)?.content {
        Content::Matrix(matrix) => Ok(*matrix),
        Content::Series(_) | Content::Stacks(_) => Err(Failure::usage(format!(
            "{}: expected a run of fleethold bench with both its sides, found one side or none; compare it with another file",
            path.display()
        ))),
    }
}
