//! M datastores × N lookups each, M·N = 1000 (pbs-devel, 24 Nov 2025).
//!
//! Before is the older way of PBS: every lookup reads, hashes and parses `datastore.cfg`, and so does the drop of a store's
//! last handle, to see whether its maintenance mode wants it closed. After is the published generation of
//! [`Fleet`]. Both use the production parser and check the maintenance mode for the same operation.

use std::hint::black_box;
use std::time::Duration;

use fleethold_bench_model::sample::Side;
use fleethold_bench_model::unit::Unit;
use fleethold_fleet::{Fleet, Lookup, Operation};
use fleethold_format::names::DatastoreName;

use crate::clock;
use crate::error::BenchError;
use crate::measured::Measured;
use crate::reparse::ReparseLookup;
use crate::usage::Usage;
use crate::worker::SampleRequest;
use crate::workloads::Workload;

/// The file both sides read.
pub(crate) const CONFIG_FILE: &str = "datastore.cfg";

/// A side is measured for at least this long, in whole runs.
const MEASURE: Duration = Duration::from_millis(100);
/// Lookups timed one by one for the tail; what costs a parse is timed less often.
const SINGLES: usize = 20_000;
/// Lookups timed together for the middle: one read of the clock costs about as much as a lookup.
const BATCH: usize = 64;
/// Seconds from which a lookup is timed by itself only.
const COSTLY: f64 = 1e-4;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "lookup",
    file: include_str!("../../../../fixtures/workloads/lookup.toml"),
    parameters: &["stores", "drop", "before_lookups"],
    metrics: &[
        "time",
        "lookup",
        "cpu",
        "lookup_p50",
        "lookup_p99",
        "read_bytes",
        "read_calls",
        "clock",
        "cycles",
        "instructions",
    ],
    sample,
    profiles_itself: false,
};

/// What one sample does.
struct Shape {
    names: Vec<DatastoreName>,
    /// Lookups of each store in a row.
    repeats: usize,
    /// Stores of a run; the figures are those of a run over all of them.
    of_a_run: usize,
    /// Whether the handles of a store are kept and dropped together.
    bulk: bool,
}

fn sample(request: &SampleRequest) -> Result<Measured, BenchError> {
    let stores: u64 = request
        .cell
        .parameter("stores", "a number of stores")?
        .ok_or_else(|| failed("the scenario does not say how many stores there are"))?;
    let shape = shape(request, stores)?;
    let dir = request.data.join(stores.to_string());
    match request.side {
        Side::Before => measure(&ReparseLookup::new(dir.join(CONFIG_FILE)), &shape),
        Side::After => {
            let fleet = Fleet::open(&dir).map_err(failed)?;
            if let Some(problem) = &fleet.current().error {
                return Err(failed(problem));
            }
            measure(&fleet, &shape)
        }
    }
}

fn shape(request: &SampleRequest, stores: u64) -> Result<Shape, BenchError> {
    let expected = "M x N, such as 10x100";
    let text: String = request.cell.value(expected)?;
    let wrong = || BenchError::Parameter {
        scenario: request.cell.scenario.clone(),
        name: request.cell.knob.0.clone(),
        expected,
        found: text.clone(),
    };
    let (m, n) = text.split_once('x').ok_or_else(wrong)?;
    let m: u64 = m.parse().map_err(|_| wrong())?;
    let repeats = n.parse().map_err(|_| wrong())?;
    if m == 0 || m > stores || repeats == 0 || repeats > 1_000_000 {
        return Err(wrong());
    }
    // The short version looks up fewer whole stores on the side where each lookup costs the same milliseconds.
    let most: Option<u64> = match request.side {
        Side::Before => request.cell.parameter("before_lookups", "a number of lookups")?,
        Side::After => None,
    };
    let fewer = most.map_or(m, |most| most.div_ceil(repeats as u64).clamp(1, m));
    // Spread over the whole configuration.
    let names: Result<_, _> = (0..fewer)
        .map(|number| number * (m / fewer))
        .map(|number| DatastoreName::parse(&store_name(number * (stores / m))))
        .collect();
    Ok(Shape {
        names: names.map_err(failed)?,
        repeats,
        of_a_run: usize::try_from(m).map_err(|_| wrong())?,
        bulk: request
            .cell
            .parameters
            .get("drop")
            .is_some_and(|drop| drop == "bulk"),
    })
}

fn measure<L: Lookup>(lookup: &L, shape: &Shape) -> Result<Measured, BenchError> {
    let per_run = shape.names.len() * shape.repeats;
    let mut before = Usage::now();
    let mut start = clock::now();
    run(lookup, shape)?;
    let mut runs = 1_u32;
    if clock::since(start) < MEASURE {
        // That was the warm-up; a run that takes longer has nothing left to warm up.
        (before, start, runs) = (Usage::now(), clock::now(), 0);
    }
    while clock::since(start) < MEASURE {
        run(lookup, shape)?;
        runs += 1;
    }
    let io = before.io_since();
    let (used, time) = before.since();
    let lookups = per_run as f64 * f64::from(runs);
    let whole_runs = lookups / (shape.of_a_run * shape.repeats) as f64;
    let per_lookup = time.as_secs_f64() / lookups;
    let mut measured = Measured::default();
    measured.add("time", Unit::Seconds, time.as_secs_f64() / whole_runs);
    if let Some(cpu) = used.value("cpu") {
        measured.add("cpu", Unit::CpuSeconds, cpu / whole_runs);
    }
    for (metric, figure) in used.iter() {
        if matches!(metric, "cycles" | "instructions") {
            measured.add(metric, figure.unit, figure.value / whole_runs);
        }
    }
    measured.copy_notes(&used);
    measured.add("lookup", Unit::Nanoseconds, per_lookup * 1e9);
    if let Some(io) = io {
        measured.add("read_bytes", Unit::Bytes, io.read_bytes as f64 / lookups);
        measured.add("read_calls", Unit::Count, io.read_calls as f64 / lookups);
    }
    if !shape.bulk {
        // What costs milliseconds needs no batch to be told from the clock.
        let batch = if per_lookup < COSTLY { BATCH } else { 1 };
        add_quantiles(lookup, shape, batch, &mut measured)?;
    }
    Ok(measured)
}

/// One run: every store looked up as often as the shape says, every handle dropped.
fn run<L: Lookup>(lookup: &L, shape: &Shape) -> Result<(), BenchError> {
    let mut kept = Vec::with_capacity(if shape.bulk { shape.repeats } else { 0 });
    for name in &shape.names {
        for _ in 0..shape.repeats {
            let handle = lookup.find(black_box(name), Operation::Write).map_err(failed)?;
            if shape.bulk {
                kept.push(handle);
            } else {
                drop(black_box(handle));
            }
        }
        black_box(&mut kept).clear();
    }
    Ok(())
}

/// Lookup and drop: the median over batches, the 99th percentile over single ones less what the clock costs.
fn add_quantiles<L: Lookup>(
    lookup: &L,
    shape: &Shape,
    batch: usize,
    measured: &mut Measured,
) -> Result<(), BenchError> {
    let mut names = shape.names.iter().cycle();
    let mut timed = |count: usize| -> Result<f64, BenchError> {
        let start = clock::now();
        for name in names.by_ref().take(count) {
            drop(black_box(
                lookup.find(black_box(name), Operation::Write).map_err(failed)?,
            ));
        }
        Ok(clock::since(start).as_secs_f64() * 1e9 / count.max(1) as f64)
    };
    let mut batches = Vec::new();
    let mut singles = Vec::new();
    let start = clock::now();
    while singles.len() < SINGLES && (singles.is_empty() || clock::since(start) < MEASURE * 2) {
        batches.push(timed(batch)?);
        for _ in 0..batch {
            singles.push(timed(1)?);
        }
    }
    let mut clock_costs: Vec<f64> = (0..1001)
        .map(|_| clock::since(clock::now()).as_secs_f64() * 1e9)
        .collect();
    let clock_cost = quantile(&mut clock_costs, 0.5);
    measured.add("clock", Unit::Nanoseconds, clock_cost);
    measured.add("lookup_p50", Unit::Nanoseconds, quantile(&mut batches, 0.5));
    let p99 = quantile(&mut singles, 0.99) - clock_cost;
    measured.add("lookup_p99", Unit::Nanoseconds, p99.max(0.0));
    Ok(())
}

fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    // Within the slice: q is at most 1.
    let at = (q * values.len().saturating_sub(1) as f64).round() as usize;
    values.get(at).copied().unwrap_or(0.0)
}

/// Name of a store of [`config_text`].
fn store_name(number: u64) -> String {
    format!("store-{number:06}")
}

/// A `datastore.cfg` of that many stores, as PBS writes them; equal seeds are equal bytes.
pub(crate) fn config_text(stores: u64, seed: u64) -> String {
    let sections = (0..stores).map(|number| {
        let name = store_name(number);
        let path = format!("/mnt/datastore/{name}");
        (name, path)
    });
    config_of(sections, seed)
}

/// A `datastore.cfg` of these names and paths with the properties that PBS's own page writes.
pub(crate) fn config_of(stores: impl Iterator<Item = (String, String)>, seed: u64) -> String {
    use rand::{Rng, SeedableRng};
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let mut text = String::new();
    for (name, path) in stores {
        let (keep_daily, keep_weekly) = (random.random_range(1..31), random.random_range(1..12));
        let hour = random.random_range(0..24);
        text.push_str(&format!(
            "datastore: {name}\n\
             \tcomment site {} rack {}\n\
             \tgc-schedule {hour:02}:30\n\
             \tnotification-mode notification-system\n\
             \tpath {path}\n\
             \tprune-schedule daily\n\
             \tkeep-daily {keep_daily}\n\
             \tkeep-weekly {keep_weekly}\n\n",
            random.random_range(1..40),
            random.random_range(1..200),
        ));
    }
    text
}

fn failed(error: impl std::fmt::Display) -> BenchError {
    BenchError::Measured {
        what: "looking up datastores",
        reason: error.to_string(),
    }
}
