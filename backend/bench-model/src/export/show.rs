//! The words and numbers that mail, Markdown and HTML share.

use crate::comparison::{Comparison, JudgedCell};
use crate::findings::Findings;
use crate::interval::RatioInterval;
use crate::matrix::Metric;
use crate::text::significant;
use crate::unit::{Dimension, Unit};
use crate::verdict::Verdict;

/// A change in percent with its sign: `-12.3%`; beyond thousandfold `>+999%`.
pub(crate) fn percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if percent > 999.9 {
        ">+999%".to_owned()
    } else {
        let digits = if percent.abs() >= 100.0 { 0 } else { 1 };
        format!("{percent:+.digits$}%")
    }
}

/// The larger distance of an end of the interval from the estimate, in percent of before.
fn half_width(ratio: &RatioInterval) -> String {
    let estimate = ratio.estimate();
    let distance = (ratio.high() - estimate).max(estimate - ratio.low()).max(0.0) * 100.0;
    if distance > 999.9 {
        ">999".to_owned()
    } else {
        let digits = if distance >= 100.0 { 0 } else { 1 };
        format!("{distance:.digits$}")
    }
}

/// The bound of a change that was not shown, in percent.
pub(crate) fn bound(ratio: f64) -> String {
    let percent = ratio * 100.0;
    if percent.is_finite() && percent <= 999.9 {
        format!("{}%", significant((percent * 10.0).ceil() / 10.0, 3))
    } else {
        ">999%".to_owned()
    }
}

/// The change of a cell in at most 16 columns: `-12.3% +-1.2 *`, `~ 3.2%`, `~ 8.1% n+6`.
pub(super) fn change(cell: &JudgedCell<'_>) -> String {
    let Some(ratio) = &cell.ratio else {
        return "one side only".to_owned();
    };
    match cell.verdict {
        Some(Verdict::Faster | Verdict::Slower) => {
            format!("{} +-{} *", percent(ratio.estimate()), half_width(ratio))
        }
        Some(Verdict::EqualWithin { within_ratio }) => format!("~ {}", bound(within_ratio)),
        Some(Verdict::Inconclusive { more_runs }) => format!("~ {} n+{more_runs}", bound(ratio.bound())),
        None => percent(ratio.estimate()),
    }
}

/// One character behind the number after: `*` significant, `~` none shown, blank for metrics without verdict.
pub(super) fn mark(cell: &JudgedCell<'_>) -> char {
    match cell.verdict {
        Some(verdict) if verdict.is_significant() => '*',
        Some(_) => '~',
        None => ' ',
    }
}

/// Numbers of a column that are further apart than this do not fit one unit: each gets its own prefix.
const APART: f64 = 1e4;

/// Factors and what they are called, largest first.
pub(super) type Steps = &'static [(f64, &'static str)];

/// How the numbers of a column are printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ColumnUnit {
    /// What a number is multiplied by.
    pub factor: f64,
    /// Stands in the header.
    pub name: &'static str,
    /// Prefixes that single numbers may carry, by their letters; none when one unit fits all.
    pub prefixes: Steps,
}

/// The unit of a column whose numbers lie between `smallest` (zeros aside) and `largest`.
pub(super) fn column_unit(metric: &Metric, smallest: f64, largest: f64) -> ColumnUnit {
    let unit = metric.unit;
    let base = largest * unit.scale();
    let apart = smallest > 0.0 && largest / smallest >= APART;
    let (steps, prefixes): (Steps, Steps) = match unit.dimension() {
        Dimension::Time | Dimension::CpuTime => (
            &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")],
            &[(1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")],
        ),
        Dimension::Size => (
            &[
                (1_073_741_824.0 * 10.0, "GiB"),
                (1_048_576.0, "MiB"),
                (1024.0, "KiB"),
                (1.0, "B"),
            ],
            BINARY,
        ),
        Dimension::Throughput => (&[(1_048_576.0, "MiB/s"), (1024.0, "KiB/s"), (1.0, "B/s")], BINARY),
        Dimension::Cycles | Dimension::Instructions | Dimension::Count => (
            &[(1e10, "10^9"), (1e7, "10^6"), (1e4, "10^3"), (1.0, "")],
            &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")],
        ),
        _ => (&[], &[]),
    };
    let whole = |name| ColumnUnit {
        factor: 1.0,
        name,
        prefixes: &[],
    };
    let chosen = steps.iter().find(|(factor, _)| base >= *factor).or(steps.last());
    let (Some((_, name)), Some((_, smallest_name))) = (chosen, steps.last()) else {
        // A quotient has no unit; that it is one, its name says.
        return whole(if unit == Unit::Ratio { "" } else { unit.name() });
    };
    if apart {
        // The letter is that of the unit without prefix.
        let name = match unit.dimension() {
            Dimension::Time | Dimension::CpuTime => "s",
            _ => smallest_name,
        };
        return ColumnUnit {
            factor: unit.scale(),
            name,
            prefixes,
        };
    }
    let factor = match *name {
        "10^9" => 1e9,
        "10^6" => 1e6,
        "10^3" => 1e3,
        "" => 1.0,
        name => Unit::from_name(name)
            .map(Unit::scale)
            // Gibibytes are no unit of the list, only of tables.
            .unwrap_or(1_073_741_824.0),
    };
    ColumnUnit {
        factor: unit.scale() / factor,
        name,
        prefixes: &[],
    }
}

/// Letters of powers of 1024.
const BINARY: Steps = &[
    (1_073_741_824.0, "G"),
    (1_048_576.0, "M"),
    (1024.0, "K"),
    (1.0, ""),
];

/// What is said of each judged metric, a line each: `time: Faster in 2 of 4 cells, …`.
pub(super) fn findings(comparison: &Comparison<'_>) -> Vec<String> {
    Findings::of(comparison)
        .into_iter()
        .map(|found| format!("{}: {}", found.metric, found.sentence))
        .collect()
}

/// What stands above every table, sentence by sentence.
pub(super) fn notes(comparison: &Comparison<'_>) -> Vec<String> {
    let matrix = comparison.matrix;
    let rules = &matrix.rules;
    let mut notes = Vec::new();
    if matrix.quick {
        notes.push("QUICK: a short version of the workload, its verdicts are quick ones.".to_owned());
    }
    if let Some(busy) = matrix.busy() {
        notes.push(format!("{busy}; times on the wall get no verdict."));
    }
    if comparison.across_machines {
        notes.push(format!(
            "ACROSS MACHINES: before on {}, after on {}; the change is not that of the code alone.",
            class(&matrix.before.machine_class),
            class(&matrix.after.machine_class)
        ));
    }
    notes.push(runs_note(comparison));
    let correction = if rules.holm {
        format!(", Holm over {} cells", comparison.judged_cells)
    } else {
        String::new()
    };
    notes.push(format!(
        "Medians. Change: of the median, +- the farther end of its {}% interval.",
        significant(rules.confidence * 100.0, 3)
    ));
    notes.push(format!(
        "* significant (Mann-Whitney, p <= {}{correction}) and at least {}% or the noise of the series' history. \
         ~ none shown: a change is smaller than the bound; n+N: N more runs a side would decide.",
        significant(rules.alpha, 3),
        significant(rules.min_effect_ratio * 100.0, 3)
    ));
    if matrix.rows.iter().any(|row| row.control) {
        notes.push(format!(
            "ctl: the control, {} at its default on both sides (before@default vs after@default).",
            matrix.knob
        ));
    }
    let missing = matrix.scenarios_without_control();
    if !missing.is_empty() {
        notes.push(format!(
            "No control row in {}: a change there may be the machine's.",
            missing.join(", ")
        ));
    }
    notes
}

fn class(name: &str) -> &str {
    if name.is_empty() {
        "an unknown machine"
    } else {
        name
    }
}

fn runs_note(comparison: &Comparison<'_>) -> String {
    let (fewest, most) = comparison.runs();
    let runs = if fewest == most {
        format!("n = {fewest}")
    } else {
        format!("n = {fewest} to {most}")
    };
    let mut seeds: Vec<u64> = comparison
        .cells()
        .filter_map(|(_, cell)| cell.cell.samples.order_seed())
        .collect();
    seeds.sort_unstable();
    seeds.dedup();
    match seeds.as_slice() {
        [] => format!("{runs} runs a side, in the order of the file."),
        [seed] => format!("{runs} runs a side, before and after in random order (seed {seed})."),
        [seed, ..] => format!("{runs} runs a side, before and after in random order (first seed {seed})."),
    }
}

/// Cells that got worse and samples with two peaks, each by name.
pub(super) fn warnings(comparison: &Comparison<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for (row, cell) in comparison.cells() {
        let control = if row.control { ", control" } else { "" };
        let place = format!("{}, {}{control}, {}", row.scenario, row.value, cell.metric.name);
        if cell.verdict == Some(Verdict::Slower) {
            lines.push(format!("Worse: {place}: {}", change(cell)));
        }
        for (side, summary) in [("before", cell.before), ("after", cell.after)] {
            if let Some(peaks) = summary.and_then(|summary| summary.two_peaks) {
                lines.push(format!(
                    "Two peaks: {place} ({side}): near {} and {}; the median is neither.",
                    cell.metric.unit.human(peaks.lower),
                    cell.metric.unit.human(peaks.upper)
                ));
            }
        }
    }
    if !comparison.machines_known() {
        lines.push("Environment: machines not known; neither side says what measured it.".to_owned());
    }
    for fact in &comparison.environment {
        let or_unknown = |text: &str| {
            if text.is_empty() {
                "(not known)".to_owned()
            } else {
                text.to_owned()
            }
        };
        lines.push(format!(
            "Environment differs: {}: {} -> {}",
            fact.name,
            or_unknown(&fact.before),
            or_unknown(&fact.after)
        ));
    }
    lines
}
