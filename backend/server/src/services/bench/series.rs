//! Series, and their history.

use std::sync::Arc;

use fleethold_api_types::Page;
use fleethold_api_types::bench::{ChangePoint, Level, Point, Series, SeriesHistory};
use fleethold_bench_model::change_points::{change_points_with, segments};
use fleethold_bench_model::quantile::Sorted;
use fleethold_bench_model::unit::Direction;
use fleethold_history::HistoryError;
use fleethold_history::bench::{AnnotationKind, BenchAnnotation, BenchPoint, BenchSeries, SeriesFilter};
use time::OffsetDateTime;
use uuid::Uuid;

use super::convert;
use super::curate::annotation_of;
use crate::services::error::{ServiceError, ServiceResult};
use crate::services::paging::{PageRequest, foreign_cursor};
use crate::state::AppState;

/// Points of a history at most: the newest ones.
const MAX_POINTS: u32 = 2_000;

/// Series of a workload, or all, by workload and number.
///
/// # Errors
/// When the cursor is none of this list, or the database is away.
pub async fn list(
    state: &AppState,
    workload: Option<String>,
    page: &PageRequest,
) -> ServiceResult<Page<Series>> {
    let after = page.after().map(key_of).transpose()?;
    let database = Arc::clone(&state.views.database);
    let filter = SeriesFilter { ids: None, workload };
    // One more than the page: whether another one follows.
    let count = u32::try_from(page.limit() + 1).unwrap_or(u32::MAX);
    let read = state.work.spawn(async move {
        let after = after.as_ref().map(|(id, workload)| (workload.as_str(), *id));
        database.bench_series_after(&filter, after, count).await
    });
    let items: Vec<Series> = read.await??.into_iter().map(series_of).collect();
    let key = |series: &Series| format!("{} {}", series.id, series.workload);
    let mut page = page.cut(items, key, |_, _| true);
    // Not counted beyond this page.
    page.total = None;
    Ok(page)
}

/// Number and workload, as the cursor holds them.
fn key_of(cursor: &str) -> ServiceResult<(i64, String)> {
    let (id, workload) = cursor.split_once(' ').ok_or_else(foreign_cursor)?;
    Ok((id.parse().map_err(|_| foreign_cursor())?, workload.to_owned()))
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
    let shifts = shifts(&annotations);
    let judged = state.lab.turns.turn().await?;
    let judged = judged.compute(move || {
        let (changes, levels) = levels(&points, &shifts)?;
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

/// Runs at which people say that the level shifts.
fn shifts(annotations: &[BenchAnnotation]) -> Vec<Uuid> {
    annotations
        .iter()
        .filter(|said| said.kind == AnnotationKind::LevelShift && said.withdrawn.is_none())
        .filter_map(|said| said.run)
        .collect()
}

/// Where the level changes and the levels between. Outliers and what is spoiled take no part; a shift that people know
/// of is a change wherever it is.
fn levels(points: &[Point], shifts: &[Uuid]) -> ServiceResult<(Vec<ChangePoint>, Vec<Level>)> {
    let counted: Vec<(usize, &Point)> = points
        .iter()
        .enumerate()
        .filter(|(_, point)| !point.outlier && !point.spoiled)
        .collect();
    let medians: Vec<f64> = counted.iter().map(|(_, point)| point.median).collect();
    // The mark may stand on a point that does not count: then the level begins at the next one.
    let known: Vec<usize> = points
        .iter()
        .enumerate()
        .filter(|(_, point)| shifts.contains(&point.run))
        .map(|(at, _)| counted.partition_point(|(of, _)| *of < at))
        .collect();
    let found = change_points_with(&medians, &known).map_err(ServiceError::internal)?;
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
        spoiled: point.spoiled,
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
                run: Uuid::from_u128(number as u128),
                at: OffsetDateTime::UNIX_EPOCH,
                revision: format!("c{number}"),
                n: 6,
                min: median,
                lower_quartile: median,
                median,
                upper_quartile: median,
                max: median,
                outlier: number == 3,
                spoiled: false,
            }
        };
        let points: Vec<Point> = (0..24).map(point).collect();
        let (changes, levels) = levels(&points, &[]).unwrap();
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert_eq!(changes[0].at, 12);
        assert_eq!(
            (changes[0].from_revision.as_str(), changes[0].to_revision.as_str()),
            ("c11", "c12")
        );
        assert!((1.19..1.21).contains(&changes[0].ratio));
        let spans: Vec<(u32, u32)> = levels.iter().map(|level| (level.from, level.to)).collect();
        assert_eq!(spans, [(0, 12), (12, 24)]);

        // What people know splits a level, too, and what is spoiled is not counted.
        let (changes, levels) = super::levels(&points, &[Uuid::from_u128(20)]).unwrap();
        assert_eq!(changes.iter().map(|one| one.at).collect::<Vec<_>>(), [12, 20]);
        assert_eq!(levels.last().map(|level| (level.from, level.to)), Some((20, 24)));
        let spoiled: Vec<Point> = points
            .into_iter()
            .map(|point| Point {
                spoiled: point.median > 11.0,
                ..point
            })
            .collect();
        let (changes, levels) = super::levels(&spoiled, &[]).unwrap();
        assert_eq!((changes.len(), levels.len()), (0, 1));
    }
}
