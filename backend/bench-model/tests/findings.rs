//! The one sentence: true for every mix of verdicts, without the control rows, the same in every export.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "common/drawn.rs"]
mod drawn;
#[path = "common/sweep.rs"]
mod sweep;

use drawn::matrices;
use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, export};
use fleethold_bench_model::findings::{Findings, Tally};
use fleethold_bench_model::matrix::Matrix;
use fleethold_bench_model::verdict::Verdict;
use proptest::prelude::*;
use sweep::restore;

fn time(matrix: &Matrix) -> Findings {
    let comparison = Comparison::judge(matrix).unwrap();
    let mut all = Findings::of(&comparison);
    let at = all.iter().position(|found| found.metric == "time").unwrap();
    all.swap_remove(at)
}

/// The restore sweep with the time's verdicts as given, row by row.
fn with(verdicts: &[(bool, Verdict)]) -> Findings {
    let mut matrix = restore();
    let one = matrix.rows.first().unwrap().clone();
    matrix.rows = (1..)
        .zip(verdicts)
        .map(|(value, (control, _))| {
            let mut row = one.clone();
            row.value = value.to_string();
            row.control = *control;
            row
        })
        .collect();
    let mut comparison = Comparison::judge(&matrix).unwrap();
    for (row, (_, verdict)) in comparison.rows.iter_mut().zip(verdicts) {
        for cell in &mut row.cells {
            cell.verdict = Some(*verdict);
        }
    }
    Findings::of(&comparison).swap_remove(0)
}

const EQUAL: Verdict = Verdict::EqualWithin { within_ratio: 0.03 };
const OPEN: Verdict = Verdict::Inconclusive { more_runs: 4 };

#[test]
fn it_says_how_often_how_much_and_where_and_tells_the_control_by_itself() {
    assert_eq!(
        time(&restore()).sentence,
        "Faster in 1 of 3 cells, by -75.0% on fast at 8; slower in 1, by +30.0% on spinner at 8; \
         equal in 1 (within 0.3%). Control: equal in 1 of 2 cells (within 0.3%); inconclusive in 1 (802 more runs a side)."
    );
}

#[test]
fn half_open_is_no_difference_nowhere() {
    let half = with(&[(false, EQUAL), (false, OPEN), (false, OPEN), (false, EQUAL)]);
    assert_eq!(
        half.sentence,
        "Equal in 2 of 4 cells (within 3%); inconclusive in 2 (up to 4 more runs a side)."
    );
    assert_eq!(
        with(&[(false, OPEN), (false, OPEN)]).sentence,
        "Inconclusive in both cells (up to 4 more runs a side)."
    );
    assert_eq!(
        with(&[(false, EQUAL)]).sentence,
        "Equal in the one cell (within 3%)."
    );
    assert_eq!(
        with(&[(true, EQUAL)]).sentence,
        "Control rows only: equal in the one cell (within 3%)."
    );
}

#[test]
fn the_control_rows_are_not_counted_with_the_sweep() {
    let found = with(&[(true, OPEN), (false, EQUAL), (false, EQUAL)]);
    assert_eq!((found.swept.all(), found.swept.equal), (2, 2));
    assert_eq!((found.control.all(), found.control.inconclusive), (1, 1));
    assert!(
        found.sentence.starts_with("Equal in both cells"),
        "{}",
        found.sentence
    );
}

#[test]
fn mail_markdown_and_html_print_it() {
    let matrix = restore();
    let comparison = Comparison::judge(&matrix).unwrap();
    let plain = |text: &str| -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").replace(['\\'], "")
    };
    for format in [ExportFormat::Mail, ExportFormat::Markdown, ExportFormat::Html] {
        let text = plain(&export(&comparison, format));
        for found in Findings::of(&comparison) {
            let line = format!("{}: {}", found.metric, found.sentence);
            assert!(text.contains(&line), "{format}: {line}\n{text}");
        }
    }
}

/// The counts a sentence tells, by word.
fn told(sentence: &str) -> Tally {
    let mut tally = Tally::default();
    let (swept, _) = sentence.split_once(" Control: ").unwrap_or((sentence, ""));
    for clause in swept.to_lowercase().split("; ") {
        let Some((word, rest)) = clause
            .trim_start_matches("control rows only: ")
            .split_once(" in ")
        else {
            continue;
        };
        let count = if rest.starts_with("the one cell") {
            1
        } else if rest.starts_with("both cells") {
            2
        } else {
            let digits: String = rest
                .trim_start_matches("all ")
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            digits.parse().unwrap()
        };
        match word {
            "faster" => tally.faster = count,
            "slower" => tally.slower = count,
            "equal" => tally.equal = count,
            "inconclusive" => tally.inconclusive = count,
            _ => panic!("{word:?} in {sentence}"),
        }
    }
    tally
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// For every mix: the numbers in the sentence are those of the cells, and add up.
    #[test]
    fn every_mix_adds_up(kinds in prop::collection::vec((any::<bool>(), 0_u8..4), 1..9)) {
        let verdicts: Vec<(bool, Verdict)> = kinds
            .iter()
            .map(|(control, kind)| (*control, match kind {
                0 => Verdict::Faster,
                1 => Verdict::Slower,
                2 => EQUAL,
                _ => OPEN,
            }))
            .collect();
        let found = with(&verdicts);
        let expected = if found.swept.all() > 0 { found.swept } else { found.control };
        prop_assert_eq!(told(&found.sentence), expected, "{}", found.sentence);
        prop_assert_eq!(found.swept.all() + found.control.all(), verdicts.len());
    }

    /// No matrix, however odd its names, makes it panic or leaves a judged metric out.
    #[test]
    fn every_judged_metric_has_one(matrix in matrices()) {
        if let Ok(comparison) = Comparison::judge(&matrix) {
            let judged = matrix.metrics.iter().filter(|metric| matrix.is_judged(metric)).count();
            prop_assert_eq!(Findings::of(&comparison).len(), judged);
        }
    }
}
