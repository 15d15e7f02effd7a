//! `/nodes/{node}/tasks`: restores as tasks.

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::http::header;
use actix_web::web::{Data, Path};
use serde::Serialize;
use serde_json::json;
use tokio_util::io::ReaderStream;

use fleethold_format::names::DatastoreName;
use fleethold_format::upid::Upid;

use super::caller::PbsCaller;
use super::envelope::{PbsError, PbsResult, data, data_with, nothing};
use super::locate::blocking;
use super::nodes;
use super::params::Params;
use super::rights::{FORBIDDEN_DELAY, Rights};
use crate::auth::acl::Privileges;
use crate::jobs::task_list::TaskInfo;
use crate::services::error::ServiceError;
use crate::services::restores;
use crate::services::tasks::{self, TaskFilter};
use crate::state::AppState;

/// Tasks or log lines in one reply unless asked otherwise.
const LIMIT: u64 = 50;

/// A task in a list: the one place of this API with underscores.
#[derive(Serialize)]
struct Item {
    upid: String,
    node: String,
    pid: u32,
    pstart: u64,
    starttime: i64,
    worker_type: String,
    worker_id: Option<String>,
    user: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    endtime: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
}

impl From<TaskInfo> for Item {
    fn from(TaskInfo { upid, ended }: TaskInfo) -> Self {
        let (endtime, status) = ended.unzip();
        Self {
            upid: upid.to_string(),
            node: upid.node,
            pid: upid.pid,
            pstart: upid.pstart,
            starttime: upid.starttime,
            worker_type: upid.worker_type,
            worker_id: upid.worker_id,
            user: upid.authid.to_string(),
            endtime,
            status,
        }
    }
}

/// Tasks, the newest first.
pub(super) async fn list(
    caller: PbsCaller,
    state: Data<AppState>,
    node: Path<String>,
    mut params: Params,
) -> PbsResult {
    nodes::check(&state, &node)?;
    let mut filter = filter(&mut params)?;
    params.finish()?;
    if !Rights::of(&state, &caller).on_system("tasks", Privileges::SYS_AUDIT) {
        filter.owner = Some(caller.0.authid.clone());
    }
    let (start, limit) = (filter.start, filter.limit);
    let tasks = Arc::clone(&state.tasks);
    let found = blocking(&state, move || Ok(tasks::list(&tasks, &filter))).await?;
    let items: Vec<Item> = found.into_iter().map(Item::from).collect();
    // A hint that there may be more, not a count.
    let full = limit > 0 && items.len() == limit;
    let total = start + items.len() + usize::from(full);
    data_with(&items, [("total", total.into())])
}

fn filter(params: &mut Params) -> Result<TaskFilter, PbsError> {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let statuses: Vec<String> = params.all("statusfilter")?;
    if let Some(status) = statuses
        .iter()
        .find(|status| !matches!(status.as_str(), "ok" | "warning" | "error" | "unknown"))
    {
        let text = format!(
            "parameter verification failed - 'statusfilter': value '{status}' is not one of ok, warning, error, unknown"
        );
        return Err(PbsError::bad_request(text));
    }
    Ok(TaskFilter {
        start: size(params.or("start", 0)?),
        limit: size(params.or("limit", LIMIT)?),
        store: params.optional::<DatastoreName>("store")?,
        running: params.or("running", false)?,
        errors: params.or("errors", false)?,
        user: params.optional("userfilter")?,
        worker_type: params.optional("typefilter")?,
        since: params.optional("since")?,
        until: params.optional("until")?,
        statuses,
        owner: None,
    })
}

/// The task of a path, if the caller may see it.
async fn visible(
    state: &AppState,
    rights: &Rights,
    (node, upid): (String, String),
) -> Result<TaskInfo, PbsError> {
    nodes::check(state, &node)?;
    let tasks = Arc::clone(&state.tasks);
    let task = blocking(state, move || tasks::get(&tasks, &upid)).await?;
    if rights.sees_task_of(&task.upid.authid) {
        Ok(task)
    } else {
        tokio::time::sleep(FORBIDDEN_DELAY).await;
        Err(PbsError::forbidden(
            "permission check failed: not a task of yours",
        ))
    }
}

/// One task.
#[derive(Serialize)]
struct Status {
    upid: String,
    node: String,
    pid: u32,
    pstart: u64,
    starttime: i64,
    #[serde(rename = "type")]
    ty: String,
    id: Option<String>,
    user: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokenid: Option<String>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exitstatus: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    endtime: Option<i64>,
}

impl From<TaskInfo> for Status {
    fn from(TaskInfo { upid, ended }: TaskInfo) -> Self {
        let status = if ended.is_some() { "stopped" } else { "running" };
        let (endtime, exitstatus) = ended.unzip();
        Self {
            upid: upid.to_string(),
            node: upid.node,
            pid: upid.pid,
            pstart: upid.pstart,
            starttime: upid.starttime,
            ty: upid.worker_type,
            id: upid.worker_id,
            user: upid.authid.user.to_string(),
            tokenid: upid.authid.token.map(|token| token.to_string()),
            status,
            exitstatus,
            endtime,
        }
    }
}

/// State of one task.
pub(super) async fn status(
    caller: PbsCaller,
    state: Data<AppState>,
    path: Path<(String, String)>,
    params: Params,
) -> PbsResult {
    params.finish()?;
    let rights = Rights::of(&state, &caller);
    data(&Status::from(visible(&state, &rights, path.into_inner()).await?))
}

/// Lines of a task's log, or with `download` the whole of it as a text file.
pub(super) async fn log(
    caller: PbsCaller,
    state: Data<AppState>,
    path: Path<(String, String)>,
    mut params: Params,
) -> PbsResult {
    let task = visible(&state, &Rights::of(&state, &caller), path.into_inner()).await?;
    if params.or("download", false)? {
        if !params.is_empty() {
            return Err(PbsError::bad_request(
                "parameter verification failed - 'download': not together with others",
            ));
        }
        return whole_log(&state, task.upid).await;
    }
    // Lines count from 1; 0 means the first one, too.
    let start = params.or("start", 0_u64)?.saturating_sub(1);
    let limit = params.or("limit", LIMIT)?;
    let test_status = params.or("test-status", false)?;
    params.finish()?;

    let skip = usize::try_from(start).unwrap_or(usize::MAX);
    let take = if limit == 0 {
        usize::MAX
    } else {
        usize::try_from(limit).unwrap_or(usize::MAX)
    };
    let tasks = Arc::clone(&state.tasks);
    let (active, upid) = (task.ended.is_none(), task.upid.to_string());
    let (lines, total) = blocking(&state, move || tasks::log(&tasks, &upid, skip, take)).await?;
    let lines: Vec<_> = (start + 1..)
        .zip(lines)
        .map(|(n, t)| json!({ "n": n, "t": t }))
        .collect();
    let siblings = [("total", total.into()), ("success", 1.into())];
    if test_status {
        let [total, success] = siblings;
        data_with(&lines, [total, success, ("active", active.into())])
    } else {
        data_with(&lines, siblings)
    }
}

async fn whole_log(state: &AppState, upid: Upid) -> PbsResult {
    let name = format!(
        "task-{}-{}-{:08X}.log",
        upid.node, upid.worker_type, upid.starttime
    );
    let tasks = Arc::clone(&state.tasks);
    let file = blocking(state, move || {
        std::fs::File::open(tasks.log_path(&upid))
            .map_err(|error| ServiceError::internal(format!("cannot read the log of {upid}: {error}")))
    })
    .await?;
    let lines = ReaderStream::new(tokio::fs::File::from_std(file));
    let attachment = format!("attachment; filename=\"{name}\"");
    Ok(HttpResponse::Ok()
        .content_type("text/plain")
        .insert_header((header::CONTENT_DISPOSITION, attachment))
        .streaming(lines))
}

/// Asks a task to stop; one that ended already stays as it is.
pub(super) async fn abort(
    caller: PbsCaller,
    state: Data<AppState>,
    path: Path<(String, String)>,
    params: Params,
) -> PbsResult {
    params.finish()?;
    let rights = Rights::of(&state, &caller);
    let task = visible(&state, &rights, path.into_inner()).await?;
    if !rights.stops_task_of(&task.upid.authid) {
        tokio::time::sleep(FORBIDDEN_DELAY).await;
        return Err(PbsError::forbidden(
            "permission check failed: not a task of yours",
        ));
    }
    if task.ended.is_none()
        && let Some(job) = state.views.jobs.by_upid(&task.upid.to_string())
        && !job.state().is_final()
    {
        restores::cancel(&state, job.job().id, &caller.0.authid).await?;
    }
    nothing()
}
