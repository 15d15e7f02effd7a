//! Plain text for a mailing list: ASCII, at most 76 columns, no tabs.
//!
//! One table a scenario, one line a knob value; up to four metrics side by side, more in further tables. The change
//! is that of the table's first metric with a verdict; every other number after carries its own mark.

use crate::comparison::{Comparison, JudgedCell, JudgedRow};
use crate::export::{MAIL_COLUMNS, show};
use crate::histogram::Log2Histogram;
use crate::matrix::{Metric, Scenario, WriteSizes};
use crate::text::{ascii, fit, significant};

/// Metrics in one table.
const METRICS: usize = 4;
/// Width of the knob value, of a number, and of the change.
const VALUE: usize = 7;
const NUMBER: usize = 5;

pub(super) fn export(comparison: &Comparison<'_>) -> String {
    let matrix = comparison.matrix;
    let mut out = Lines::default();
    out.wrapped(
        &format!(
            "{} by {}: {} (before) against {} (after){}",
            matrix.workload,
            matrix.knob,
            label(&matrix.before.label),
            label(&matrix.after.label),
            if matrix.quick { " [quick]" } else { "" }
        ),
        2,
    );
    if !matrix.parameters.is_empty() {
        let parameters: Vec<String> = matrix
            .parameters
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        out.wrapped(&format!("With {}.", parameters.join(", ")), 2);
    }
    out.blank();
    out.wrapped("Scenarios:", 0);
    for scenario in &matrix.scenarios {
        out.wrapped(&format!("  {}: {}", scenario.name, scenario.legend), 4);
    }
    out.blank();
    for note in show::notes(comparison) {
        out.wrapped(&note, 2);
    }
    for scenario in &matrix.scenarios {
        let mut rows: Vec<&JudgedRow<'_>> = comparison
            .rows
            .iter()
            .filter(|judged| judged.row.scenario == scenario.name)
            .collect();
        // The control stands first: it says what the rest is worth.
        rows.sort_by_key(|judged| !judged.row.control);
        if !rows.is_empty() {
            for metrics in matrix.metrics.chunks(METRICS) {
                table(&mut out, comparison, scenario, &rows, metrics);
            }
        }
    }
    out.blank();
    for line in show::findings(comparison)
        .into_iter()
        .chain(show::warnings(comparison))
    {
        out.wrapped(&line, 2);
    }
    write_sizes(&mut out, comparison);
    out.blank();
    out.push(last_line(comparison));
    out.text()
}

fn label(text: &str) -> &str {
    if text.is_empty() { "(no label)" } else { text }
}

/// Collects lines, each clean and short enough.
#[derive(Default)]
struct Lines(Vec<String>);

impl Lines {
    fn blank(&mut self) {
        self.0.push(String::new());
    }

    /// A line that was built to fit.
    fn push(&mut self, line: String) {
        self.0.push(fit(ascii(&line).trim_end(), MAIL_COLUMNS));
    }

    /// Words in lines, the second and later ones indented; a word longer than a line is broken.
    fn wrapped(&mut self, text: &str, indent: usize) {
        let text = ascii(text);
        let lead = text.len() - text.trim_start().len();
        let mut line = " ".repeat(lead);
        let mut empty = true;
        for word in text.split_ascii_whitespace() {
            let mut word = word;
            if !empty && line.len() + 1 + word.len() > MAIL_COLUMNS {
                self.0.push(std::mem::replace(&mut line, " ".repeat(indent)));
                empty = true;
            }
            while empty && line.len() + word.len() > MAIL_COLUMNS {
                let (head, rest) = word.split_at(MAIL_COLUMNS - line.len());
                self.0.push(format!("{line}{head}"));
                line = " ".repeat(indent);
                word = rest;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
            empty = false;
        }
        self.0.push(line.trim_end().to_owned());
    }

    fn text(self) -> String {
        let mut text = self.0.join("\n");
        text.push('\n');
        text
    }
}

fn table(
    out: &mut Lines,
    comparison: &Comparison<'_>,
    scenario: &Scenario,
    rows: &[&JudgedRow<'_>],
    metrics: &[Metric],
) {
    let units: Vec<(f64, &str)> = metrics.iter().map(|metric| unit_of(rows, metric)).collect();
    out.blank();
    out.wrapped(&format!("{}, by {}", scenario.name, comparison.matrix.knob), 2);
    let width = 2 * NUMBER + 2;
    let mut names = " ".repeat(VALUE);
    let mut sides = " ".repeat(VALUE);
    for (metric, (_, unit)) in metrics.iter().zip(&units) {
        let whole = format!("{} {unit}", metric.name);
        // Where both do not fit, the unit says more than half a name.
        let name = match (ascii(&whole).len() <= width, unit.is_empty()) {
            (true, _) => whole,
            (false, true) => fit(&metric.name, width),
            (false, false) => (*unit).to_owned(),
        };
        names.push_str(&format!(" {name:<width$}"));
        // `before` takes the blank in front of its column, too.
        sides.push_str(&format!("{:>1$} {2:>NUMBER$} ", "before", NUMBER + 1, "after"));
    }
    let leader = metrics
        .iter()
        .find(|metric| comparison.matrix.is_judged(metric))
        .or(metrics.first());
    let change = leader
        .map(|metric| format!("  {}", metric.name))
        .unwrap_or_default();
    out.push(format!("{names}{change}"));
    out.push(format!("{sides}  change"));
    for judged in rows {
        let value = if judged.row.control {
            format!("ctl {}", judged.row.value)
        } else {
            judged.row.value.clone()
        };
        let mut line = if ascii(&value).len() > VALUE {
            // A cut value could be mistaken for another: it has a line of its own.
            out.wrapped(&value, 2);
            " ".repeat(VALUE)
        } else {
            format!("{value:<VALUE$}")
        };
        for (metric, (factor, _)) in metrics.iter().zip(&units) {
            line.push_str(&numbers(cell_of(judged, metric), *factor));
        }
        if let Some(cell) = leader.and_then(|metric| cell_of(judged, metric)) {
            line.push_str(&format!("  {}", show::change(cell)));
        }
        out.push(line);
    }
}

fn cell_of<'a>(judged: &'a JudgedRow<'a>, metric: &Metric) -> Option<&'a JudgedCell<'a>> {
    judged.cells.iter().find(|cell| cell.metric.name == metric.name)
}

fn unit_of(rows: &[&JudgedRow<'_>], metric: &Metric) -> (f64, &'static str) {
    let largest = rows
        .iter()
        .filter_map(|judged| cell_of(judged, metric))
        .flat_map(|cell| [cell.before, cell.after])
        .flatten()
        .map(|summary| summary.median)
        .fold(0.0, f64::max);
    show::column_unit(metric, largest)
}

fn numbers(cell: Option<&JudgedCell<'_>>, factor: f64) -> String {
    let number = |summary: Option<crate::comparison::Summary>| {
        summary.map_or_else(|| "-".to_owned(), |summary| short(summary.median * factor))
    };
    let (before, after, mark) = cell.map_or(("-".to_owned(), "-".to_owned(), ' '), |cell| {
        (number(cell.before), number(cell.after), show::mark(cell))
    });
    format!(" {before:>NUMBER$} {after:>NUMBER$}{mark}")
}

/// A number in at most five characters: as many digits as fit.
fn short(value: f64) -> String {
    (1..=4)
        .rev()
        .map(|digits| significant(value, digits))
        .find(|text| text.len() <= NUMBER)
        .unwrap_or_else(|| {
            let text = format!("{value:.0e}");
            if text.len() <= NUMBER {
                text
            } else {
                "0".to_owned()
            }
        })
}

/// Bars of write sizes, one pair a scenario, all its rows together.
fn write_sizes(out: &mut Lines, comparison: &Comparison<'_>) {
    for scenario in &comparison.matrix.scenarios {
        let mut all = WriteSizes::default();
        for row in &comparison.matrix.rows {
            if let Some(sizes) = row.write_sizes.as_ref().filter(|_| row.scenario == scenario.name) {
                all.before.merge(&sizes.before);
                all.after.merge(&sizes.after);
            }
        }
        for (side, histogram) in [("before", &all.before), ("after", &all.after)] {
            let title = format!(
                "Write sizes, {}, {side} ({} writes):",
                scenario.name,
                histogram.total()
            );
            bars(out, &title, histogram);
        }
    }
}

fn bars(out: &mut Lines, title: &str, histogram: &Log2Histogram) {
    let lines = histogram.lines(MAIL_COLUMNS);
    if !lines.is_empty() {
        out.blank();
        out.wrapped(title, 2);
        for line in lines {
            out.push(line);
        }
    }
}

/// Data hash and permalink in one line; a link that does not fit loses its scheme, then its host.
fn last_line(comparison: &Comparison<'_>) -> String {
    let matrix = comparison.matrix;
    let hash: String = matrix.data_sha256.chars().take(12).collect();
    let data = if hash.is_empty() {
        "data not ours".to_owned()
    } else {
        format!("data {hash}")
    };
    let Some(link) = &matrix.permalink else {
        return format!("{data} (not stored, no link)");
    };
    let room = MAIL_COLUMNS - data.len() - 1;
    let bare = link.split_once("://").map_or(link.as_str(), |(_, rest)| rest);
    let path = bare.find('/').and_then(|at| bare.get(at..)).unwrap_or(bare);
    let shown = [link.as_str(), bare, path]
        .into_iter()
        .find(|text| text.len() <= room)
        .unwrap_or(path);
    format!("{data} {shown}")
}
