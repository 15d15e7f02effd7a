//! A workload from its definition to its matrix: what the command line and the server both call.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fleethold_bench_model::matrix::Matrix;
use fleethold_datastore::fixture::FixtureProgress;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::cell::Cell;
use crate::clock;
use crate::data::{self, DataSet};
use crate::definition::{DataSpec, Definition};
use crate::environment::{Build, Environment};
use crate::error::BenchError;
use crate::record;
use crate::runner::{self, Measurements, Phase, RunEvent, RunOptions, RunProgress};
use crate::worker::Workers;

/// What a whole run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What is judged, stored and printed.
    pub matrix: Matrix,
    /// What it was made of; floors and attachments are here.
    pub measurements: Measurements,
    /// The options, with the number of samples settled.
    pub options: RunOptions,
    /// The data.
    pub data: DataSet,
    /// The machine.
    pub environment: Environment,
}

/// The fields of a run.
pub fn cells(definition: &Definition, quick: bool) -> Vec<Cell> {
    Cell::all(definition, quick.then_some(&definition.quick))
}

/// The data of a run.
pub fn data_spec(definition: &Definition, quick: bool) -> &DataSpec {
    let other = definition.quick.data.as_ref().filter(|_| quick);
    other.unwrap_or(&definition.data)
}

/// Makes the data below `data_root` unless they are there, measures, and puts the matrix together. `on_event` is called
/// from this task only and must not block. An interrupted run returns what it measured; one that is cancelled while its
/// data are made makes no more of them.
///
/// # Errors
/// As [`data::provide`] and [`runner::run`]; [`BenchError::Cancelled`] when nothing was measured yet.
pub async fn measure(
    definition: &Definition,
    options: &RunOptions,
    data_root: &Path,
    build: &Build,
    workers: &Workers,
    on_event: &(impl Fn(&RunEvent) + Sync),
    cancel: &CancellationToken,
) -> Result<Outcome, BenchError> {
    let cells = cells(definition, options.quick);
    let options = options.clone().settled(definition);
    let data = provide(definition, &options, &cells, data_root, on_event, cancel).await?;
    if cancel.is_cancelled() {
        return Err(BenchError::Cancelled);
    }
    let measurements = runner::run(definition, data.dir.clone(), &options, workers, on_event, cancel).await?;
    let environment = {
        let (root, build) = (data_root.to_owned(), build.clone());
        blocking(move || Ok(Environment::detect(&root, &build).probed())).await?
    };
    Ok(Outcome {
        matrix: record::matrix(definition, &options, &data, &environment, &measurements),
        measurements,
        options,
        data,
        environment,
    })
}

/// Makes the data on a thread that may block, and tells how far it is.
async fn provide(
    definition: &Definition,
    options: &RunOptions,
    cells: &[Cell],
    root: &Path,
    on_event: &(impl Fn(&RunEvent) + Sync),
    cancel: &CancellationToken,
) -> Result<DataSet, BenchError> {
    let start = clock::now();
    let tell = |progress: FixtureProgress| {
        let elapsed = clock::since(start);
        let left = progress.total.saturating_sub(progress.done) as f64;
        on_event(&RunEvent::Progress(RunProgress {
            phase: Phase::Data,
            done: progress.done,
            total: progress.total,
            elapsed,
            eta: (progress.done > 0).then(|| elapsed.mul_f64(left / progress.done as f64)),
            next: None,
        }));
    };
    // The last word of each moment is enough, and the makers never wait for who listens.
    let (made, mut seen) = watch::channel(FixtureProgress { done: 0, total: 0 });
    let making = {
        let made = Arc::new(made);
        let (name, root, cancel) = (definition.name.clone(), root.to_owned(), cancel.clone());
        let (spec, cells) = (data_spec(definition, options.quick).clone(), cells.to_vec());
        blocking(move || {
            let on_progress = |progress| {
                made.send_replace(progress);
            };
            data::provide(&name, &spec, &cells, &root, &on_progress, &cancel)
        })
    };
    tokio::pin!(making);
    tell(*seen.borrow_and_update());
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    loop {
        tokio::select! {
            biased;
            made = &mut making => return made,
            _ = tick.tick() => {
                if seen.has_changed().unwrap_or(false) {
                    tell(*seen.borrow_and_update());
                }
            }
        }
    }
}

/// Runs `work` on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BenchError> + Send + 'static,
) -> Result<T, BenchError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| BenchError::Measured {
            what: "a thread of the benchmark",
            reason: error.to_string(),
        })?
}

#[cfg(test)]
mod tests;
