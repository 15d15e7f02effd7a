//! Matrices to test with: drawn ones, and a plain one.

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
                .map(|(name, legend)| Scenario { name, legend })
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

/// The restore sweep as the lab prints it, with a clear gain, a clear loss, an equal and an undecided row.
pub(crate) fn restore() -> Matrix {
    let metric = |name: &str, unit: Unit, judged| Metric {
        name: name.to_owned(),
        unit,
        better: unit.better(),
        judged,
    };
    let row = |scenario: &str, value: &str, control, time: [f64; 2], width: f64| {
        let spread = |centre: f64, i: u32| centre * (1.0 + width * (f64::from(i * 7 % 8) / 7.0 - 0.5));
        let cell = |name: &str, of: fn(f64) -> f64| {
            let mut samples = Samples::new(Some(42));
            for i in 0..8 {
                samples
                    .push(Side::Before, of(spread(time[0], i)))
                    .expect("a measurement");
                samples
                    .push(Side::After, of(spread(time[1], i)))
                    .expect("a measurement");
            }
            Cell {
                metric: name.to_owned(),
                samples,
                noise_ratio: Some(0.025),
            }
        };
        let mut sizes = WriteSizes::default();
        sizes.before.add_many(4096, 4000);
        sizes.after.add_many(4 << 20, 1024);
        Row {
            scenario: scenario.to_owned(),
            value: value.to_owned(),
            control,
            cells: vec![
                cell("time", |seconds| seconds),
                cell("throughput", |seconds| 4096.0 / seconds),
                cell("cpu", |seconds| 2.0 + seconds / 100.0),
                cell("rss", |seconds| 1e8 + seconds * 1e3),
            ],
            write_sizes: Some(sizes),
        }
    };
    let version = |label: &str, kernel: &str| Version {
        label: label.to_owned(),
        machine_class: "2-core-vm".to_owned(),
        environment: BTreeMap::from([("kernel".to_owned(), kernel.to_owned())]),
    };
    let scenario = |name: &str, legend: &str| Scenario {
        name: name.to_owned(),
        legend: legend.to_owned(),
    };
    Matrix {
        workload: "restore".to_owned(),
        knob: "concurrency".to_owned(),
        parameters: BTreeMap::from([("image".to_owned(), "mixed, 4 GiB".to_owned())]),
        scenarios: vec![
            scenario("fast", "everything in the page cache"),
            scenario(
                "spinner",
                "4 spindles, each 8 ms seek and 150 MB/s of encoded bytes, first come first served",
            ),
        ],
        metrics: vec![
            metric("time", Unit::Seconds, true),
            metric("throughput", Unit::MebibytesPerSecond, false),
            metric("cpu", Unit::CpuSeconds, true),
            metric("rss", Unit::Bytes, true),
        ],
        rows: vec![
            row("fast", "1", true, [10.0, 10.01], 0.004),
            row("fast", "1", false, [10.0, 10.01], 0.004),
            row("fast", "8", false, [10.0, 2.5], 0.02),
            row("spinner", "1", true, [40.0, 40.5], 0.3),
            row("spinner", "8", false, [40.0, 52.0], 0.02),
        ],
        before: version("v1.2", "6.1.0"),
        after: version("3f2a91c", "6.1.4"),
        data_sha256: "0123456789abcdef".repeat(4),
        permalink: Some("https://bench.example.com:8007/bench/compare/7f3a".to_owned()),
        quick: false,
        rules: Rules::default(),
    }
}
