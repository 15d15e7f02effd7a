//! The machines that measured.

use std::sync::Arc;

use fleethold_api_types::Page;
use fleethold_api_types::bench::Machine;

use super::record::machine_of;
use crate::services::error::ServiceResult;
use crate::state::AppState;

/// All of them, the one with the newest run first.
///
/// # Errors
/// When the database is away.
pub async fn list(state: &AppState) -> ServiceResult<Page<Machine>> {
    let database = Arc::clone(&state.views.database);
    let found = state
        .work
        .spawn(async move { database.machines().await })
        .await??;
    let here = &state.lab.machine.fingerprint;
    let items: Vec<Machine> = found.into_iter().map(|row| machine_of(row, here)).collect();
    Ok(Page {
        total: Some(items.len() as u64),
        items,
        next_cursor: None,
    })
}
