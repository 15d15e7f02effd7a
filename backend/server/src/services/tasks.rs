//! Tasks as the PBS face shows them. The functions block.

use fleethold_format::names::{Authid, DatastoreName};
use fleethold_format::upid::Upid;

use super::error::{ServiceError, ServiceResult};
use crate::jobs::task_files::TaskFiles;
use crate::jobs::task_list::TaskInfo;

/// Which tasks to list (API.md §3.1).
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Skip so many.
    pub start: usize,
    /// At most so many; 0 for all.
    pub limit: usize,
    /// Of this datastore.
    pub store: Option<DatastoreName>,
    /// Only running ones.
    pub running: bool,
    /// Only failed ones.
    pub errors: bool,
    /// Only what the caller sees without further rights: its own tasks, and of a user those of its tokens.
    pub owner: Option<Authid>,
    /// Text in the user.
    pub user: Option<String>,
    /// Text in the worker type.
    pub worker_type: Option<String>,
    /// Started at or after, epoch seconds.
    pub since: Option<i64>,
    /// Started at or before, epoch seconds.
    pub until: Option<i64>,
    /// Status classes `ok`, `warning`, `error`, `unknown`; running ones are hidden when there is any.
    pub statuses: Vec<String>,
}

impl TaskFilter {
    fn wants(&self, task: &TaskInfo) -> bool {
        let upid = &task.upid;
        let id = upid.worker_id.as_deref().unwrap_or_default();
        let of_store = |store: &DatastoreName| {
            id == store.as_str()
                || id
                    .strip_prefix(store.as_str())
                    .is_some_and(|rest| rest.starts_with(':'))
        };
        let class = task.ended.as_ref().map(|(_, status)| status_class(status));
        let of_owner = |owner: &Authid| {
            upid.authid == *owner || (owner.token.is_none() && upid.authid.user == owner.user)
        };
        self.store.as_ref().is_none_or(of_store)
            && self.owner.as_ref().is_none_or(of_owner)
            && (!self.running || task.ended.is_none())
            && (!self.errors || class.is_some_and(|class| class != "ok"))
            && self
                .user
                .as_ref()
                .is_none_or(|text| upid.authid.to_string().contains(text.as_str()))
            && self
                .worker_type
                .as_ref()
                .is_none_or(|text| upid.worker_type.contains(text.as_str()))
            && self.since.is_none_or(|since| upid.starttime >= since)
            && self.until.is_none_or(|until| upid.starttime <= until)
            && (self.statuses.is_empty()
                || class.is_some_and(|class| self.statuses.iter().any(|s| s == class)))
    }
}

/// `ok`, `warning`, `unknown` or `error`.
#[must_use]
pub fn status_class(status: &str) -> &'static str {
    match status {
        "OK" => "ok",
        "unknown" => "unknown",
        status if status.starts_with("WARNINGS: ") => "warning",
        _ => "error",
    }
}

/// Tasks, the newest first.
#[must_use]
pub fn list(tasks: &TaskFiles, filter: &TaskFilter) -> Vec<TaskInfo> {
    let limit = if filter.limit == 0 {
        usize::MAX
    } else {
        filter.limit
    };
    tasks.list(|task| filter.wants(task), filter.start, limit)
}

/// One task.
///
/// # Errors
/// When the UPID is malformed or no such task is known.
pub fn get(tasks: &TaskFiles, upid: &str) -> ServiceResult<TaskInfo> {
    Upid::parse(upid).map_err(|error| ServiceError::bad_request("invalid-upid", error))?;
    tasks
        .find(upid)
        .ok_or_else(|| ServiceError::not_found("unknown-task", format!("no task {upid} is known here")))
}

/// Lines `skip..skip + take` of a task's log and how many there are.
///
/// # Errors
/// When the task is not known or its log cannot be read.
pub fn log(tasks: &TaskFiles, upid: &str, skip: usize, take: usize) -> ServiceResult<(Vec<String>, usize)> {
    let task = get(tasks, upid)?;
    tasks
        .log(&task.upid, skip, take)
        .map_err(|error| ServiceError::internal(format!("cannot read the log of {upid}: {error}")))
}
