//! What a comparison says of one metric, counted and in one sentence: the page and every export print this one.
//!
//! The control rows are not counted with the sweep: they say what the sweep is worth, and are told by themselves.

use crate::comparison::{Comparison, JudgedCell};
use crate::export::show;
use crate::matrix::{Metric, Row};
use crate::verdict::Verdict;

/// Cells by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Better.
    pub faster: usize,
    /// Worse.
    pub slower: usize,
    /// No practical difference.
    pub equal: usize,
    /// Not decided.
    pub inconclusive: usize,
}

impl Tally {
    /// All of them.
    #[must_use]
    pub fn all(self) -> usize {
        self.faster + self.slower + self.equal + self.inconclusive
    }

    fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Faster => self.faster += 1,
            Verdict::Slower => self.slower += 1,
            Verdict::EqualWithin { .. } => self.equal += 1,
            Verdict::Inconclusive { .. } => self.inconclusive += 1,
        }
    }
}

/// What is said of one metric that is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    /// Its name.
    pub metric: String,
    /// Cells of the sweep, without the control rows.
    pub swept: Tally,
    /// Cells of the control rows.
    pub control: Tally,
    /// `Faster in 3 of 9 cells, up to +38.2% on spinner at 20; equal in 5; inconclusive in 1 (4 more runs a side).`
    pub sentence: String,
}

impl Findings {
    /// One a judged metric, in the order of the matrix.
    #[must_use]
    pub fn of(comparison: &Comparison<'_>) -> Vec<Self> {
        let matrix = comparison.matrix;
        matrix
            .metrics
            .iter()
            .filter(|metric| matrix.is_judged(metric))
            .map(|metric| Self::of_metric(comparison, metric))
            .collect()
    }

    fn of_metric(comparison: &Comparison<'_>, metric: &Metric) -> Self {
        let cells: Vec<Found<'_>> = comparison
            .cells()
            .filter(|(_, cell)| cell.metric.name == metric.name)
            .filter_map(|(row, cell)| Some((row, cell, cell.verdict?)))
            .collect();
        let (control, swept): (Vec<_>, Vec<_>) = cells.into_iter().partition(|(row, ..)| row.control);
        let sentence = match (&*swept, &*control) {
            ([], []) => "No cell was measured.".to_owned(),
            (swept, []) => format!("{}.", capital(&clauses(swept))),
            ([], control) => format!("Control rows only: {}.", clauses(control)),
            (swept, control) => format!("{}. Control: {}.", capital(&clauses(swept)), clauses(control)),
        };
        Self {
            metric: metric.name.clone(),
            swept: tally(&swept),
            control: tally(&control),
            sentence,
        }
    }
}

type Found<'a> = (&'a Row, &'a JudgedCell<'a>, Verdict);

fn tally(cells: &[Found<'_>]) -> Tally {
    let mut tally = Tally::default();
    for (.., verdict) in cells {
        tally.add(*verdict);
    }
    tally
}

/// Every verdict that was reached, with its count: the counts add up to all cells, so that none is passed over.
fn clauses(cells: &[Found<'_>]) -> String {
    let tally = tally(cells);
    let kinds = [
        ("faster", tally.faster),
        ("slower", tally.slower),
        ("equal", tally.equal),
        ("inconclusive", tally.inconclusive),
    ];
    let mut clauses: Vec<String> = Vec::new();
    for (word, count) in kinds.into_iter().filter(|(_, count)| *count > 0) {
        let how_many = match (count == tally.all(), count) {
            (true, 1) => "the one cell".to_owned(),
            (true, 2) => "both cells".to_owned(),
            (true, _) => format!("all {count} cells"),
            (false, _) if clauses.is_empty() => format!("{count} of {} cells", tally.all()),
            (false, _) => count.to_string(),
        };
        let detail = detail(cells, word, count);
        clauses.push(format!("{word} in {how_many}{detail}"));
    }
    clauses.join("; ")
}

/// The largest change and where it is; within which bound cells are equal; how much is missing to decide.
fn detail(cells: &[Found<'_>], word: &str, count: usize) -> String {
    let of_word = || cells.iter().filter(|(.., verdict)| verdict.word() == word);
    match word {
        "equal" => of_word()
            .filter_map(|(.., verdict)| match verdict {
                Verdict::EqualWithin { within_ratio } => Some(*within_ratio),
                _ => None,
            })
            .reduce(f64::max)
            .map_or_else(String::new, |within| format!(" (within {})", show::bound(within))),
        "inconclusive" => {
            let more = of_word()
                .filter_map(|(.., verdict)| match verdict {
                    Verdict::Inconclusive { more_runs } => Some(*more_runs),
                    _ => None,
                })
                .max()
                .unwrap_or(0);
            match (more, count) {
                (0, _) => String::new(),
                (1, 1) => " (1 more run a side)".to_owned(),
                (more, 1) => format!(" ({more} more runs a side)"),
                (more, _) => format!(" (up to {more} more runs a side)"),
            }
        }
        _ => of_word()
            .filter_map(|(row, cell, _)| Some((row, cell.ratio.as_ref()?.estimate())))
            .max_by(|a, b| a.1.ln().abs().total_cmp(&b.1.ln().abs()))
            .map_or_else(String::new, |(row, ratio)| {
                let up_to = if count == 1 { "by" } else { "up to" };
                format!(", {up_to} {}{}", show::percent(ratio), place(row))
            }),
    }
}

/// ` on spinner at 20`; without what the file does not name.
fn place(row: &Row) -> String {
    match (row.scenario.is_empty(), row.value.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!(" at {}", row.value),
        (false, true) => format!(" on {}", row.scenario),
        (false, false) => format!(" on {} at {}", row.scenario, row.value),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
