//! Verdicts in words, the same everywhere.

use fleethold_api_types::bench::{Comparison, Findings, MatrixRow, Verdict};

use crate::{model::unit::bound, t};

/// How a verdict looks: `data-v` of the sheet and icon, and its words.
pub fn look(verdict: Verdict) -> (&'static str, String) {
    match verdict {
        Verdict::Faster => ("faster", t!(bench.faster).to_owned()),
        Verdict::Slower => ("slower", t!(bench.slower).to_owned()),
        Verdict::EqualWithin { within_ratio } => ("equal", t!(bench.equal_within, x = bound(within_ratio))),
        Verdict::Inconclusive { .. } => ("open", t!(bench.inconclusive).to_owned()),
    }
}

/// What the server says of a metric, in the words of every export; absent for one that is not judged.
pub fn findings<'a>(comparison: &'a Comparison, metric: &str) -> Option<&'a Findings> {
    comparison.findings.iter().find(|f| f.metric == metric)
}

/// Why there is no sentence of a metric.
pub fn unjudged(comparison: &Comparison) -> &'static str {
    if comparison.parameters.get("quiet").is_some_and(|q| q == "no") {
        t!(bench.busy_verdict)
    } else {
        t!(bench.no_verdict)
    }
}

/// `spinner at 20`; the scenario alone where nothing is swept.
pub fn place(row: &MatrixRow) -> String {
    match (row.scenario.is_empty(), row.value.is_empty()) {
        (true, _) => row.value.clone(),
        (_, true) => row.scenario.clone(),
        _ => t!(bench.place, scenario = row.scenario, value = row.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::bench::testing::comparison;

    #[test]
    fn the_sentence_is_that_of_the_server() {
        let c = comparison();
        assert_eq!(
            findings(&c, "rate").map(|f| &*f.sentence),
            Some(
                "Faster in 2 of 5 cells, up to +38.2% on spinner at 20; inconclusive in 1 (4 more runs a side)."
            )
        );
        assert_eq!(findings(&c, "switches"), None);
    }

    #[test]
    fn a_busy_machine_is_the_reason_that_is_told() {
        let mut c = comparison();
        assert_eq!(unjudged(&c), t!(bench.no_verdict));
        c.parameters.insert("quiet".into(), "no".into());
        assert_eq!(unjudged(&c), t!(bench.busy_verdict));
    }
}
