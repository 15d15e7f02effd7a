//! What a command works on: a file, or a run of the history.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fleethold_bench_model::export::Origin;
use fleethold_bench_model::import::{Content, Format};
use fleethold_bench_model::matrix::Matrix;
use fleethold_history::Database;
use fleethold_history::bench::BenchContent;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::super::exit::{CliResult, Failure};
use super::super::options;
use super::{database, file};
use crate::settings::Settings;

/// A file, or a run by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kept {
    File(PathBuf),
    Run(Uuid),
}

/// Measurements with a name for people.
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) content: Content,
    /// Where it comes from, as far as that is known.
    pub(super) origin: Origin,
}

impl Kept {
    /// Parses `FILE|RUN`. A file that has the name of a run is a file.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        Ok(match text.parse() {
            Ok(id) if !path.exists() => Self::Run(id),
            _ => Self::File(path),
        })
    }
}

/// Reads all of them; the database is joined when one is a run.
pub(super) fn read(settings: &Settings, all: &[&Kept]) -> CliResult<Vec<Measured>> {
    options::runtime()?.block_on(async {
        let mut joined: Option<Arc<Database>> = None;
        let mut found = Vec::new();
        for kept in all {
            found.push(match kept {
                Kept::File(path) => {
                    let imported = file::read(path)?;
                    let own = imported.format == Format::OwnJson;
                    let fact = |name: &str| imported.facts.get(name).filter(|_| own).cloned();
                    Measured {
                        name: name(path),
                        origin: Origin {
                            run_id: fact("run_id"),
                            started_at: fact("started_at"),
                        },
                        content: imported.content,
                    }
                }
                Kept::Run(id) => {
                    let database = match &joined {
                        Some(database) => database,
                        None => joined.insert(database::needed(settings).await?),
                    };
                    of_run(database, *id).await?
                }
            });
        }
        if let Some(database) = joined {
            database.stop().await;
        }
        Ok(found)
    })
}

/// Both sides of one of them.
pub(super) fn matrix(settings: &Settings, kept: &Kept) -> CliResult<(Matrix, Origin)> {
    let mut found = read(settings, &[kept])?;
    match found.pop().map(|found| (found.name, found.content, found.origin)) {
        Some((_, Content::Matrix(matrix), origin)) => Ok((*matrix, origin)),
        Some((name, ..)) => Err(Failure::usage(format!(
            "{name}: expected a run of fleethold bench with both its sides, found one side or none; compare it with another"
        ))),
        None => Err(Failure::usage("expected a file or a run")),
    }
}

/// A run of the history; a matrix with the noise of its series' own past.
async fn of_run(database: &Database, id: Uuid) -> CliResult<Measured> {
    let Some(row) = database.bench_run(id).await? else {
        return Err(anyhow::anyhow!("run {id}: not in the history").into());
    };
    let revision = row
        .after
        .map(|after| after.commit)
        .filter(|commit| !commit.is_empty());
    // UUIDv7 begin with the time: their end tells two of one day apart.
    let id_text = id.to_string();
    let short = id_text.rsplit('-').next().unwrap_or(&id_text);
    let name = match revision {
        Some(commit) => format!("{} ({short})", commit.get(..12).unwrap_or(&commit)),
        None => format!("run {short}"),
    };
    let content = match database.bench_content(id).await? {
        Some(BenchContent::Matrix(stored)) => {
            let judged = database.bench_matrix(id).await?;
            Content::Matrix(judged.map_or(stored, Box::new))
        }
        Some(BenchContent::Series(series)) => Content::Series(series),
        Some(BenchContent::Stacks) => {
            return Err(anyhow::anyhow!("run {id}: holds stacks, and no measurements").into());
        }
        Some(BenchContent::RolledUp) => {
            return Err(anyhow::anyhow!(
                "run {id}: its samples were rolled up; figures are left: fleethold bench history"
            )
            .into());
        }
        None => return Err(anyhow::anyhow!("run {id}: not in the history").into()),
    };
    let origin = Origin {
        run_id: Some(id.to_string()),
        started_at: row.started_at.and_then(|at| at.format(&Rfc3339).ok()),
    };
    Ok(Measured {
        name,
        content,
        origin,
    })
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}
