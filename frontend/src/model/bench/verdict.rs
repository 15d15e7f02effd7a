//! Verdicts in words, the same everywhere.

use fleethold_api_types::bench::{Comparison, JudgedCell, MatrixRow, Verdict};

use super::matrix::cell;
use crate::{
    model::unit::{bound, change},
    t, tn,
};

/// How a verdict looks: `data-v` of the sheet and icon, and its words.
pub fn look(verdict: Verdict) -> (&'static str, String) {
    match verdict {
        Verdict::Faster => ("faster", t!(bench.faster).to_owned()),
        Verdict::Slower => ("slower", t!(bench.slower).to_owned()),
        Verdict::EqualWithin { within_ratio } => ("equal", t!(bench.equal_within, x = bound(within_ratio))),
        Verdict::Inconclusive { .. } => ("open", t!(bench.inconclusive).to_owned()),
    }
}

/// Cells of a metric by verdict. The control rows are part of the sweep: its values at the defaults of each side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Better.
    pub faster: u64,
    /// Worse.
    pub slower: u64,
    /// No practical difference.
    pub equal: u64,
    /// Not decided.
    pub open: u64,
}

impl Tally {
    /// All of them.
    pub fn all(self) -> u64 {
        self.faster + self.slower + self.equal + self.open
    }

    fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Faster => self.faster += 1,
            Verdict::Slower => self.slower += 1,
            Verdict::EqualWithin { .. } => self.equal += 1,
            Verdict::Inconclusive { .. } => self.open += 1,
        }
    }
}

fn judged<'a>(
    comparison: &'a Comparison,
    metric: &'a str,
    control_only: bool,
) -> impl Iterator<Item = (&'a MatrixRow, &'a JudgedCell, Verdict)> {
    comparison
        .rows
        .iter()
        .filter(move |r| r.control || !control_only)
        .filter_map(move |r| cell(r, metric).and_then(|c| Some((r, c, c.verdict?))))
}

/// Verdicts of a metric, of the whole sweep or of its control rows only.
pub fn tally(comparison: &Comparison, metric: &str, control_only: bool) -> Tally {
    let mut tally = Tally::default();
    for (_, _, verdict) in judged(comparison, metric, control_only) {
        tally.add(verdict);
    }
    tally
}

/// The cell with a verdict that is furthest from no change: its row and its ratio.
fn furthest<'a>(comparison: &'a Comparison, metric: &'a str, of: Verdict) -> Option<(&'a MatrixRow, f64)> {
    judged(comparison, metric, false)
        .filter(|(_, _, v)| *v == of)
        .filter_map(|(row, cell, _)| Some((row, cell.ratio?.estimate)))
        .max_by(|a, b| a.1.ln().abs().total_cmp(&b.1.ln().abs()))
}

/// `spinner at 20`; the scenario alone where nothing is swept.
pub fn place(row: &MatrixRow) -> String {
    match (row.scenario.is_empty(), row.value.is_empty()) {
        (true, _) => row.value.clone(),
        (_, true) => row.scenario.clone(),
        _ => t!(bench.place, scenario = row.scenario, value = row.value),
    }
}

/// What a sweep says of one metric: `Faster in 13 of 24 cells, up to +38.2% on spinner at 20. Slower in one: far at 1, −3.8%.`
pub fn sentence(comparison: &Comparison, metric: &str) -> String {
    let tally = tally(comparison, metric, false);
    let all = tally.all();
    if all == 0 {
        return t!(bench.no_verdict).to_owned();
    }
    let mut parts = Vec::new();
    if let Some((row, ratio)) = furthest(comparison, metric, Verdict::Faster) {
        parts.push(tn!(
            all,
            bench.faster_in_one,
            bench.faster_in,
            k = tally.faster,
            change = change(ratio),
            place = place(row)
        ));
    }
    if let Some((row, ratio)) = furthest(comparison, metric, Verdict::Slower) {
        parts.push(match (tally.slower, tally.faster) {
            (1, 1..) => t!(bench.slower_once, change = change(ratio), place = place(row)),
            _ => tn!(
                all,
                bench.slower_in_one,
                bench.slower_in,
                k = tally.slower,
                change = change(ratio),
                place = place(row)
            ),
        });
    }
    if parts.is_empty() && tally.equal > 0 {
        parts.push(tn!(all, bench.equal_in_one, bench.equal_in, k = tally.equal));
    }
    if tally.open > 0 {
        parts.push(tn!(tally.open, bench.open_in_one, bench.open_in));
    }
    parts.join(" ")
}

/// The largest number of further runs that an inconclusive cell asks for.
pub fn more_runs(comparison: &Comparison, metric: &str) -> Option<u32> {
    judged(comparison, metric, false)
        .filter_map(|(_, _, v)| match v {
            Verdict::Inconclusive { more_runs } => Some(more_runs),
            _ => None,
        })
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{i18n, model::bench::testing::comparison};

    #[test]
    fn the_sentence_says_how_often_how_much_and_where() {
        let text = sentence(&comparison(), "rate");
        assert_eq!(
            text,
            "Faster in 3 of 6 cells, up to +38.2% on spinner at 20. Slower in one: far at 1, −3.8%. Inconclusive in one."
        );
    }

    #[test]
    fn german_says_the_same() {
        i18n::set(i18n::Language::De);
        let text = sentence(&comparison(), "rate");
        i18n::set(i18n::Language::En);
        assert!(
            text.contains("+38,2\u{202f}%") && text.contains("spinner"),
            "{text}"
        );
    }

    #[test]
    fn without_a_difference_it_says_so() {
        let mut c = comparison();
        c.rows.retain(|r| r.value == "1" && r.scenario == "spinner");
        assert_eq!(sentence(&c, "rate"), "No difference: equal in 1 of 1 cell.");
        assert_eq!(sentence(&c, "cpu"), t!(bench.no_verdict));
        let only_worse = Comparison {
            rows: comparison()
                .rows
                .into_iter()
                .filter(|r| r.scenario == "far" && r.value == "1")
                .collect(),
            ..comparison()
        };
        assert_eq!(
            sentence(&only_worse, "rate"),
            "Slower in 1 of 1 cell, by −3.8% on far at 1."
        );
    }

    #[test]
    fn control_rows_are_part_of_the_sweep_and_can_be_counted_alone() {
        assert_eq!(tally(&comparison(), "rate", true).faster, 1);
        assert_eq!(
            tally(&comparison(), "rate", false),
            Tally {
                faster: 3,
                slower: 1,
                equal: 1,
                open: 1
            }
        );
        assert_eq!(more_runs(&comparison(), "rate"), Some(4));
    }
}
