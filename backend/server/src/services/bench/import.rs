//! Files of other tools, and our own.

use std::sync::Arc;

use fleethold_api_types::bench::ImportReport;
use fleethold_bench_model::import::{Format, import as parse};
use fleethold_bench_model::sample::Side;
use fleethold_format::names::Authid;
use fleethold_history::bench::{NewBenchRun, NewContent};
use uuid::Uuid;

use super::files::check_name;
use super::lab::ImportPlace;
use crate::clock;
use crate::services::error::{ServiceError, ServiceResult};
use crate::state::AppState;

/// What is imported.
#[derive(Debug)]
pub struct Upload {
    /// Name of the file.
    pub name: String,
    /// Its format; absent: found by looking at it.
    pub format: Option<String>,
    /// Only say what would be stored.
    pub dry_run: bool,
    /// The file.
    pub bytes: Vec<u8>,
    /// Its place in memory.
    pub place: ImportPlace,
}

/// Checks what can be checked before the file is there.
///
/// # Errors
/// When name or format are none.
pub fn check(name: &str, format: Option<&str>) -> ServiceResult<Option<Format>> {
    check_name(name)?;
    format
        .map(str::parse)
        .transpose()
        .map_err(|error| ServiceError::bad_request("unknown-format", error))
}

/// Imports a file with its original, once: the same file again is known, whatever it is called.
///
/// # Errors
/// When the file is not what it is said to be, naming file, place, expected and found; or the database is away, and
/// then nothing was stored.
pub async fn import(state: &AppState, upload: Upload, operator: &Authid) -> ServiceResult<ImportReport> {
    let format = check(&upload.name, upload.format.as_deref())?;
    let operator = operator.to_string();
    let read = state.lab.turns.compute(move || {
        let imported = parse(&upload.name, &upload.bytes, format)
            .map_err(|error| ServiceError::unprocessable("import-refused", error))?;
        let format = imported.format.name();
        let new = NewBenchRun::imported(
            Uuid::now_v7(),
            clock::now(),
            &operator,
            &upload.name,
            upload.bytes,
            imported,
        );
        Ok((report(&new, format), new, upload.dry_run, upload.place))
    });
    let (report, new, dry_run, place) = read.await?;
    let database = Arc::clone(&state.views.database);
    let found = state.work.spawn(async move {
        let _place = place;
        if dry_run {
            let known = database.rehearse_bench_run(new).await?;
            return Ok((known, known.is_some()));
        }
        let stored = database.store_bench_run(new).await?;
        Ok::<_, fleethold_history::HistoryError>((Some(stored.id), stored.known))
    });
    let (run, known) = found.await??;
    Ok(ImportReport {
        run,
        known,
        dry_run,
        ..report
    })
}

fn report(new: &NewBenchRun, format: &str) -> ImportReport {
    let (series, samples) = match &new.content {
        NewContent::Matrix(matrix) => {
            let cells = || matrix.rows.iter().flat_map(|row| &row.cells);
            let sides = cells().map(|cell| {
                let has = |side: Side| cell.samples.iter().any(|(of, _)| of == side);
                Side::BOTH.into_iter().filter(|side| has(*side)).count()
            });
            (sides.sum(), cells().map(|cell| cell.samples.len()).sum())
        }
        NewContent::Series(list) => {
            let samples = list.iter().map(|series| series.values.len());
            (list.len(), samples.sum())
        }
        NewContent::Stacks => (0, 0),
    };
    let (series, samples): (usize, usize) = (series, samples);
    ImportReport {
        run: None,
        known: false,
        dry_run: false,
        format: format.to_owned(),
        workload: new.meta.workload.name.clone(),
        series: series as u64,
        samples: samples as u64,
        facts: new.meta.facts.clone(),
    }
}
