//! A sweep as people run it.

use std::collections::BTreeMap;

use fleethold_bench_model::matrix::{Cell, Matrix, Metric, Row, Scenario, Version, WriteSizes};
use fleethold_bench_model::sample::{Samples, Side};
use fleethold_bench_model::unit::Unit;
use fleethold_bench_model::verdict::Rules;

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
        aside: false,
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
