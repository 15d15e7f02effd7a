//! `fleethold bench history`: series over time.

use clap::Args;
use fleethold_bench_model::change_points::{ChangePoint, change_points_with};
use fleethold_bench_model::unit::Unit;
use fleethold_history::Database;
use fleethold_history::bench::{AnnotationKind, BenchPoint, BenchSeries, MAX_SERIES, SeriesFilter};
use serde_json::json;
use time::format_description::well_known::Rfc3339;

use super::super::exit::{CliResult, Exit, Failure};
use super::super::options;
use super::super::output;
use super::database::{self, HistoryFlags};
use crate::settings::Settings;

/// Points of a series that are shown: the newest ones.
const POINTS: u32 = 2000;

/// List the series that are kept, or one of them over time, with the changes of its level
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold bench history
  fleethold bench history restore
  fleethold bench history --series 12")]
pub(in crate::cli) struct HistoryArgs {
    /// Of this workload
    workload: Option<String>,
    /// The points of this series
    #[arg(long, value_name = "ID", conflicts_with = "workload")]
    series: Option<i64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) history: HistoryFlags,
}

pub(super) fn run(settings: &Settings, args: &HistoryArgs) -> CliResult {
    options::runtime()?.block_on(async {
        let database = database::needed(settings).await?;
        let done = match args.series {
            Some(id) => one(&database, id, args.json).await,
            None => list(&database, args).await,
        };
        database.stop().await;
        done
    })
}

async fn list(database: &Database, args: &HistoryArgs) -> CliResult {
    let filter = SeriesFilter {
        ids: None,
        workload: args.workload.clone(),
    };
    let mut series: Vec<BenchSeries> = Vec::new();
    loop {
        let after = series.last().map(|last| (last.workload.as_str(), last.id));
        let page = database.bench_series_after(&filter, after, MAX_SERIES).await?;
        if page.is_empty() {
            break;
        }
        series.extend(page);
    }
    if args.json {
        let items: Vec<_> = series.iter().map(describe).collect();
        output::json(&json!({ "items": items }))?;
        return Ok(Exit::Done);
    }
    if series.is_empty() {
        output::note("no series yet: fleethold bench run, or fleethold bench import");
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = series
        .iter()
        .map(|one| {
            vec![
                one.id.to_string(),
                one.workload.clone(),
                parameters(one),
                one.metric.clone(),
                one.unit.name().to_owned(),
                one.side.name().to_owned(),
                one.runs.to_string(),
                one.machine_class.clone(),
            ]
        })
        .collect();
    let head = [
        "ID",
        "WORKLOAD",
        "PARAMETERS",
        "METRIC",
        "UNIT",
        "SIDE",
        "RUNS",
        "MACHINE CLASS",
    ];
    for line in output::table(&head, &[0, 6], &rows) {
        output::line(&line)?;
    }
    Ok(Exit::Done)
}

async fn one(database: &Database, id: i64, as_json: bool) -> CliResult {
    let filter = SeriesFilter {
        ids: Some(vec![id]),
        workload: None,
    };
    let found = database.bench_series(&filter).await?.pop();
    let Some(series) = found else {
        return Err(Failure::usage(format!(
            "series {id}: not in the history; fleethold bench history lists them"
        )));
    };
    let points = database.series_points(id, None, None, POINTS).await?;
    let annotations = database.annotations(id).await?;
    // Outliers and what is spoiled are no part of the levels.
    let counted: Vec<usize> = (0..points.len())
        .filter(|at| {
            points
                .get(*at)
                .is_some_and(|point| !point.outlier && !point.spoiled)
        })
        .collect();
    // A shift that people know of is a change wherever it is.
    let known: Vec<usize> = annotations
        .iter()
        .filter(|said| said.kind == AnnotationKind::LevelShift && said.withdrawn.is_none())
        .filter_map(|said| points.iter().position(|point| Some(point.run) == said.run))
        .map(|at| counted.partition_point(|of| *of < at))
        .collect();
    let medians: Vec<f64> = counted
        .iter()
        .filter_map(|at| points.get(*at))
        .map(|point| point.median)
        .collect();
    let changes = change_points_with(&medians, &known)?;
    let change_at = |at: usize| {
        changes
            .iter()
            .find(|change| counted.get(change.index) == Some(&at))
    };
    if as_json {
        let points: Vec<_> = (0..)
            .zip(&points)
            .map(|(at, point)| point_json(point, change_at(at)))
            .collect();
        output::json(&json!({ "series": describe(&series), "points": points }))?;
        return Ok(Exit::Done);
    }
    output::line(&format!(
        "{} {} {} [{}], {} side, on {}",
        series.workload,
        parameters(&series),
        series.metric,
        series.unit,
        series.side.name(),
        series.machine_class
    ))?;
    let rows: Vec<Vec<String>> = (0..)
        .zip(&points)
        .map(|(at, point)| row(series.unit, point, change_at(at)))
        .collect();
    let head = ["MEASURED", "RUN", "REVISION", "N", "MEDIAN", "MIDDLE HALF", ""];
    for line in output::table(&head, &[3, 4], &rows) {
        output::line(line.trim_end())?;
    }
    Ok(Exit::Done)
}

fn row(unit: Unit, point: &BenchPoint, change: Option<&ChangePoint>) -> Vec<String> {
    let said = match (change, point.outlier) {
        (_, true) => "outlier".to_owned(),
        (None, false) if point.spoiled => "not counted: interrupted, or the machine was busy".to_owned(),
        (Some(change), _) => format!(
            "level {} -> {}, p = {:.3}",
            unit.human(change.before),
            unit.human(change.after),
            change.p
        ),
        (None, false) => String::new(),
    };
    vec![
        point.at.format(&Rfc3339).unwrap_or_default(),
        point.run.to_string(),
        point.revision.get(..12).unwrap_or(&point.revision).to_owned(),
        point.n.to_string(),
        unit.human(point.median),
        format!(
            "{} .. {}",
            unit.human(point.lower_quartile),
            unit.human(point.upper_quartile)
        ),
        said,
    ]
}

fn point_json(point: &BenchPoint, change: Option<&ChangePoint>) -> serde_json::Value {
    json!({
        "run": point.run,
        "at": point.at.format(&Rfc3339).unwrap_or_default(),
        "revision": point.revision,
        "n": point.n,
        "min": point.min,
        "lower_quartile": point.lower_quartile,
        "median": point.median,
        "upper_quartile": point.upper_quartile,
        "max": point.max,
        "outlier": point.outlier,
        "spoiled": point.spoiled,
        "change": change.map(|change| json!({
            "before": change.before,
            "after": change.after,
            "p": change.p,
        })),
    })
}

fn describe(series: &BenchSeries) -> serde_json::Value {
    json!({
        "id": series.id,
        "workload": series.workload,
        "parameters": series.parameters,
        "metric": series.metric,
        "unit": series.unit,
        "lower_is_better": series.better.name() == "lower",
        "machine_class": series.machine_class,
        "side": series.side.name(),
        "runs": series.runs,
    })
}

fn parameters(series: &BenchSeries) -> String {
    let pairs: Vec<String> = series
        .parameters
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join(" ")
}
