//! One run from its turn in the queue to its end.

use std::sync::Arc;
use std::time::Duration;

use fleethold_api_types::bench::{BenchProgress, BenchState, LiveSample, Sample};
use fleethold_bench::BenchError;
use fleethold_bench::measure::{Outcome, measure};
use fleethold_bench::runner::{RunEvent, RunProgress, Series};
use fleethold_bench_model::sample::Samples;

use super::convert;
use super::lab::Lab;
use super::lock::{self, MeasureLock};
use super::table::BenchCell;
use crate::clock;

/// How a run ended.
enum End {
    /// With this.
    Measured(Box<Outcome>),
    /// Without anything to keep.
    Nothing(String),
}

/// Measures; when this returns the run has ended for everybody to see. What is to be kept is in the cell.
pub async fn run(lab: &Arc<Lab>, cell: &Arc<BenchCell>) {
    let end = match attempt(lab, cell).await {
        Ok(end) => end,
        Err(BenchError::Cancelled) => End::Nothing("cancelled before anything was measured".to_owned()),
        Err(error) => End::Nothing(error.to_string()),
    };
    conclude(lab, cell, end).await;
}

async fn attempt(lab: &Lab, cell: &Arc<BenchCell>) -> Result<End, BenchError> {
    let plan = &cell.plan;
    let _lock = take_lock(lab, cell).await?;
    lab.views.bench.update(cell, |run| {
        run.state = BenchState::Running;
        run.waits_for = None;
        run.started_at = Some(clock::now());
    });
    let on_event = |event: &RunEvent| note(lab, cell, event);
    let outcome = measure(
        &plan.workload.definition,
        &plan.options,
        &lab.dir,
        &lab.build,
        &lab.workers,
        &on_event,
        &cell.cancel,
    )
    .await?;
    if outcome.matrix.rows.is_empty() {
        return Err(BenchError::Cancelled);
    }
    Ok(End::Measured(Box::new(outcome)))
}

/// Waits for its turn on this machine; says who has it.
async fn take_lock(lab: &Lab, cell: &BenchCell) -> Result<MeasureLock, BenchError> {
    let note = format!("{} of the server", cell.plan.workload.definition.name);
    loop {
        let (name, note) = (lab.lock.clone(), note.clone());
        let taken = tokio::task::spawn_blocking(move || lock::try_take(&name, &note))
            .await
            .map_err(|error| BenchError::Measured {
                what: "the lock of the machine",
                reason: error.to_string(),
            })?
            .map_err(|error| BenchError::Measured {
                what: "the lock of the machine",
                reason: format!("socket @{}: {error}", lab.lock),
            })?;
        match taken {
            Ok(lock) => return Ok(lock),
            Err(holder) => {
                let text = format!("{holder} measures on this machine");
                if cell.run().waits_for.as_ref() != Some(&text) {
                    lab.views.bench.update(cell, |run| run.waits_for = Some(text));
                }
            }
        }
        tokio::select! {
            () = cell.cancel.cancelled() => return Err(BenchError::Cancelled),
            () = tokio::time::sleep(lock::POLL) => {}
        }
    }
}

/// Shows an event of the runner; quick, since the runner waits.
fn note(lab: &Lab, cell: &BenchCell, event: &RunEvent) {
    match event {
        RunEvent::Progress(progress) => {
            let progress = progress_of(progress);
            lab.views.bench.update(cell, |run| run.progress = Some(progress));
        }
        RunEvent::Sample {
            cell: field,
            side,
            metric,
            figure,
            number,
        } => {
            let mut series = cell.series.lock();
            let at = series
                .iter()
                .position(|known| known.cell == *field && known.metric == *metric);
            let at = at.unwrap_or(series.len());
            if at == series.len() {
                series.push(Series {
                    cell: field.clone(),
                    metric: metric.clone(),
                    unit: figure.unit,
                    better: figure.unit.better(),
                    samples: Samples::new(Some(cell.plan.options.seed)),
                });
            }
            if let Some(series) = series.get_mut(at) {
                // The runner checked it before it told.
                drop(series.samples.push(*side, figure.value));
            }
            drop(series);
            lab.views.bench.sample(LiveSample {
                run: cell.id(),
                number: *number as u64,
                scenario: field.scenario.clone(),
                value: field.knob.1.clone(),
                metric: metric.clone(),
                unit: figure.unit.name().to_owned(),
                sample: Sample {
                    side: convert::side(*side),
                    value: figure.value,
                },
            });
        }
    }
}

fn progress_of(progress: &RunProgress) -> BenchProgress {
    let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    BenchProgress {
        phase: progress.phase.name().to_owned(),
        done: progress.done,
        total: progress.total,
        elapsed_ns: nanos(progress.elapsed),
        eta_ns: progress.eta.map(nanos),
        next: progress
            .next
            .as_ref()
            .map(|(cell, side)| format!("{cell} {}", side.name()))
            .unwrap_or_default(),
    }
}

/// Ends a run for everybody to see.
async fn conclude(lab: &Arc<Lab>, cell: &BenchCell, end: End) {
    let end = match end {
        End::Measured(outcome) => {
            let outcome = Arc::new(*outcome);
            let judged = {
                let outcome = Arc::clone(&outcome);
                lab.turns.compute(move || convert::tally(&outcome.matrix)).await
            };
            judged
                .map(|verdicts| (outcome, verdicts))
                .map_err(|error| error.to_string())
        }
        End::Nothing(reason) => Err(reason),
    };
    let now = clock::now();
    match end {
        Ok((outcome, verdicts)) => {
            let complete = outcome.measurements.complete;
            let failure = outcome.measurements.failure.clone();
            *cell.outcome.lock() = Some(outcome);
            lab.views.bench.update(cell, |run| {
                run.state = if complete {
                    BenchState::Ok
                } else {
                    BenchState::Partial
                };
                run.finished_at = Some(now);
                run.verdicts = Some(verdicts);
                run.progress = None;
                run.error = failure;
            });
        }
        Err(reason) => {
            let run = fail(lab, cell, reason);
            tracing::warn!(id = %run.id, workload = %run.workload, error = run.error, "nothing was measured");
        }
    }
    // The outcome has them, or nobody wants them.
    cell.series.lock().clear();
}

/// Ends a run that keeps nothing.
pub fn fail(lab: &Lab, cell: &BenchCell, reason: String) -> fleethold_api_types::bench::BenchRun {
    lab.views.bench.update(cell, |run| {
        run.state = BenchState::Failed;
        run.finished_at = Some(clock::now());
        run.waits_for = None;
        run.progress = None;
        run.error = Some(reason);
    })
}
