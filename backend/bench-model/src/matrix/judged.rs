//! What of a matrix gets a verdict.

use std::collections::BTreeSet;

use super::{Matrix, Metric, load};

impl Matrix {
    /// Why nothing is said about times on the wall; `None` when the machine was quiet, or nobody watched it. The runner
    /// writes down what it saw under the names in [`load`].
    pub fn busy(&self) -> Option<String> {
        let fact = |name: &str| self.parameters.get(name).map_or("unknown", String::as_str);
        (fact(load::QUIET) == load::NO).then(|| {
            format!(
                "CPU time only: the machine was busy (others {}, steal {})",
                fact(load::OTHERS),
                fact(load::STEAL)
            )
        })
    }

    /// Whether cells of `metric` get a verdict here: what a busy machine spoils gets none on one.
    pub fn is_judged(&self, metric: &Metric) -> bool {
        metric.judged && !(metric.unit.is_wall_time() && self.busy().is_some())
    }

    /// Scenarios that only stand beside the comparison: their cells get no verdict.
    pub fn aside(&self) -> BTreeSet<&str> {
        let aside = self.scenarios.iter().filter(|scenario| scenario.aside);
        aside.map(|scenario| scenario.name.as_str()).collect()
    }

    /// Cells that get a verdict: the family of Holm's correction, and what [`crate::verdict::default_runs`] wants.
    pub fn judged_cells(&self) -> usize {
        let judged: BTreeSet<&str> = self
            .metrics
            .iter()
            .filter(|metric| self.is_judged(metric))
            .map(|metric| metric.name.as_str())
            .collect();
        let aside = self.aside();
        self.rows
            .iter()
            .filter(|row| !aside.contains(row.scenario.as_str()))
            .flat_map(|row| &row.cells)
            .filter(|cell| judged.contains(cell.metric.as_str()))
            .count()
    }

    /// Scenarios in which something was measured, but no control: their changes may be the machine's.
    pub fn scenarios_without_control(&self) -> Vec<&str> {
        let has = |name: &str, control: bool| {
            self.rows
                .iter()
                .any(|row| row.scenario == name && (row.control || !control))
        };
        self.scenarios
            .iter()
            .filter(|scenario| !scenario.aside)
            .map(|scenario| scenario.name.as_str())
            .filter(|name| has(name, false) && !has(name, true))
            .collect()
    }
}
