//! Runs a workload: rounds over all fields of the matrix in an order drawn by lot, in each field both sides, one after the
//! other in an order drawn by lot.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fleethold_bench_model::flame::Folded;
use fleethold_bench_model::order::{FIRST_STREAM, interleave};
use fleethold_bench_model::sample::{SampleError, Samples, Side};
use fleethold_bench_model::unit::{Direction, Unit};
use fleethold_bench_model::verdict::default_runs;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use tokio_util::sync::CancellationToken;

use crate::cell::Cell;
use crate::clock;
use crate::cold::Cold;
use crate::definition::Definition;
use crate::error::BenchError;
use crate::guard::{LoadGuard, LoadReport};
use crate::measure::{blocking, cells};
use crate::measured::{Figure, Measured};
use crate::share::shares;
use crate::worker::{SampleRequest, Workers};

/// Samples a side of a quick run.
const QUICK_SAMPLES: usize = 6;

/// The stream of a seed from which the order of the fields is drawn.
const FIELDS_STREAM: u64 = 999;
const _: () = assert!(FIELDS_STREAM < FIRST_STREAM);

/// How a workload is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// The short version.
    pub quick: bool,
    /// Samples of each side of each field; 0 asks for the fewest that can show a difference.
    pub samples: usize,
    /// Seed of the order.
    pub seed: u64,
    /// Rounds before the first that counts.
    pub warm_up: usize,
    /// Empty the page cache of the data before each sample.
    pub cold: bool,
    /// In a cold run: empty all caches of the machine, which needs root.
    pub drop_caches: bool,
    /// Keep the stacks of each side.
    pub flamegraph: bool,
}

impl RunOptions {
    /// The usual run: as many samples as it takes, one round of warm-up, warm, without stacks.
    pub fn new(quick: bool, seed: u64) -> Self {
        Self {
            quick,
            samples: 0,
            seed,
            warm_up: 1,
            cold: false,
            drop_caches: false,
            flamegraph: false,
        }
    }

    /// The same with the number of samples settled: the fewest that can show a difference after the correction for
    /// all judged figures of the definition's fields, unless a number was asked for.
    #[must_use]
    pub fn settled(mut self, definition: &Definition) -> Self {
        if self.samples == 0 {
            self.samples = if self.quick {
                QUICK_SAMPLES
            } else {
                default_runs(cells(definition, self.quick).len() * definition.judged.len())
            };
        }
        self
    }
}

/// What a run tells while it goes on, in this order: progress of the data, then for each sample the progress before it
/// and its figures after it, at last the progress of the end.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    /// How far it is.
    Progress(RunProgress),
    /// One figure of a sample that counts.
    Sample {
        /// Which field.
        cell: Cell,
        /// Which side.
        side: Side,
        /// Which metric.
        metric: String,
        /// The figure.
        figure: Figure,
        /// Number of the sample in the run, from 0, in measured order; all figures of a sample have the same.
        number: usize,
    },
}

/// What is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The data are being made.
    Data,
    /// Samples are taken.
    Measure,
}

impl Phase {
    /// The word on the wire: `data` or `measure`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Measure => "measure",
        }
    }
}

/// How far a run is.
#[derive(Debug, Clone, PartialEq)]
pub struct RunProgress {
    /// What is going on.
    pub phase: Phase,
    /// Samples taken, warm-up included; of data what their maker counts.
    pub done: u64,
    /// Samples to take.
    pub total: u64,
    /// Since the start.
    pub elapsed: Duration,
    /// Until the end, when the rest takes as long as what is done.
    pub eta: Option<Duration>,
    /// What is measured next; `None` at the end.
    pub next: Option<(Cell, Side)>,
}

/// What a run measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    /// One a field and metric.
    pub series: Vec<Series>,
    /// Whether all of it was measured; else it was interrupted, or a sample failed.
    pub complete: bool,
    /// Why a sample failed, which ended the run; what was measured before it stands.
    pub failure: Option<String>,
    /// How busy the machine was with other things.
    pub load: LoadReport,
    /// The stacks of each side of each field, when they were asked for.
    pub attachments: Vec<Stacks>,
    /// What is to be known about the run: what could not be measured, how the cache was emptied.
    pub notes: BTreeMap<String, String>,
}

/// Where the time went on one side of a field, all its samples together.
#[derive(Debug, Clone, PartialEq)]
pub struct Stacks {
    /// Which side.
    pub side: Side,
    /// Which field.
    pub cell: Cell,
    /// The stacks.
    pub folded: Folded,
}

/// The samples of one metric of one field.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Which field.
    pub cell: Cell,
    /// Which metric.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way is an improvement.
    pub better: Direction,
    /// Both sides in measured order.
    pub samples: Samples,
}

/// Measures. A run that is interrupted, or whose next sample fails, returns what it has.
///
/// # Errors
/// [`BenchError::Sample`] when a sample fails before one was measured: a workload that does not do its work has no time;
/// [`BenchError::Cancelled`] when it was stopped before one was.
pub async fn run(
    definition: &Definition,
    data: PathBuf,
    options: &RunOptions,
    workers: &Workers,
    on_event: &(impl Fn(&RunEvent) + Sync),
    cancel: &CancellationToken,
) -> Result<Measurements, BenchError> {
    let cells = Cell::all(definition, options.quick.then_some(&definition.quick));
    let schedule = schedule(&cells, options);
    let mut notes = BTreeMap::from([("cache".to_owned(), "warm".to_owned())]);
    let cold = if options.cold {
        let (dir, drop_caches) = (data.clone(), options.drop_caches);
        let cold = Arc::new(blocking(move || Cold::prepare(&dir, drop_caches)).await?);
        notes.insert("cache".to_owned(), "cold".to_owned());
        notes.insert("cache_emptied_by".to_owned(), cold.method().to_owned());
        Some(cold)
    } else {
        None
    };
    if options.flamegraph {
        let text = "taken while it was measured, which costs time and memory";
        notes.insert("stacks".to_owned(), text.to_owned());
    }
    let mut taken = Taken {
        notes,
        ..Taken::default()
    };
    let guard = LoadGuard::start();
    let start = clock::now();
    let mut ended = None;
    let total = schedule.len() as u64;
    let progress = |done: usize, eta: Option<Duration>, next: Option<(Cell, Side)>| {
        on_event(&RunEvent::Progress(RunProgress {
            phase: Phase::Measure,
            done: done as u64,
            total,
            elapsed: clock::since(start),
            eta,
            next,
        }));
    };
    for (done, step) in schedule.iter().enumerate() {
        let elapsed = clock::since(start);
        progress(
            done,
            eta(elapsed, done, schedule.len()),
            Some((step.cell.clone(), step.side)),
        );
        let request = SampleRequest {
            kind: definition.kind,
            cell: step.cell.clone(),
            side: step.side,
            data: data.clone(),
            flamegraph: options.flamegraph && step.counts,
        };
        let sample = async {
            if let Some(cold) = &cold {
                let cold = Arc::clone(cold);
                blocking(move || cold.empty()).await?;
            }
            workers.sample(&request, cancel).await
        };
        let took = match sample.await {
            Ok(measured) if step.counts => taken.add(step, &measured, options.seed, on_event),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = took {
            ended = Some(error);
            break;
        }
    }
    let complete = ended.is_none();
    if complete {
        progress(schedule.len(), None, None);
    }
    let mut failure = match ended {
        // Nothing was measured, so there is nothing to keep.
        Some(error) if taken.series.is_empty() => return Err(error),
        None | Some(BenchError::Cancelled) => None,
        Some(error) => Some(error.to_string()),
    };
    // In the order of the table, not of names.
    let place = |series: &Series| cells.iter().position(|cell| *cell == series.cell);
    let mut series: Vec<Series> = taken.series.into_values().collect();
    if let Some(share) = &definition.share {
        match shares(share, &series) {
            Ok(made) => series.extend(made),
            // What was measured is kept all the same.
            Err(error) => failure = failure.or(Some(format!("no {}: {error}", share.metric))),
        }
    }
    series.sort_by_key(place);
    Ok(Measurements {
        series,
        complete,
        failure,
        load: guard.report(),
        attachments: taken
            .stacks
            .into_iter()
            .map(|((cell, side), folded)| Stacks { side, cell, folded })
            .collect(),
        notes: taken.notes,
    })
}

/// What was measured so far.
#[derive(Default)]
struct Taken {
    series: BTreeMap<(Cell, String), Series>,
    stacks: BTreeMap<(Cell, Side), Folded>,
    notes: BTreeMap<String, String>,
    /// Samples that count.
    samples: usize,
}

impl Taken {
    /// Adds a sample and tells its figures.
    fn add(
        &mut self,
        step: &Step,
        measured: &Measured,
        seed: u64,
        on_event: &(impl Fn(&RunEvent) + Sync),
    ) -> Result<(), BenchError> {
        let failed = |reason: String| BenchError::Sample {
            cell: step.cell.to_string(),
            side: step.side.name(),
            reason,
        };
        for (name, text) in measured.notes() {
            self.notes.entry(name.clone()).or_insert_with(|| text.clone());
        }
        if !measured.stacks.is_empty() {
            let folded = Folded::parse(&measured.stacks).map_err(|error| failed(error.to_string()))?;
            let place = (step.cell.clone(), step.side);
            let left_out = self.stacks.entry(place).or_default().merge(&folded);
            if left_out > 0 {
                let text = format!("{left_out} samples of one more stack than are kept");
                self.notes.insert("stacks_left_out".to_owned(), text);
            }
        }
        for (metric, figure) in measured.iter() {
            let key = (step.cell.clone(), metric.to_owned());
            let refused = |error: SampleError| failed(format!("{metric}: {error}"));
            match self.series.entry(key) {
                Entry::Occupied(mut series) => series
                    .get_mut()
                    .samples
                    .push(step.side, figure.value)
                    .map_err(refused)?,
                // A series is there with its first sample, not before.
                Entry::Vacant(place) => {
                    let mut samples = Samples::new(Some(seed));
                    samples.push(step.side, figure.value).map_err(refused)?;
                    place.insert(Series {
                        cell: step.cell.clone(),
                        metric: metric.to_owned(),
                        unit: figure.unit,
                        better: figure.unit.better(),
                        samples,
                    });
                }
            }
            on_event(&RunEvent::Sample {
                cell: step.cell.clone(),
                side: step.side,
                metric: metric.to_owned(),
                figure,
                number: self.samples,
            });
        }
        self.samples += 1;
        Ok(())
    }
}

struct Step {
    cell: Cell,
    side: Side,
    /// Not warm-up.
    counts: bool,
}

fn schedule(cells: &[Cell], options: &RunOptions) -> Vec<Step> {
    let rounds = options.warm_up + options.samples;
    // Each field has an order of its own, all of the one seed that is printed.
    let orders: Vec<Vec<Side>> = (0..)
        .take(cells.len())
        .map(|field| interleave(rounds, options.seed, field))
        .collect();
    let mut random = fields_random(options.seed);
    let mut fields: Vec<usize> = (0..cells.len()).collect();
    let mut steps = Vec::with_capacity(rounds * cells.len() * 2);
    for round in 0..rounds {
        fields.shuffle(&mut random);
        for &field in &fields {
            let (Some(cell), Some(order)) = (cells.get(field), orders.get(field)) else {
                continue;
            };
            let pair = order.chunks(2).nth(round).unwrap_or_default();
            steps.extend(pair.iter().map(|&side| Step {
                cell: cell.clone(),
                side,
                counts: round >= options.warm_up,
            }));
        }
    }
    steps
}

/// Draws the order of the fields; which side of a field is first is drawn from streams of its own.
fn fields_random(seed: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(FIELDS_STREAM);
    random
}

fn eta(elapsed: Duration, done: usize, total: usize) -> Option<Duration> {
    (done > 0).then(|| elapsed.mul_f64((total - done) as f64 / done as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(count: usize) -> Vec<Cell> {
        let cell = |number: usize| Cell {
            scenario: format!("s{number}"),
            knob: ("k".to_owned(), "1".to_owned()),
            parameters: BTreeMap::new(),
        };
        (0..count).map(cell).collect()
    }

    #[test]
    fn every_round_has_every_field_and_both_sides() {
        let options = RunOptions {
            samples: 5,
            ..RunOptions::new(false, 3)
        };
        let cells = cells(4);
        let steps = schedule(&cells, &options);
        assert_eq!(steps.len(), 6 * 4 * 2);
        assert_eq!(steps.iter().filter(|step| step.counts).count(), 5 * 4 * 2);
        for round in steps.chunks(8) {
            for cell in &cells {
                for side in Side::BOTH {
                    let here = round
                        .iter()
                        .filter(|step| step.cell == *cell && step.side == side);
                    assert_eq!(here.count(), 1);
                }
            }
        }
        let order = |steps: &[Step]| {
            steps
                .iter()
                .map(|step| (step.cell.scenario.clone(), step.side))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            order(&steps),
            order(&schedule(&cells, &options)),
            "a seed is an order"
        );
        let other = RunOptions { seed: 4, ..options };
        assert_ne!(order(&steps), order(&schedule(&cells, &other)));
    }

    #[test]
    fn the_order_of_fields_says_nothing_about_the_sides() {
        use rand::RngCore as _;
        // With one stream for both, the coins of field 0 were the bits that had shuffled the fields.
        let mut random = fields_random(7);
        let bits: Vec<bool> = (0..64).map(|_| random.next_u32() & 1 == 1).collect();
        for field in 0..4 {
            let order = interleave(64, 7, field);
            let coins: Vec<bool> = order.chunks(2).map(|pair| pair[0] == Side::After).collect();
            assert_ne!(bits, coins, "field {field}");
        }
    }

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        assert_eq!(eta(Duration::from_secs(10), 0, 4), None);
        assert_eq!(eta(Duration::from_secs(10), 1, 4), Some(Duration::from_secs(30)));
    }
}
