//! What the server measures: the workloads of its binary, and those that its administrator names.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use fleethold_api_types::Page;
use fleethold_api_types::bench::{BenchState, Scenario, Workload};
use fleethold_bench::BenchError;
use fleethold_bench::definition::Definition;
use fleethold_bench::measure::cells;
use fleethold_history::HistoryError;
use fleethold_history::bench::BenchRunFilter;
use uuid::Uuid;

use crate::services::error::{ServiceError, ServiceResult};
use crate::state::AppState;

/// One workload that runs.
#[derive(Debug, Clone)]
pub struct Offered {
    /// What its file says.
    pub definition: Arc<Definition>,
    /// The file.
    pub text: Arc<str>,
    /// What the command line calls it: its name, or the path of its file.
    pub argument: String,
}

/// The workloads of the binary and those of `files`. Reads them: blocking.
///
/// # Errors
/// When a file cannot be read, is no workload, or has a name that is taken.
pub fn load(files: &[PathBuf]) -> Result<Vec<Offered>, BenchError> {
    let built_in = Definition::built_in()?
        .into_iter()
        .map(|definition| definition.name);
    let files = files.iter().map(|file| {
        // A bare name would be one of the binary's.
        let file = file.canonicalize().map_err(|source| BenchError::Io {
            path: file.clone(),
            source,
        });
        file.map(|file| file.display().to_string())
    });
    let mut offered: Vec<Offered> = Vec::new();
    for argument in built_in.map(Ok).chain(files) {
        let argument = argument?;
        let (definition, text) = Definition::load(&argument)?;
        if offered
            .iter()
            .any(|other| other.definition.name == definition.name)
        {
            return Err(BenchError::Workload {
                file: argument,
                reason: format!("name: another workload is called `{}`", definition.name),
            });
        }
        offered.push(Offered {
            definition: Arc::new(definition),
            text: text.into(),
            argument,
        });
    }
    Ok(offered)
}

/// The workload called `name`.
///
/// # Errors
/// When there is none.
pub fn find<'o>(offered: &'o [Offered], name: &str) -> ServiceResult<&'o Offered> {
    let found = offered.iter().find(|one| one.definition.name == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = offered.iter().map(|one| one.definition.name.as_str()).collect();
        let found: String = name.chars().take(100).collect();
        let text = format!("workload: expected one of {}, found `{found}`", known.join(", "));
        ServiceError::not_found("unknown-workload", text)
    })
}

/// All of them, each with its newest ended run.
///
/// # Errors
/// When the database answers what this version does not know.
pub async fn list(state: &AppState) -> ServiceResult<Page<Workload>> {
    let last = last_runs(state).await?;
    let items: Vec<Workload> = state
        .lab
        .workloads
        .iter()
        .map(|offered| Workload {
            last_run: last.get(&offered.definition.name).copied(),
            ..describe(&offered.definition)
        })
        .collect();
    Ok(Page {
        total: Some(items.len() as u64),
        items,
        next_cursor: None,
    })
}

/// The newest ended run of each workload. While the database is away, of those in memory.
async fn last_runs(state: &AppState) -> ServiceResult<BTreeMap<String, Uuid>> {
    let database = Arc::clone(&state.views.database);
    let names: Vec<String> = state
        .lab
        .workloads
        .iter()
        .map(|offered| offered.definition.name.clone())
        .collect();
    let read = state.work.spawn(async move {
        let mut last = BTreeMap::new();
        for name in names {
            let filter = BenchRunFilter {
                workload: Some(name.clone()),
                ..BenchRunFilter::default()
            };
            let page = database.bench_runs(&filter, None, 1).await?;
            last.extend(page.items.first().map(|run| (name, run.id)));
        }
        Ok::<_, HistoryError>(last)
    });
    let mut last: BTreeMap<String, Uuid> = match read.await? {
        Ok(last) => last,
        Err(HistoryError::Away { .. } | HistoryError::Starting) => BTreeMap::new(),
        Err(error) => return Err(error.into()),
    };
    // Those on their way to the database.
    for run in state.views.bench.list() {
        if matches!(run.state, BenchState::Ok | BenchState::Partial) {
            let newest = last.entry(run.workload).or_insert(run.id);
            *newest = run.id.max(*newest);
        }
    }
    Ok(last)
}

fn describe(definition: &Definition) -> Workload {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Workload {
        name: definition.name.clone(),
        title: definition.title.clone(),
        source: definition.source.clone(),
        before: definition.before.clone(),
        after: definition.after.clone(),
        knob: definition.knob.name.clone(),
        values: definition.knob.values.clone(),
        scenarios: definition
            .scenarios
            .iter()
            .map(|scenario| Scenario {
                name: scenario.name.clone(),
                legend: scenario.legend.clone(),
            })
            .collect(),
        fields: count(cells(definition, false).len()),
        quick_fields: count(cells(definition, true).len()),
        floors: count(definition.floors.len()),
        last_run: None,
    }
}
