//! Plain text for a mailing list: ASCII, at most 76 columns, no tabs.
//!
//! One table a scenario, one line a knob value; up to four metrics side by side, more in further tables. The change
//! is that of the table's first metric with a verdict; every other number after carries its own mark.

use crate::comparison::{Comparison, JudgedCell, JudgedRow, Summary};
use crate::export::show::ColumnUnit;
use crate::export::{MAIL_COLUMNS, show};
use crate::histogram::Log2Histogram;
use crate::matrix::{Metric, Scenario, WriteSizes};
use crate::text::{ascii, fit, significant};

/// Metrics in one table.
const METRICS: usize = 4;
/// Width of the knob value, of a number, and of the change.
const VALUE: usize = 7;
const NUMBER: usize = 5;
/// Stands above tables where one unit does not fit a column.
const LETTERS: &str = "Letters behind numbers: m, u, n are 10^-3, 10^-6, 10^-9; k, M, G are 10^3, 10^6, 10^9; of bytes \
                       K, M, G are 2^10, 2^20, 2^30.";

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
        let aside = if scenario.aside {
            " (aside, not judged)"
        } else {
            ""
        };
        out.wrapped(&format!("  {}{aside}: {}", scenario.name, scenario.legend), 4);
    }
    out.blank();
    for note in show::notes(comparison) {
        out.wrapped(&note, 2);
    }
    let tables = matrix
        .scenarios
        .iter()
        .map(|scenario| (scenario, rows_of(comparison, scenario)));
    let tables: Vec<_> = tables.filter(|(_, rows)| !rows.is_empty()).collect();
    let letters = |rows: &[&JudgedRow<'_>]| {
        let mut units = matrix.metrics.iter().map(|metric| unit_of(rows, metric));
        units.any(|unit| !unit.prefixes.is_empty())
    };
    if tables.iter().any(|(_, rows)| letters(rows)) {
        out.wrapped(LETTERS, 2);
    }
    for (scenario, rows) in &tables {
        // What this scenario does not measure has no column here.
        let measured: Vec<&Metric> = matrix
            .metrics
            .iter()
            .filter(|metric| {
                rows.iter()
                    .any(|row| cell_of(row, metric).is_some_and(has_numbers))
            })
            .collect();
        for metrics in measured.chunks(METRICS) {
            table(&mut out, comparison, scenario, rows, metrics);
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

/// The rows of a scenario; the control stands first: it says what the rest is worth.
fn rows_of<'a>(comparison: &'a Comparison<'a>, scenario: &Scenario) -> Vec<&'a JudgedRow<'a>> {
    let mut rows: Vec<_> = comparison
        .rows
        .iter()
        .filter(|judged| judged.row.scenario == scenario.name)
        .collect();
    rows.sort_by_key(|judged| !judged.row.control);
    rows
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
    metrics: &[&Metric],
) {
    let units: Vec<ColumnUnit> = metrics.iter().map(|metric| unit_of(rows, metric)).collect();
    out.blank();
    out.wrapped(&format!("{}, by {}", scenario.name, comparison.matrix.knob), 2);
    let width = 2 * NUMBER + 2;
    let margin = " ".repeat(VALUE);
    let whole: Vec<String> = metrics
        .iter()
        .zip(&units)
        .map(|(metric, unit)| format!("{} {}", metric.name, unit.name).trim_end().to_owned())
        .collect();
    // Names too long to stand beside their units stand above them, in all columns of the table.
    let line = |texts: &mut dyn Iterator<Item = &str>| {
        texts.fold(margin.clone(), |line, text| {
            format!("{line} {:<width$}", fit(text, width))
        })
    };
    let names = if whole.iter().all(|text| ascii(text).len() <= width) {
        line(&mut whole.iter().map(String::as_str))
    } else {
        out.push(line(&mut metrics.iter().map(|metric| metric.name.as_str())));
        line(&mut units.iter().map(|unit| unit.name))
    };
    // `before` takes the blank in front of its column, too.
    let side = format!("{:>1$} {2:>NUMBER$} ", "before", NUMBER + 1, "after");
    let sides = margin + &side.repeat(metrics.len());
    let leader = metrics
        .iter()
        .find(|metric| comparison.matrix.is_judged(metric))
        .or(metrics.first())
        .copied();
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
        for (metric, unit) in metrics.iter().zip(&units) {
            line.push_str(&numbers(cell_of(judged, metric), *unit));
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

fn has_numbers(cell: &JudgedCell<'_>) -> bool {
    cell.before.is_some() || cell.after.is_some()
}

fn unit_of(rows: &[&JudgedRow<'_>], metric: &Metric) -> ColumnUnit {
    let medians = || {
        rows.iter()
            .filter_map(|judged| cell_of(judged, metric))
            .flat_map(|cell| [cell.before, cell.after])
            .flatten()
            .map(|summary| summary.median)
    };
    let smallest = medians()
        .filter(|median| *median > 0.0)
        .fold(f64::INFINITY, f64::min);
    show::column_unit(metric, smallest, medians().fold(0.0, f64::max))
}

fn numbers(cell: Option<&JudgedCell<'_>>, unit: ColumnUnit) -> String {
    let number = |summary: Option<Summary>| {
        summary.map_or_else(
            || "-".to_owned(),
            |summary| short(summary.median * unit.factor, unit.prefixes),
        )
    };
    let (before, after, mark) = cell.map_or(("-".to_owned(), "-".to_owned(), ' '), |cell| {
        (number(cell.before), number(cell.after), show::mark(cell))
    });
    format!(" {before:>NUMBER$} {after:>NUMBER$}{mark}")
}

/// A number in at most five characters: as many digits as fit, and the letter of its own prefix.
fn short(value: f64, prefixes: &[(f64, &str)]) -> String {
    let (factor, letter) = prefixes
        .iter()
        .find(|(factor, _)| value.abs() >= *factor)
        .or(prefixes.last())
        .copied()
        .filter(|_| value != 0.0)
        .unwrap_or((1.0, ""));
    let value = value / factor;
    let fits = |text: &String| text.len() + letter.len() <= NUMBER;
    (1..=4)
        .rev()
        .map(|digits| significant(value, digits))
        .find(fits)
        .or_else(|| Some(format!("{value:.0e}")).filter(fits))
        .map_or_else(|| "0".to_owned(), |text| text + letter)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Unit;

    fn metric(name: &str, unit: Unit) -> Metric {
        Metric {
            name: name.to_owned(),
            unit,
            better: unit.better(),
            judged: true,
        }
    }

    #[test]
    fn numbers_far_apart_keep_their_digits() {
        let lookup = metric("lookup", Unit::Nanoseconds);
        let unit = show::column_unit(&lookup, 120.3, 5_341_069.81);
        assert_eq!(unit.name, "s");
        let text = |value: f64| short(value * unit.factor, unit.prefixes);
        assert_eq!(
            [text(5_341_069.81), text(120.3), text(0.0)],
            ["5.34m", "120n", "0"]
        );
        let near = show::column_unit(&lookup, 120.3, 5_341.0);
        assert_eq!((near.name, near.prefixes), ("us", &[][..]));

        let bytes = show::column_unit(&metric("read_bytes", Unit::Bytes), 12.0, 388_300.0);
        let text = |value: f64| short(value * bytes.factor, bytes.prefixes);
        assert_eq!(
            (bytes.name, text(388_300.0), text(12.0)),
            ("B", "379K".to_owned(), "12".to_owned())
        );
    }
}
