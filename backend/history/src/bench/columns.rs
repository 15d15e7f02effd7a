//! What is inserted by column: one statement whatever the number of rows.

use std::collections::BTreeMap;

use serde_json::Value;

use super::identity::Identity;
use super::summary::{Figures, Prepared, PreparedSide};

/// Series, each once. In the order of the hashes, so that two runs that arrive at once wait for each other in one
/// direction only.
#[derive(Debug)]
pub(super) struct SeriesColumns {
    pub(super) key_sha256: Vec<String>,
    pub(super) workload: Vec<String>,
    pub(super) parameters: Vec<Value>,
    pub(super) metric: Vec<String>,
    pub(super) unit: Vec<String>,
    pub(super) better: Vec<String>,
    pub(super) machine_class: Vec<String>,
    pub(super) side: Vec<String>,
}

impl SeriesColumns {
    pub(super) fn of(prepared: &Prepared) -> Self {
        let sides = prepared.sides.iter();
        let series: BTreeMap<&String, &Identity> =
            sides.map(|side| (&side.key_sha256, &side.identity)).collect();
        let column = |of: fn(&Identity) -> String| series.values().map(|one| of(one)).collect();
        Self {
            key_sha256: series.keys().map(|hash| (*hash).clone()).collect(),
            workload: column(|one| one.key.workload.clone()),
            parameters: series
                .values()
                .map(|one| {
                    one.key
                        .parameters
                        .iter()
                        .map(|(name, value)| (name.clone(), value.clone().into()))
                })
                .map(|parameters| Value::Object(parameters.collect()))
                .collect(),
            metric: column(|one| one.key.metric.clone()),
            unit: column(|one| one.key.unit.name().to_owned()),
            better: column(|one| one.key.better.name().to_owned()),
            machine_class: column(|one| one.key.machine_class.clone()),
            side: column(|one| one.side.name().to_owned()),
        }
    }
}

/// Figures of the sides of a run.
#[derive(Debug)]
pub(super) struct SummaryColumns {
    pub(super) series: Vec<i64>,
    pub(super) ordinal: Vec<i32>,
    pub(super) judged: Vec<bool>,
    pub(super) n: Vec<i64>,
    pub(super) min: Vec<f64>,
    pub(super) lower_quartile: Vec<f64>,
    pub(super) median: Vec<f64>,
    pub(super) upper_quartile: Vec<f64>,
    pub(super) max: Vec<f64>,
    pub(super) mad: Vec<f64>,
    pub(super) bins: Vec<Value>,
}

impl SummaryColumns {
    /// `cells` knows the series of each side by its ordinal.
    pub(super) fn of(prepared: &Prepared, cells: &BTreeMap<i32, i64>) -> Self {
        let rows: Vec<(i64, &PreparedSide)> = prepared
            .sides
            .iter()
            .filter_map(|side| Some((*cells.get(&side.ordinal)?, side)))
            .collect();
        let column = |of: fn(&Figures) -> f64| rows.iter().map(|(_, side)| of(&side.figures)).collect();
        Self {
            series: rows.iter().map(|(series, _)| *series).collect(),
            ordinal: rows.iter().map(|(_, side)| side.ordinal).collect(),
            judged: rows.iter().map(|(_, side)| side.judged).collect(),
            n: rows.iter().map(|(_, side)| side.figures.n).collect(),
            min: column(|figures| figures.min),
            lower_quartile: column(|figures| figures.lower_quartile),
            median: column(|figures| figures.median),
            upper_quartile: column(|figures| figures.upper_quartile),
            max: column(|figures| figures.max),
            mad: column(|figures| figures.mad),
            bins: rows.iter().map(|(_, side)| side.bins.clone()).collect(),
        }
    }
}
