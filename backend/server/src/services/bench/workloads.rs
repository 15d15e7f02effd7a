//! What the server measures: the workloads of its binary, and those that its administrator names.

use std::path::PathBuf;
use std::sync::Arc;

use fleethold_api_types::Page;
use fleethold_api_types::bench::{BenchState, Scenario, Workload};
use fleethold_bench::BenchError;
use fleethold_bench::definition::Definition;
use fleethold_bench::measure::cells;

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
/// None yet.
pub async fn list(state: &AppState) -> ServiceResult<Page<Workload>> {
    let kept = state.views.bench.list();
    let last_run = |name: &str| {
        let ended = |state: BenchState| matches!(state, BenchState::Ok | BenchState::Partial);
        kept.iter()
            .find(|run| run.workload == name && ended(run.state))
            .map(|run| run.id)
    };
    let items: Vec<Workload> = state
        .lab
        .workloads
        .iter()
        .map(|offered| Workload {
            last_run: last_run(&offered.definition.name),
            ..describe(&offered.definition)
        })
        .collect();
    Ok(Page {
        total: Some(items.len() as u64),
        items,
        next_cursor: None,
    })
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
