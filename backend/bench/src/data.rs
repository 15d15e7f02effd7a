//! The data sets: made from their seeds, and checked against the workload file before anything is measured.

pub(crate) mod tree;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use fleethold_datastore::fixture::image::IMAGE_FILE;
use fleethold_datastore::fixture::{
    FixtureError, FixtureProgress, FleetSpec, ImageFile, ImageSpec, OnProgress, generate_fleet,
    generate_image,
};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::cell::Cell;
use crate::definition::DataSpec;
use crate::error::BenchError;
use crate::workloads::lookup::{CONFIG_FILE, config_text};

/// Largest image of a fleet: what is measured are its stores, not their content.
const FLEET_IMAGE_BYTES: u64 = 64 << 10;

/// When the fixtures' backups were made: 2024-05-01T10:00:00Z. A constant, so that equal seeds are equal bytes.
const MADE_AT: i64 = 1_714_557_600;

/// A data set that is there and is what the workload file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSet {
    /// Where it lies.
    pub dir: PathBuf,
    /// SHA-256 that identifies it, as 64 hex digits.
    pub sha256: String,
}

/// Makes the data below `root` unless it is there, and checks it. Blocking.
///
/// # Errors
/// [`BenchError::Data`] when it is not what `spec` says; [`BenchError::Fixture`], [`BenchError::Io`];
/// [`BenchError::Cancelled`]: the next call begins anew.
pub fn provide(
    workload: &str,
    spec: &DataSpec,
    cells: &[Cell],
    root: &Path,
    progress: &(dyn Fn(FixtureProgress) + Sync),
    cancel: &CancellationToken,
) -> Result<DataSet, BenchError> {
    let progress = |made: FixtureProgress| {
        progress(made);
        if cancel.is_cancelled() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    match spec {
        DataSpec::Image { size, seed, sha256 } => image(workload, (*size, *seed, sha256), root, &progress),
        DataSpec::Fleet { stores, seed, sha256 } => {
            fleet(workload, (*stores, *seed, sha256), root, &progress, cancel)
        }
        DataSpec::Config { seed, sha256 } => configs(workload, *seed, sha256, cells, root),
    }
}

fn image(
    workload: &str,
    (size, seed, expected): (u64, u64, &str),
    root: &Path,
    progress: OnProgress<'_>,
) -> Result<DataSet, BenchError> {
    let dir = root.join(format!("image-{size}-{seed}"));
    generate_image(&ImageSpec::new(&dir, size, seed, MADE_AT), progress).map_err(not_made(&dir))?;
    let sha256 = image_file(&dir)?.sha256;
    check(workload, &dir, expected, sha256)
}

fn fleet(
    workload: &str,
    (stores, seed, expected): (u64, u64, &str),
    root: &Path,
    progress: OnProgress<'_>,
    cancel: &CancellationToken,
) -> Result<DataSet, BenchError> {
    let dir = root.join(format!("fleet-{stores}-{seed}"));
    let spec = FleetSpec {
        max_image_bytes: FLEET_IMAGE_BYTES,
        broken_percent: 0,
        ..FleetSpec::new(&dir, stores, seed, MADE_AT)
    };
    generate_fleet(&spec, progress).map_err(not_made(&dir))?;
    let sha256 = tree::sha256(&dir, cancel)?;
    check(workload, &dir, expected, sha256)
}

fn not_made(dir: &Path) -> impl Fn(FixtureError) -> BenchError {
    move |error| match error {
        FixtureError::Stopped => BenchError::Cancelled,
        error => BenchError::Fixture {
            dir: dir.to_owned(),
            reason: error.to_string(),
        },
    }
}

/// What `fixture image` wrote of an image.
pub(crate) fn image_file(dir: &Path) -> Result<ImageFile, BenchError> {
    let path = dir.join(IMAGE_FILE);
    let bytes = std::fs::read(&path).map_err(|source| BenchError::Io {
        path: path.clone(),
        source,
    })?;
    serde_json::from_slice(&bytes).map_err(|error| BenchError::Fixture {
        dir: path,
        reason: error.to_string(),
    })
}

/// One directory per number of stores, each with a `datastore.cfg`. The data's hash is that of all their hashes.
fn configs(
    workload: &str,
    seed: u64,
    expected: &BTreeMap<String, String>,
    cells: &[Cell],
    root: &Path,
) -> Result<DataSet, BenchError> {
    let root = root.join(format!("config-{seed}"));
    let mut all = Sha256::new();
    for (stores, expected) in expected {
        let wanted = cells
            .iter()
            .any(|cell| cell.parameters.get("stores") == Some(stores));
        all.update(expected);
        if !wanted {
            continue;
        }
        let number: u64 = stores.parse().map_err(|_| BenchError::Workload {
            file: workload.to_owned(),
            reason: format!("data.sha256: expected a number of stores, found `{stores}`"),
        })?;
        let dir = root.join(stores);
        let io = |source| BenchError::Io {
            path: dir.clone(),
            source,
        };
        let text = config_text(number, seed);
        check(workload, &dir, expected, hex(&Sha256::digest(&text)))?;
        std::fs::create_dir_all(&dir).map_err(io)?;
        let file = dir.join(CONFIG_FILE);
        if std::fs::read(&file).is_ok_and(|found| found == text.as_bytes()) {
            continue;
        }
        std::fs::write(&file, &text).map_err(io)?;
    }
    Ok(DataSet {
        dir: root,
        sha256: hex(&all.finalize()),
    })
}

fn check(workload: &str, dir: &Path, expected: &str, found: String) -> Result<DataSet, BenchError> {
    if found == expected {
        Ok(DataSet {
            dir: dir.to_owned(),
            sha256: found,
        })
    } else {
        Err(BenchError::Data {
            workload: workload.to_owned(),
            dir: dir.to_owned(),
            expected: expected.to_owned(),
            found,
        })
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
