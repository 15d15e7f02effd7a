//! The calls of the benchmark lab.

use fleethold_api_types::{
    Page,
    bench::{
        Alert, AlertState, Annotation, Attachment, AttachmentKind, BenchRun, BenchRunDetail, BenchState,
        ChangeAlert, Comparison, CreateAnnotation, CreateBenchRun, ExportFormat, Flame, ImportReport,
        Machine, Series, SeriesHistory, Workload,
    },
};
use gloo::net::http::Method;
use uuid::Uuid;

use super::{Outcome, calls::all, checked, decoded, get, network, post, request, send};
use crate::{
    model::{load::Problem, query::encode},
    t,
};

/// Runs asked for at once.
const RUNS: u32 = 50;

/// The word of a value that serde writes as one.
pub fn word<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// `GET /bench/workloads`.
pub async fn bench_workloads() -> Outcome<Vec<Workload>> {
    all("/bench/workloads").await
}

/// What a list of runs is narrowed to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFilter {
    /// Name of a workload, or empty.
    pub workload: String,
    /// State.
    pub state: Option<BenchState>,
    /// Where the last page ended.
    pub cursor: Option<String>,
}

/// `GET /bench/runs`, newest first.
pub async fn bench_runs(filter: &RunFilter) -> Outcome<Page<BenchRun>> {
    let mut path = format!("/bench/runs?limit={RUNS}");
    if !filter.workload.is_empty() {
        path = format!("{path}&workload={}", encode(&filter.workload));
    }
    if let Some(state) = filter.state {
        path = format!("{path}&state={}", word(&state));
    }
    if let Some(cursor) = &filter.cursor {
        path = format!("{path}&cursor={}", encode(cursor));
    }
    get(&path).await
}

/// Pages of runs that are looked through for a revision.
const PAGES: usize = 10;

/// The newest ended run of a revision, given by the first characters of its commit, among the newest runs; of one
/// workload unless that is empty.
pub async fn run_of_revision(workload: String, revision: String) -> Outcome<Uuid> {
    let mut filter = RunFilter {
        workload,
        ..RunFilter::default()
    };
    for _ in 0..PAGES {
        let page = bench_runs(&filter).await?;
        let of_it =
            |r: &&BenchRun| r.state.is_final() && r.error.is_none() && r.revision.starts_with(&revision);
        if let Some(run) = page.items.iter().find(of_it) {
            return Ok(run.id);
        }
        filter.cursor = page.next_cursor;
        if filter.cursor.is_none() {
            break;
        }
    }
    Err(Problem {
        code: "unknown-revision".into(),
        status: 404,
        detail: t!(bench.no_run_of, revision = revision),
    })
}

/// `POST /bench/runs`.
pub async fn start_bench(body: &CreateBenchRun) -> Outcome<BenchRun> {
    post("/bench/runs", body).await
}

/// `GET /bench/runs/{id}`.
pub async fn bench_run(id: Uuid) -> Outcome<BenchRunDetail> {
    get(&format!("/bench/runs/{id}")).await
}

/// `POST /bench/runs/{id}/cancel`.
pub async fn cancel_bench(id: Uuid) -> Outcome<BenchRun> {
    post(&format!("/bench/runs/{id}/cancel"), &serde_json::json!({})).await
}

/// What is exported: one run, or two against each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Exported {
    /// One run with both sides.
    Run(Uuid),
    /// The after sides of two.
    Pair {
        /// The older.
        before: Uuid,
        /// The newer.
        after: Uuid,
        /// Of different machines all the same.
        across: bool,
    },
}

impl Exported {
    /// The address of a form of it, for a link that downloads.
    pub fn href(self, format: ExportFormat) -> String {
        format!("/api/v1{}", self.path(format))
    }

    fn path(self, format: ExportFormat) -> String {
        let format = word(&format);
        match self {
            Self::Run(id) => format!("/bench/runs/{id}/export?format={format}"),
            Self::Pair {
                before,
                after,
                across,
            } => {
                format!("/bench/compare/export?before={before}&after={after}&across={across}&format={format}")
            }
        }
    }

    /// The address that shows the same to others.
    pub fn permalink(self) -> String {
        match self {
            Self::Run(id) => format!("/bench/runs/{id}"),
            Self::Pair {
                before,
                after,
                across: false,
            } => format!("/bench/compare?before={before}&after={after}"),
            Self::Pair {
                before,
                after,
                across: true,
            } => format!("/bench/compare?before={before}&after={after}&across=true"),
        }
    }
}

/// `GET …/export?format=`: the text.
pub async fn bench_export(what: Exported, format: ExportFormat) -> Outcome<String> {
    let response = request(Method::GET, &what.path(format))
        .send()
        .await
        .map_err(network)?;
    checked(response).await?.text().await.map_err(network)
}

/// `GET /bench/compare`.
pub async fn bench_compare(before: Uuid, after: Uuid, across: bool) -> Outcome<Comparison> {
    get(&format!(
        "/bench/compare?before={before}&after={after}&across={across}"
    ))
    .await
}

async fn upload<T: serde::de::DeserializeOwned>(path: &str, bytes: &[u8]) -> Outcome<T> {
    let request = request(Method::POST, path)
        .header("Content-Type", "application/octet-stream")
        .body(js_sys::Uint8Array::from(bytes))
        .map_err(network)?;
    decoded(checked(request.send().await.map_err(network)?).await?).await
}

/// `POST /bench/runs/{id}/attachments`.
pub async fn attach(
    run: Uuid,
    kind: AttachmentKind,
    side: &str,
    name: &str,
    bytes: &[u8],
) -> Outcome<Attachment> {
    let path = format!(
        "/bench/runs/{run}/attachments?kind={}&side={}&name={}",
        word(&kind),
        encode(side),
        encode(name)
    );
    upload(&path, bytes).await
}

/// The address of an attachment: the browser downloads it itself.
pub fn attachment_href(run: Uuid, attachment: Uuid) -> String {
    format!("/api/v1/bench/runs/{run}/attachments/{attachment}")
}

/// `GET /bench/flame`.
pub async fn flame(of: Uuid, before: Option<Uuid>) -> Outcome<Flame> {
    let before = before.map(|b| format!("&before={b}")).unwrap_or_default();
    get(&format!("/bench/flame?of={of}{before}")).await
}

/// `POST /bench/import`.
pub async fn import(name: &str, format: &str, dry_run: bool, bytes: &[u8]) -> Outcome<ImportReport> {
    let mut path = format!("/bench/import?name={}&dry_run={dry_run}", encode(name));
    if !format.is_empty() {
        path = format!("{path}&format={}", encode(format));
    }
    upload(&path, bytes).await
}

/// `GET /bench/series`.
pub async fn bench_series(workload: &str) -> Outcome<Vec<Series>> {
    let query = if workload.is_empty() {
        String::new()
    } else {
        format!("?workload={}", encode(workload))
    };
    all(&format!("/bench/series{query}")).await
}

/// `GET /bench/series/{id}/history`; bounds are RFC 3339 or empty.
pub async fn series_history(id: i64, from: &str, to: &str) -> Outcome<SeriesHistory> {
    let mut query = Vec::new();
    if !from.is_empty() {
        query.push(format!("from={}", encode(from)));
    }
    if !to.is_empty() {
        query.push(format!("to={}", encode(to)));
    }
    get(&format!("/bench/series/{id}/history?{}", query.join("&"))).await
}

/// `POST /bench/annotations`.
pub async fn annotate(body: &CreateAnnotation) -> Outcome<Annotation> {
    post("/bench/annotations", body).await
}

/// `DELETE /bench/annotations/{id}`: withdraws it.
pub async fn withdraw(id: i64) -> Outcome<Annotation> {
    decoded(send(Method::DELETE, &format!("/bench/annotations/{id}"), None::<&()>).await?).await
}

/// `GET /bench/alerts`.
pub async fn bench_alerts(state: Option<AlertState>) -> Outcome<Vec<Alert>> {
    let query = state.map(|s| format!("?state={}", word(&s))).unwrap_or_default();
    all(&format!("/bench/alerts{query}")).await
}

/// `POST /bench/alerts/{id}`.
pub async fn change_alert(id: i64, body: &ChangeAlert) -> Outcome<Alert> {
    post(&format!("/bench/alerts/{id}"), body).await
}

/// `GET /bench/machines`.
pub async fn machines() -> Outcome<Vec<Machine>> {
    all("/bench/machines").await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_wire() {
        assert_eq!(word(&BenchState::Running), "running");
        assert_eq!(word(&ExportFormat::GoBench), "gobench");
        assert_eq!(word(&AttachmentKind::FlameGraph), "flame-graph");
    }

    #[test]
    fn a_permalink_names_its_runs() {
        let pair = Exported::Pair {
            before: Uuid::nil(),
            after: Uuid::max(),
            across: false,
        };
        assert_eq!(
            pair.permalink(),
            "/bench/compare?before=00000000-0000-0000-0000-000000000000&after=ffffffff-ffff-ffff-ffff-ffffffffffff"
        );
        assert!(
            pair.href(ExportFormat::Mail)
                .ends_with("&across=false&format=mail")
        );
    }
}
