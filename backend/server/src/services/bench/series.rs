//! Series, and their history.

use std::sync::Arc;

use fleethold_api_types::Page;
use fleethold_api_types::bench::{ChangePoint, Level, Point, Series, SeriesHistory};
use fleethold_bench_model::change_points::{change_points, segments};
use fleethold_bench_model::quantile::Sorted;
use fleethold_bench_model::unit::Direction;
use fleethold_history::HistoryError;
use fleethold_history::bench::{BenchPoint, BenchSeries, SeriesFilter};
use time::OffsetDateTime;

use super::convert;
use super::curate::annotation_of;
use crate::services::error::{ServiceError, ServiceResult};
use crate::state::AppState;

/// Points of a history at most: the newest ones.
const MAX_POINTS: u32 = 2_000;

/// Series of a workload, or all.
///
/// # Errors
/// When the database is away.
pub async fn list(state: &AppState, workload: Option<String>) -> ServiceResult<Page<Series>> {
    let database = Arc::clone(&state.views.database);
    let filter = SeriesFilter { ids: None, workload };
    let read = state
        .work
        .spawn(async move { database.bench_series(&filter).await });
    let items: Vec<Series> = read.await??.into_iter().map(series_of).collect();
    Ok(Page {
        items,
        next_cursor: None,
        total: None,
    })
}

/// A series over time, with its levels and what people said.
///
/// # Errors
/// When there is none with this number, or the database is away.
pub async fn history(
    state: &AppState,
    id: i64,
    from: Option<OffsetDateTime>,
    to: Option<OffsetDateTime>,
) -> ServiceResult<SeriesHistory> {
    let database = Arc::clone(&state.views.database);
    let read = state.work.spawn(async move {
        let filter = SeriesFilter {
            ids: Some(vec![id]),
            workload: None,
        };
        let Some(series) = database.bench_series(&filter).await?.pop() else {
            return Ok(None);
        };
        let points = database.series_points(id, from, to, MAX_POINTS).await?;
        let annotations = database.annotations(id).await?;
        Ok::<_, HistoryError>(Some((series, points, annotations)))
    });
    let (series, points, annotations) = read
        .await??
        .ok_or_else(|| ServiceError::not_found("unknown-series", format!("there is no series {id}")))?;
    let points: Vec<Point> = points.into_iter().map(point_of).collect();
    let judged = state.lab.compute(move || {
        let (changes, levels) = levels(&points)?;
        Ok((points, changes, levels))
    });
    let (points, changes, levels) = judged.await?;
    Ok(SeriesHistory {
        series: series_of(series),
        points,
        changes,
        levels,
        annotations: annotations.into_iter().map(annotation_of).collect(),
    })
}

/// Where the level changes and the levels between. Outliers take no part.
fn levels(points: &[Point]) -> ServiceResult<(Vec<ChangePoint>, Vec<Level>)> {
    let counted: Vec<(usize, &Point)> = points
        .iter()
        .enumerate()
        .filter(|(_, point)| !point.outlier)
        .collect();
    let medians: Vec<f64> = counted.iter().map(|(_, point)| point.median).collect();
    let found = change_points(&medians).map_err(ServiceError::internal)?;
    let place = |index: usize| {
        let at = counted.get(index).map_or(points.len(), |(at, _)| *at);
        u32::try_from(at).unwrap_or(u32::MAX)
    };
    let revision = |index: usize| counted.get(index).map(|(_, point)| point.revision.clone());
    let changes = found
        .iter()
        .map(|change| ChangePoint {
            at: place(change.index),
            ratio: if change.before == 0.0 {
                1.0
            } else {
                change.after / change.before
            },
            p: change.p,
            from_revision: revision(change.index.saturating_sub(1)).unwrap_or_default(),
            to_revision: revision(change.index).unwrap_or_default(),
        })
        .collect();
    let levels = segments(&medians, &found)
        .into_iter()
        .map(|segment| {
            let of = Sorted::new(
                medians
                    .get(segment.start..segment.end)
                    .unwrap_or_default()
                    .to_vec(),
            );
            Level {
                from: place(segment.start),
                to: place(segment.end),
                median: segment.median,
                lower_quartile: of.quantile(0.25).unwrap_or(segment.median),
                upper_quartile: of.quantile(0.75).unwrap_or(segment.median),
            }
        })
        .collect();
    Ok((changes, levels))
}

/// A series as the API shows it.
pub(super) fn series_of(series: BenchSeries) -> Series {
    Series {
        id: series.id,
        workload: series.workload,
        parameters: series.parameters,
        metric: series.metric,
        unit: series.unit.name().to_owned(),
        lower_is_better: series.better == Direction::Lower,
        machine_class: series.machine_class,
        side: convert::side(series.side),
        runs: series.runs,
    }
}

fn point_of(point: BenchPoint) -> Point {
    Point {
        run: point.run,
        at: point.at,
        revision: point.revision,
        n: point.n,
        min: point.min,
        lower_quartile: point.lower_quartile,
        median: point.median,
        upper_quartile: point.upper_quartile,
        max: point.max,
        outlier: point.outlier,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_at_its_place_and_outliers_take_no_part() {
        let point = |number: usize| {
            let median = if number == 3 {
                90.0
            } else if number < 12 {
                10.0 + (number % 3) as f64 * 0.01
            } else {
                12.0 + (number % 3) as f64 * 0.01
            };
            Point {
                run: uuid::Uuid::nil(),
                at: OffsetDateTime::UNIX_EPOCH,
                revision: format!("c{number}"),
                n: 6,
                min: median,
                lower_quartile: median,
                median,
                upper_quartile: median,
                max: median,
                outlier: number == 3,
            }
        };
        let points: Vec<Point> = (0..24).map(point).collect();
        let (changes, levels) = levels(&points).unwrap();
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert_eq!(changes[0].at, 12);
        assert_eq!(
            (changes[0].from_revision.as_str(), changes[0].to_revision.as_str()),
            ("c11", "c12")
        );
        assert!((1.19..1.21).contains(&changes[0].ratio));
        let spans: Vec<(u32, u32)> = levels.iter().map(|level| (level.from, level.to)).collect();
        assert_eq!(spans, [(0, 12), (12, 24)]);
    }
}
