//! The sweep as rows of the knob's values and columns of scenarios, and which cell of it is looked at.

use fleethold_api_types::bench::{Comparison, JudgedCell, MatrixRow, Metric, Verdict};

use crate::model::query::QueryMap;

/// The head of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowHead {
    /// Value of the knob.
    pub value: String,
    /// Both sides at their defaults.
    pub control: bool,
}

/// Rows in the order in which they came, control rows first.
pub fn rows(comparison: &Comparison) -> Vec<RowHead> {
    let mut heads: Vec<RowHead> = Vec::new();
    for control in [true, false] {
        for row in comparison.rows.iter().filter(|r| r.control == control) {
            let head = RowHead {
                value: row.value.clone(),
                control,
            };
            // scenarios may have their own defaults: one control row for all of them
            if !heads
                .iter()
                .any(|h| h.control == control && (control || h.value == head.value))
            {
                heads.push(head);
            }
        }
    }
    heads
}

/// The row of a scenario under a head.
pub fn row<'a>(comparison: &'a Comparison, head: &RowHead, scenario: &str) -> Option<&'a MatrixRow> {
    comparison.rows.iter().find(|r| {
        r.control == head.control && r.scenario == scenario && (head.control || r.value == head.value)
    })
}

/// The cell of a metric in a row.
pub fn cell<'a>(row: &'a MatrixRow, metric: &str) -> Option<&'a JudgedCell> {
    row.cells.iter().find(|c| c.metric == metric)
}

/// A metric by name.
pub fn metric<'a>(comparison: &'a Comparison, name: &str) -> Option<&'a Metric> {
    comparison.metrics.iter().find(|m| m.name == name)
}

/// What of a comparison is looked at; it stands in the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Metric.
    pub metric: String,
    /// Row.
    pub head: RowHead,
    /// Column.
    pub scenario: String,
}

/// How a control row is written in the address.
const CONTROL: &str = "control";

impl Selection {
    /// What the address says, as far as it exists; else the first judged metric and its clearest cell.
    pub fn of(comparison: &Comparison, query: &QueryMap) -> Option<Self> {
        let judged = || {
            comparison
                .metrics
                .iter()
                .find(|m| m.judged)
                .or(comparison.metrics.first())
        };
        let metric = metric(comparison, query.get("metric"))
            .or_else(judged)?
            .name
            .clone();
        let named = query.get("cell").rsplit_once('@').and_then(|(scenario, value)| {
            let head = RowHead {
                value: value.to_owned(),
                control: value == CONTROL,
            };
            row(comparison, &head, scenario).map(|_| (head, scenario.to_owned()))
        });
        let (head, scenario) = named.or_else(|| clearest(comparison, &metric))?;
        Some(Self {
            metric,
            head,
            scenario,
        })
    }

    /// The query with this selection in it.
    #[must_use]
    pub fn into_query(&self, query: &QueryMap) -> QueryMap {
        let value = if self.head.control {
            CONTROL
        } else {
            &self.head.value
        };
        query
            .with("metric", &self.metric)
            .with("cell", &format!("{}@{value}", self.scenario))
    }

    /// The row that is looked at.
    pub fn row<'a>(&self, comparison: &'a Comparison) -> Option<&'a MatrixRow> {
        row(comparison, &self.head, &self.scenario)
    }

    /// The cell that is looked at.
    pub fn cell<'a>(&self, comparison: &'a Comparison) -> Option<&'a JudgedCell> {
        cell(self.row(comparison)?, &self.metric)
    }
}

/// The cell with the largest proven change; without one, the first that has samples.
fn clearest(comparison: &Comparison, metric: &str) -> Option<(RowHead, String)> {
    let size = |row: &&MatrixRow| {
        cell(row, metric)
            .filter(|c| matches!(c.verdict, Some(Verdict::Faster | Verdict::Slower)))
            .and_then(|c| c.ratio)
            .map_or(-1.0, |r| r.estimate.ln().abs())
    };
    let best = comparison
        .rows
        .iter()
        .filter(|r| !r.control && cell(r, metric).is_some())
        .max_by(|a, b| size(a).total_cmp(&size(b)).then(std::cmp::Ordering::Greater));
    let row = best.or(comparison.rows.first())?;
    Some((
        RowHead {
            value: row.value.clone(),
            control: row.control,
        },
        row.scenario.clone(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::bench::testing::comparison;

    #[test]
    fn the_control_row_is_first_and_there_once() {
        let mut c = comparison();
        c.rows.reverse();
        let heads = rows(&c);
        assert!(heads.first().is_some_and(|h| h.control));
        assert_eq!(heads.iter().filter(|h| h.control).count(), 1);
        assert_eq!(heads.len(), 4, "{heads:?}");
    }

    #[test]
    fn the_clearest_cell_is_shown_first() {
        let c = comparison();
        let selection = Selection::of(&c, &QueryMap::default()).expect("cells");
        assert_eq!(
            (selection.scenario.as_str(), selection.head.value.as_str()),
            ("spinner", "20")
        );
    }

    #[test]
    fn a_selection_survives_the_address_and_bad_addresses_are_ignored() {
        let c = comparison();
        let control = Selection {
            metric: "rate".into(),
            head: RowHead {
                value: CONTROL.into(),
                control: true,
            },
            scenario: "spinner".into(),
        };
        let query = control.into_query(&QueryMap::default());
        assert_eq!(query.get("cell"), "spinner@control");
        let back = Selection::of(&c, &query).expect("there");
        assert!(back.head.control && back.cell(&c).is_some());
        let bad = QueryMap::default().with("cell", "nothing@1").with("metric", "x");
        assert_eq!(Selection::of(&c, &bad), Selection::of(&c, &QueryMap::default()));
    }
}
