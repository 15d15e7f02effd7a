//! A comparison as the server would send it, for tests.

use fleethold_api_types::bench::{
    Comparison, Findings, Interval, JudgedCell, MatrixRow, Metric, Sample, Scenario, Side, Summary, Tally,
    Verdict, Version,
};

/// A cell with these samples and this outcome; its ratio is that of the medians.
pub(super) fn cell(before: &[f64], after: &[f64], verdict: Option<Verdict>) -> JudgedCell {
    let mut samples = Vec::new();
    for (b, a) in before.iter().zip(after) {
        samples.push(Sample {
            side: Side::Before,
            value: *b,
        });
        samples.push(Sample {
            side: Side::After,
            value: *a,
        });
    }
    let (b, a) = (summary(before), summary(after));
    let estimate = a.median / b.median;
    JudgedCell {
        metric: "rate".into(),
        samples_total: samples.len() as u64,
        samples,
        before: Some(b),
        after: Some(a),
        ratio: Some(Interval {
            estimate,
            low: Some(estimate * 0.98),
            high: Some(estimate * 1.02),
            confidence: 0.95,
        }),
        p: Some(0.0002),
        adjusted_p: Some(0.004),
        threshold_ratio: 0.03,
        verdict,
        series: None,
    }
}

/// The figures of some values.
pub(super) fn summary(values: &[f64]) -> Summary {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let index = ((sorted.len() - 1) as f64 * share).round() as usize;
        sorted.get(index).copied().unwrap_or(0.0)
    };
    Summary {
        runs: sorted.len() as u64,
        min: at(0.0),
        lower_quartile: at(0.25),
        median: at(0.5),
        upper_quartile: at(0.75),
        max: at(1.0),
        mad: 1.0,
        two_peaks: None,
    }
}

/// Two scenarios, three values and the control row.
pub(crate) fn comparison() -> Comparison {
    let row = |scenario: &str, value: &str, control, cell| MatrixRow {
        scenario: scenario.into(),
        value: value.into(),
        control,
        cells: vec![cell],
        write_sizes: None,
    };
    let faster = |by: f64| {
        cell(
            &[800.0, 812.0, 830.0],
            &[800.0 * by, 812.0 * by, 830.0 * by],
            Some(Verdict::Faster),
        )
    };
    Comparison {
        workload: "restore".into(),
        knob: "concurrency".into(),
        parameters: [("seed".to_owned(), "7".to_owned())].into(),
        scenarios: ["spinner", "far"]
            .map(|name| Scenario {
                name: name.into(),
                legend: format!("{name} source"),
            })
            .to_vec(),
        metrics: vec![Metric {
            name: "rate".into(),
            unit: "MiB/s".into(),
            lower_is_better: false,
            judged: true,
        }],
        rows: vec![
            row("spinner", "16", true, faster(1.2)),
            row(
                "spinner",
                "1",
                false,
                cell(
                    &[312.0],
                    &[311.0],
                    Some(Verdict::EqualWithin { within_ratio: 0.03 }),
                ),
            ),
            row("spinner", "16", false, faster(1.315)),
            row("spinner", "20", false, faster(1.382)),
            row(
                "far",
                "1",
                false,
                cell(&[119.0, 119.0], &[114.478, 114.478], Some(Verdict::Slower)),
            ),
            row(
                "far",
                "16",
                false,
                cell(&[288.0], &[293.0], Some(Verdict::Inconclusive { more_runs: 4 })),
            ),
        ],
        before: Version {
            label: "8c1f04e".into(),
            machine_class: "m".into(),
            environment: [
                ("kernel".to_owned(), "6.8.12-4-pve".to_owned()),
                ("cpu".to_owned(), "EPYC".to_owned()),
            ]
            .into(),
        },
        after: Version {
            label: "d27ab91".into(),
            machine_class: "m".into(),
            environment: [
                ("kernel".to_owned(), "6.8.12-5-pve".to_owned()),
                ("cpu".to_owned(), "EPYC".to_owned()),
            ]
            .into(),
        },
        data_sha256: "9c40d1e7".into(),
        quick: false,
        judged_cells: 6,
        differences: Vec::new(),
        across_machines: false,
        alpha: 0.05,
        min_effect_ratio: 0.02,
        runs: Vec::new(),
        findings: vec![Findings {
            metric: "rate".into(),
            swept: Tally::default(),
            control: Tally::default(),
            sentence: "Faster in 2 of 5 cells, up to +38.2% on spinner at 20; inconclusive in 1 (4 more runs a side).".into(),
        }],
    }
}
