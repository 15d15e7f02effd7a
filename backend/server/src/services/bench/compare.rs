//! Two runs side by side.

use std::sync::Arc;

use fleethold_api_types::bench as api;
use fleethold_bench_model::between::{BetweenError, between};
use fleethold_bench_model::comparison::Comparison;
use fleethold_bench_model::export::{ExportFormat, Origin, export_of};
use fleethold_bench_model::matrix::{Matrix, Version};
use fleethold_bench_model::pair::pair;
use fleethold_bench_model::verdict::Rules;
use fleethold_history::HistoryError;
use fleethold_history::bench::{BenchContent, CellSeries};
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use uuid::Uuid;

use super::content::{self, Held};
use super::encoded::Encoded;
use super::turns::Turn;
use super::{convert, keep};
use crate::services::error::{ServiceError, ServiceResult};
use crate::state::AppState;

/// Digits of a commit that people read.
const SHORT_COMMIT: usize = 12;

/// Which runs are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The older.
    pub before: Uuid,
    /// The newer.
    pub after: Uuid,
    /// Compare machines of different classes all the same; the result says so.
    pub across: bool,
}

/// A text to be sent.
#[derive(Debug, Clone)]
pub struct Exported {
    /// The text.
    pub text: String,
    /// Its media type.
    pub media_type: &'static str,
    /// Name for a file: ASCII letters, digits, `-`, `.`.
    pub file_name: String,
}

/// The after sides of two runs, judged. Looking at them keeps neither for good; a text with a link in it does.
///
/// # Errors
/// When a run is none, has lost its samples, or the two measured different things.
pub async fn compare(state: &AppState, of: Pair) -> ServiceResult<Encoded> {
    let turn = state.lab.turns.turn().await?;
    let joined = matrix(state, &turn, of).await?;
    let judged = turn.compute(move || {
        let (matrix, series) = joined;
        let mut comparison = convert::comparison(&matrix, vec![of.before, of.after])?;
        if let Some((whole, series)) = series {
            convert::name_series(&mut comparison, &whole, &series);
        }
        Encoded::of(&comparison)
    });
    judged.await
}

/// The same as a text.
///
/// # Errors
/// As [`compare`].
pub async fn compare_text(
    state: &AppState,
    of: Pair,
    format: api::ExportFormat,
    link: String,
) -> ServiceResult<Exported> {
    // Before they are read: what the link shows must not roll up meanwhile.
    pin(state, of.before).await?;
    pin(state, of.after).await?;
    let turn = state.lab.turns.turn().await?;
    let (matrix, _) = matrix(state, &turn, of).await?;
    let name = format!("{}-{}-{}", matrix.workload, short(of.before), short(of.after));
    text(&turn, matrix, format, link, &name, Origin::default()).await
}

/// A run as a text.
///
/// # Errors
/// When there is none with this id, or it has no matrix.
pub async fn run_text(
    state: &AppState,
    id: Uuid,
    format: api::ExportFormat,
    link: String,
) -> ServiceResult<Exported> {
    pin(state, id).await?;
    let held = content::find(state, id).await?;
    let turn = state.lab.turns.turn().await?;
    let matrix = content::matrix(state, &turn, &held).await?;
    let name = format!("{}-{}", matrix.workload, short(id));
    let started_at = run_of(&held).started_at;
    let origin = Origin {
        run_id: Some(id.to_string()),
        started_at: started_at.and_then(|at| at.format(&Rfc3339).ok()),
    };
    text(&turn, matrix, format, link, &name, origin).await
}

/// The last digits: the first ones are the time.
fn short(id: Uuid) -> String {
    let text = id.simple().to_string();
    text.get(20..).unwrap_or(&text).to_owned()
}

async fn text(
    turn: &Turn,
    mut matrix: Matrix,
    format: api::ExportFormat,
    link: String,
    name: &str,
    origin: Origin,
) -> ServiceResult<Exported> {
    let (format, extension) = match format {
        api::ExportFormat::Mail => (ExportFormat::Mail, "txt"),
        api::ExportFormat::Markdown => (ExportFormat::Markdown, "md"),
        api::ExportFormat::Csv => (ExportFormat::Csv, "csv"),
        api::ExportFormat::Json => (ExportFormat::Json, "json"),
        api::ExportFormat::GoBench => (ExportFormat::GoBench, "bench.txt"),
        api::ExportFormat::Html => (ExportFormat::Html, "html"),
    };
    matrix.permalink = Some(link);
    let file_name = format!("{}.{extension}", safe(name));
    let written = turn.compute(move || {
        let comparison = Comparison::judge(&matrix).map_err(|error| convert::refused(&error))?;
        Ok(export_of(&comparison, format, &origin))
    });
    Ok(Exported {
        text: written.await?,
        media_type: format.media_type(),
        file_name,
    })
}

/// A name that any file system and any header takes.
fn safe(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    name.chars().take(100).map(plain).collect()
}

/// The second run's whole matrix with its series, to say which series a cell is of.
type Named = Option<(Box<Matrix>, Vec<CellSeries>)>;

async fn matrix(state: &AppState, turn: &Turn, of: Pair) -> ServiceResult<(Matrix, Named)> {
    let (first, second) = (
        content::find(state, of.before).await?,
        content::find(state, of.after).await?,
    );
    let names = (label(&first), label(&second));
    let rules = Rules {
        across_machines: of.across,
        ..Rules::default()
    };
    let contents = (
        content::content(state, turn, &first).await?,
        content::content(state, turn, &second).await?,
    );
    let series = series_of(state, &second).await?;
    turn.compute(move || join(contents, names, rules, series)).await
}

/// Both as one matrix. Takes the processor for a while.
fn join(
    contents: (BenchContent, BenchContent),
    names: (String, String),
    rules: Rules,
    series: Option<Vec<CellSeries>>,
) -> ServiceResult<(Matrix, Named)> {
    let (mut matrix, named) = match contents {
        (BenchContent::Matrix(before), BenchContent::Matrix(after)) => {
            let matrix = between((&names.0, &before), (&names.1, &after)).map_err(|error| refused(&error))?;
            (matrix, series.map(|series| (after, series)))
        }
        (BenchContent::Series(before), BenchContent::Series(after)) => {
            let side = |label: String| Version {
                label,
                ..Version::default()
            };
            let matrix = pair((side(names.0), &before), (side(names.1), &after), rules)
                .map_err(|error| ServiceError::unprocessable("not-comparable", error))?;
            (matrix, None)
        }
        _ => {
            return Err(ServiceError::unprocessable(
                "not-comparable",
                "expected two runs with both their sides, or two imported files of other tools",
            ));
        }
    };
    matrix.rules.across_machines = rules.across_machines;
    Ok((matrix, named))
}

fn refused(error: &BetweenError) -> ServiceError {
    match error {
        BetweenError::Comparison(error) => convert::refused(error),
        other => ServiceError::unprocessable("not-comparable", other),
    }
}

async fn series_of(state: &AppState, held: &Held) -> ServiceResult<Option<Vec<CellSeries>>> {
    let Held::Kept(row) = held else { return Ok(None) };
    let (database, id) = (Arc::clone(&state.views.database), row.id);
    let read = state.work.spawn(async move { database.series_of_run(id).await });
    Ok(Some(read.await??))
}

/// What somebody may link to stays.
async fn pin(state: &AppState, id: Uuid) -> ServiceResult<()> {
    match content::find(state, id).await? {
        Held::Memory(cell) => {
            state.views.bench.update(&cell, |run| run.pinned = true);
            // Its way into the database is not over: what waits on disk says so, should this process end.
            keep::pin(&state.lab, &cell).await
        }
        Held::Kept(row) if row.pinned => Ok(()),
        Held::Kept(row) => {
            let (database, id) = (Arc::clone(&state.views.database), row.id);
            let pinned = state.work.spawn(async move {
                database.pin_bench_run(id, true).await?;
                Ok::<_, HistoryError>(())
            });
            Ok(pinned.await??)
        }
    }
}

fn run_of(held: &Held) -> api::BenchRun {
    match held {
        Held::Memory(cell) => cell.run(),
        Held::Kept(row) => super::record::run_of(row),
    }
}

/// Commit or format, and when: what tells two runs of a workload apart.
fn label(held: &Held) -> String {
    let run = run_of(held);
    let what = match run.revision.get(..SHORT_COMMIT) {
        Some(commit) if run.dirty => format!("{commit}+"),
        Some(commit) => commit.to_owned(),
        None => run.source,
    };
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    match run.started_at.unwrap_or(run.created_at).format(format) {
        Ok(at) => format!("{what} {at}"),
        Err(_) => what,
    }
}
