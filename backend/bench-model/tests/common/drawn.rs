//! Drawn matrices: everything that is allowed, however odd.

use std::collections::BTreeMap;

use fleethold_bench_model::histogram::Log2Histogram;
use fleethold_bench_model::interval::IntervalMethod;
use fleethold_bench_model::matrix::{Cell, Matrix, Metric, Row, Scenario, Version, WriteSizes};
use fleethold_bench_model::sample::{Samples, Side};
use fleethold_bench_model::unit::{Direction, Unit};
use fleethold_bench_model::verdict::Rules;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Names that people use, and names that no format likes.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9-]{0,11}",
        "[ -~\u{e4}\u{b5}\u{4e2d}]{1,24}",
        "[,\"/=%|<>&#;]{1,6}",
        "[a-z]{80,120}",
    ]
    .prop_filter("a name has to be there", |name| !name.is_empty())
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        5 => 0.5_f64..200.0,
        1 => Just(0.0),
        1 => (0_u32..1000).prop_map(f64::from),
        1 => (0_u64..0x7ff0_0000_0000_0000).prop_map(f64::from_bits),
    ]
}

fn samples() -> impl Strategy<Value = Samples> {
    (option::of(any::<u64>()), vec((any::<bool>(), value()), 1..12)).prop_map(|(seed, list)| {
        let mut samples = Samples::new(seed);
        for (is_after, value) in list {
            let side = if is_after { Side::After } else { Side::Before };
            samples.push(side, value).expect("drawn values are measurements");
        }
        samples
    })
}

fn histogram() -> impl Strategy<Value = Log2Histogram> {
    vec((any::<u64>(), 0_u64..100_000), 0..6).prop_map(|list| {
        let mut histogram = Log2Histogram::default();
        for (value, times) in list {
            histogram.add_many(value >> (value % 64), times);
        }
        histogram
    })
}

fn version() -> impl Strategy<Value = Version> {
    ("[ -~]{0,20}", btree_map("[a-z]{1,8}", "[ -~]{0,90}", 0..3)).prop_map(|(label, environment)| Version {
        label,
        machine_class: "class-a".to_owned(),
        environment,
    })
}

fn metrics() -> impl Strategy<Value = Vec<Metric>> {
    vec((select(Unit::ALL), any::<bool>(), any::<bool>()), 1..6).prop_flat_map(|list| {
        btree_set(name(), list.len()).prop_map(move |names| {
            names
                .into_iter()
                .zip(&list)
                .map(|(name, (unit, higher, judged))| Metric {
                    name,
                    unit: *unit,
                    better: if *higher {
                        Direction::Higher
                    } else {
                        Direction::Lower
                    },
                    judged: *judged,
                })
                .collect()
        })
    })
}

/// A valid matrix of 1 to 20 rows.
pub(crate) fn matrices() -> impl Strategy<Value = Matrix> {
    let head = (name(), name(), btree_map("[a-z]{1,8}", name(), 0..3), metrics());
    let frame = (version(), version(), "[0-9a-f]{64}", any::<bool>());
    let rows = vec(
        (
            name(),
            any::<bool>(),
            any::<prop::sample::Index>(),
            vec(samples(), 6),
            option::of(histogram()),
        ),
        1..=20,
    );
    let link = option::of("https://[a-z]{1,40}/[!-~]{0,60}");
    let scenarios = btree_map(name(), "[ -~\u{e4}]{0,90}", 1..4);
    (head, frame, rows, link, scenarios, any::<Option<u64>>()).prop_map(
        |(
            (workload, knob, parameters, metrics),
            (before, after, hash, quick),
            rows,
            permalink,
            scenarios,
            seed,
        )| {
            let scenarios: Vec<Scenario> = scenarios
                .into_iter()
                .map(|(name, legend)| Scenario {
                    name,
                    legend,
                    aside: false,
                })
                .collect();
            let mut taken = BTreeMap::new();
            for (value, control, scenario, samples, sizes) in rows {
                let scenario = scenario.get(&scenarios).name.clone();
                let cells = metrics
                    .iter()
                    .zip(samples)
                    .map(|(metric, samples)| Cell {
                        metric: metric.name.clone(),
                        noise_ratio: samples.order_seed().map(|seed| seed as f64 / 1e20),
                        samples,
                    })
                    .collect();
                let row = Row {
                    scenario: scenario.clone(),
                    value: value.clone(),
                    control,
                    cells,
                    write_sizes: sizes.map(|before| WriteSizes {
                        after: before.clone(),
                        before,
                    }),
                };
                taken.insert((scenario, value, control), row);
            }
            Matrix {
                workload,
                knob,
                parameters,
                scenarios,
                metrics,
                rows: taken.into_values().collect(),
                before,
                after,
                data_sha256: hash,
                permalink,
                quick,
                rules: Rules {
                    interval: match seed {
                        Some(seed) => IntervalMethod::Bootstrap { seed, pairs: 30 },
                        None => IntervalMethod::HodgesLehmann,
                    },
                    ..Rules::default()
                },
            }
        },
    )
}
