//! Floors: figures that a run has to reach.

use fleethold_bench_model::quantile::Sorted;
use fleethold_bench_model::sample::Side;
use fleethold_bench_model::unit::Direction;

use crate::cell::Cell;
use crate::definition::{Definition, Floor, FloorOf};
use crate::runner::{Measurements, Series};

/// One floor in one field of the matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct FloorResult {
    /// The floor.
    pub floor: Floor,
    /// Where; `None` when nothing was measured that it speaks of.
    pub cell: Option<Cell>,
    /// What came of it.
    pub outcome: FloorOutcome,
}

/// What came of a floor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FloorOutcome {
    /// Judged.
    Judged {
        /// The figure.
        value: f64,
        /// How far above the floor, as a share of it: negative when missed.
        margin: f64,
        /// Whether it is reached.
        met: bool,
    },
    /// Not judged: the machine was busy.
    Skipped,
    /// Not judged: it speaks of the older idea, and both sides are builds.
    TwoBuilds,
    /// Not judged: nothing was measured.
    NotMeasured,
}

/// What the sides of a run are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// The older idea and what exists.
    Ideas,
    /// What exists, of two builds. Only floors of the after side speak of that.
    Builds,
}

/// Judges all floors of a workload, of all that was measured.
pub fn check(definition: &Definition, measured: &Measurements, sides: Sides) -> Vec<FloorResult> {
    check_run(definition, measured, &[], sides)
}

/// The same of a run of `fields`: a floor that speaks of one of them and finds no figure there has a result with that
/// field and [`FloorOutcome::NotMeasured`]. Only a floor that speaks of none of them has one without a field.
pub fn check_run(
    definition: &Definition,
    measured: &Measurements,
    fields: &[Cell],
    sides: Sides,
) -> Vec<FloorResult> {
    let check = |floor: &Floor| match (sides, floor.of) {
        (Sides::Builds, FloorOf::Before | FloorOf::Gain) => vec![FloorResult {
            floor: floor.clone(),
            cell: None,
            outcome: FloorOutcome::TwoBuilds,
        }],
        _ => check_one(floor, measured, fields),
    };
    definition.floors.iter().flat_map(check).collect()
}

/// Results of fields that should have a figure and have none.
pub fn missing(results: &[FloorResult]) -> usize {
    let is = |result: &&FloorResult| result.outcome == FloorOutcome::NotMeasured && result.cell.is_some();
    results.iter().filter(is).count()
}

/// Floors reached and missed.
pub fn tally(results: &[FloorResult]) -> (usize, usize) {
    let judged = |wanted: bool| {
        let is = |result: &&FloorResult| matches!(result.outcome, FloorOutcome::Judged { met, .. } if met == wanted);
        results.iter().filter(is).count()
    };
    (judged(true), judged(false))
}

fn check_one(floor: &Floor, measured: &Measurements, fields: &[Cell]) -> Vec<FloorResult> {
    let speaks_of = |cell: &Cell| {
        floor
            .scenario
            .as_ref()
            .is_none_or(|scenario| *scenario == cell.scenario)
            && floor.at.as_ref().is_none_or(|at| *at == cell.knob.1)
    };
    let found: Vec<&Series> = measured
        .series
        .iter()
        .filter(|series| series.metric == floor.metric && speaks_of(&series.cell))
        .collect();
    let missing = fields
        .iter()
        .filter(|field| speaks_of(field) && !found.iter().any(|series| series.cell == **field));
    let result = |cell: &Cell, outcome| FloorResult {
        floor: floor.clone(),
        cell: Some(cell.clone()),
        outcome,
    };
    let results: Vec<FloorResult> = found
        .iter()
        .map(|series| result(&series.cell, judge(floor, series, measured.load.quiet)))
        .chain(missing.map(|field| result(field, FloorOutcome::NotMeasured)))
        .collect();
    if results.is_empty() {
        return vec![FloorResult {
            floor: floor.clone(),
            cell: None,
            outcome: FloorOutcome::NotMeasured,
        }];
    }
    results
}

fn judge(floor: &Floor, series: &Series, quiet: bool) -> FloorOutcome {
    if floor.quiet && !quiet {
        return FloorOutcome::Skipped;
    }
    let median = |side| Sorted::new(series.samples.side(side)).median();
    let (before, after) = (median(Side::Before), median(Side::After));
    let value = match floor.of {
        FloorOf::Before => before,
        FloorOf::After => after,
        FloorOf::Gain => before
            .zip(after)
            .and_then(|(before, after)| gain(series, before, after)),
    };
    let Some(value) = value else {
        return FloorOutcome::NotMeasured;
    };
    let above = match floor.op {
        crate::definition::FloorOp::AtLeast => value - floor.value,
        crate::definition::FloorOp::AtMost => floor.value - value,
    };
    FloorOutcome::Judged {
        value,
        margin: if floor.value == 0.0 {
            above
        } else {
            above / floor.value.abs()
        },
        met: floor.op.holds(value, floor.value),
    }
}

/// How many times better after is; infinitely when it came down to nothing, or from nothing.
fn gain(series: &Series, before: f64, after: f64) -> Option<f64> {
    let gain = match series.better {
        Direction::Lower => before / after,
        Direction::Higher => after / before,
    };
    // Nothing against nothing is no change.
    let gain = if before == after { 1.0 } else { gain };
    (!gain.is_nan()).then_some(gain)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fleethold_bench_model::sample::Samples;
    use fleethold_bench_model::unit::Unit;

    use super::*;
    use crate::definition::FloorOp;
    use crate::guard::LoadReport;

    fn measured(quiet: bool) -> Measurements {
        let cell = Cell {
            scenario: "far".to_owned(),
            knob: ("concurrency".to_owned(), "16".to_owned()),
            parameters: BTreeMap::new(),
        };
        Measurements {
            series: vec![Series {
                cell,
                metric: "time".to_owned(),
                unit: Unit::Seconds,
                better: Direction::Lower,
                samples: Samples::of_sides(&[9.0, 10.0, 11.0], &[1.0, 2.0, 3.0]).unwrap(),
            }],
            complete: true,
            failure: None,
            attachments: Vec::new(),
            notes: BTreeMap::default(),
            load: LoadReport {
                others: Some(0.0),
                steal: Some(0.0),
                quiet,
            },
        }
    }

    fn floor(of: FloorOf, op: FloorOp, value: f64, quiet: bool) -> Floor {
        Floor {
            metric: "time".to_owned(),
            of,
            scenario: None,
            at: None,
            op,
            value,
            quiet,
            why: "test".to_owned(),
        }
    }

    fn outcome(floor: &Floor, quiet: bool) -> FloorOutcome {
        let results = check_one(floor, &measured(quiet), &[]);
        assert_eq!(results.len(), 1);
        results[0].outcome
    }

    #[test]
    fn figures_and_margins() {
        let met = |value, margin| FloorOutcome::Judged {
            value,
            margin,
            met: true,
        };
        assert_eq!(
            outcome(&floor(FloorOf::Gain, FloorOp::AtLeast, 4.0, false), true),
            met(5.0, 0.25)
        );
        assert_eq!(
            outcome(&floor(FloorOf::Before, FloorOp::AtMost, 20.0, false), true),
            met(10.0, 0.5)
        );
        let missed = outcome(&floor(FloorOf::After, FloorOp::AtMost, 1.0, false), true);
        assert!(
            matches!(
                missed,
                FloorOutcome::Judged {
                    met: false,
                    margin: -1.0,
                    ..
                }
            ),
            "{missed:?}"
        );
    }

    #[test]
    fn of_two_builds_only_what_exists_is_judged() {
        let (mut definition, _) = Definition::load("lookup").unwrap();
        definition.floors = [FloorOf::Before, FloorOf::Gain, FloorOf::After]
            .map(|of| floor(of, FloorOp::AtLeast, 1.0, false))
            .into();
        let of = |sides| -> Vec<FloorOutcome> {
            let results = check(&definition, &measured(true), sides);
            results.iter().map(|result| result.outcome).collect()
        };
        let judged = |outcome: &FloorOutcome| matches!(outcome, FloorOutcome::Judged { .. });
        assert!(of(Sides::Ideas).iter().all(judged));
        let builds = of(Sides::Builds);
        assert_eq!(builds[..2], [FloorOutcome::TwoBuilds; 2]);
        assert!(judged(&builds[2]), "{builds:?}");
    }

    #[test]
    fn a_quiet_floor_waits_for_a_quiet_machine() {
        let quiet = floor(FloorOf::Gain, FloorOp::AtLeast, 4.0, true);
        assert_eq!(outcome(&quiet, false), FloorOutcome::Skipped);
        assert!(matches!(
            outcome(&quiet, true),
            FloorOutcome::Judged { met: true, .. }
        ));
    }

    #[test]
    fn what_was_not_measured_is_not_met() {
        let mut other = floor(FloorOf::Gain, FloorOp::AtLeast, 4.0, false);
        other.scenario = Some("fast".to_owned());
        assert_eq!(outcome(&other, true), FloorOutcome::NotMeasured);
        let results = check_one(&other, &measured(true), &[]);
        assert_eq!(tally(&results), (0, 0));
    }

    #[test]
    fn a_field_of_the_run_without_a_figure_is_missing() {
        let measured = measured(true);
        let field = measured.series[0].cell.clone();
        let mut of_another = floor(FloorOf::After, FloorOp::AtMost, 4.0, false);
        of_another.metric = "instructions".to_owned();
        let results = check_one(&of_another, &measured, std::slice::from_ref(&field));
        assert_eq!(
            (results.len(), missing(&results), tally(&results)),
            (1, 1, (0, 0))
        );
        assert_eq!(results[0].cell.as_ref(), Some(&field));
        // What the run leaves out is not missing.
        of_another.scenario = Some("fast".to_owned());
        let results = check_one(&of_another, &measured, std::slice::from_ref(&field));
        assert_eq!((results.len(), missing(&results)), (1, 0));
        // A field with its figure stands once.
        let time = floor(FloorOf::After, FloorOp::AtMost, 4.0, false);
        let results = check_one(&time, &measured, std::slice::from_ref(&field));
        assert_eq!(
            (results.len(), missing(&results), tally(&results)),
            (1, 0, (1, 0))
        );
    }

    #[test]
    fn a_time_that_came_down_to_nothing_is_an_endless_gain() {
        let of = |before: f64, after: f64| {
            let mut measured = measured(true);
            measured.series[0].samples = Samples::of_sides(&[before; 3], &[after; 3]).unwrap();
            check_one(
                &floor(FloorOf::Gain, FloorOp::AtLeast, 1.0, false),
                &measured,
                &[],
            )[0]
            .outcome
        };
        let endless = FloorOutcome::Judged {
            value: f64::INFINITY,
            margin: f64::INFINITY,
            met: true,
        };
        assert_eq!(of(2.0, 0.0), endless);
        assert!(matches!(of(0.0, 2.0), FloorOutcome::Judged { met: false, .. }));
        assert!(matches!(
            of(0.0, 0.0),
            FloorOutcome::Judged {
                value: 1.0,
                met: true,
                ..
            }
        ));
    }
}
