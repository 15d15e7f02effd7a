//! Figures for Prometheus, in its text format. No sign-in: there are no names in it, only counts.

use std::sync::atomic::Ordering;

use actix_web::{HttpResponse, web};
use fleethold_api_types::{DatabaseState, JobState};
use prometheus::{
    Encoder as _, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};

use crate::services::error::ServiceError;
use crate::state::AppState;

/// `GET /metrics`. Everything is read at this moment: there are no counters to forget.
pub async fn serve(state: web::Data<AppState>) -> Result<HttpResponse, super::problem::ApiError> {
    let registry = Registry::new();
    fill(&registry, &state).map_err(ServiceError::internal)?;
    let mut text = Vec::new();
    let encoder = TextEncoder::new();
    encoder
        .encode(&registry.gather(), &mut text)
        .map_err(ServiceError::internal)?;
    Ok(HttpResponse::Ok().content_type(encoder.format_type()).body(text))
}

fn fill(registry: &Registry, state: &AppState) -> Result<(), prometheus::Error> {
    let views = &state.views;
    let summary = views.summary();
    let health = views.health();
    labelled(
        registry,
        "fleethold_stores",
        "Configured datastores by state",
        "state",
        &[
            ("ok", summary.ok),
            ("maintenance", summary.maintenance),
            ("warning", summary.warning),
            ("error", summary.error),
            ("offline", summary.offline),
            ("unknown", summary.unknown),
        ],
    )?;
    let jobs = views.jobs.list();
    let count = |wanted: JobState| jobs.iter().filter(|job| job.state == wanted).count() as u64;
    labelled(
        registry,
        "fleethold_restores",
        "Restores in memory by state",
        "state",
        &[
            ("queued", count(JobState::Queued)),
            ("running", count(JobState::Running)),
            ("ok", count(JobState::Ok)),
            ("failed", count(JobState::Failed)),
            ("cancelled", count(JobState::Cancelled)),
            ("interrupted", count(JobState::Interrupted)),
        ],
    )?;
    let database = health.database.state;
    labelled(
        registry,
        "fleethold_database",
        "1 for the state the database is in",
        "state",
        &[
            ("starting", u64::from(database == DatabaseState::Starting)),
            ("ready", u64::from(database == DatabaseState::Ready)),
            ("away", u64::from(database == DatabaseState::Away)),
        ],
    )?;
    let broken = views
        .users
        .problems()
        .map(|(file, problem)| (file, u64::from(problem.is_some())));
    labelled(
        registry,
        "fleethold_access_file_errors",
        "1 when a file of users or rights cannot be parsed and the last good one is in force",
        "file",
        &broken,
    )?;
    let (passwords, tokens, known_tokens) = state.sessions.stats();
    for (name, help, of_passwords, of_tokens) in [
        (
            "fleethold_login_failed_total",
            "Wrong passwords and secrets of tokens",
            &passwords.failed,
            &tokens.failed,
        ),
        (
            "fleethold_login_refused_total",
            "Attempts that were not looked at: too many failures, or too many under way",
            &passwords.refused,
            &tokens.refused,
        ),
        (
            "fleethold_login_hashes_total",
            "Slow hashes computed to compare with",
            &passwords.hashed,
            &tokens.hashed,
        ),
    ] {
        let values = [("password", of_passwords), ("token", of_tokens)];
        let values = values.map(|(kind, count)| (kind, count.load(Ordering::Relaxed)));
        counted(registry, name, help, "kind", &values)?;
    }
    let bench = &views.bench.stats;
    counted(
        registry,
        "fleethold_bench_runs_total",
        "Benchmark runs that ended, by state",
        "state",
        &[
            ("ok", bench.ok.load(Ordering::Relaxed)),
            ("partial", bench.partial.load(Ordering::Relaxed)),
            ("failed", bench.failed.load(Ordering::Relaxed)),
        ],
    )?;
    let engine = state.engine.stats();
    let sum =
        |field: fn(&fleethold_api_types::Job) -> u64| jobs.iter().map(field).fold(0, u64::saturating_add);
    let feed = &views.feed;
    for (name, help, value) in [
        (
            "fleethold_restore_bytes_per_second",
            "Plain bytes a second of all running restores",
            summary.restore_bytes_per_s,
        ),
        (
            "fleethold_restore_done_bytes",
            "Plain bytes settled by the restores in memory",
            sum(|job| job.progress.bytes_done),
        ),
        (
            "fleethold_restore_read_bytes",
            "Encoded bytes read by the restores in memory",
            sum(|job| job.progress.encoded_bytes_read),
        ),
        (
            "fleethold_downloads_total",
            "Downloads completed",
            views.downloads.completed.load(Ordering::Relaxed),
        ),
        (
            "fleethold_download_bytes_total",
            "Plain bytes of completed downloads",
            views.downloads.bytes.load(Ordering::Relaxed),
        ),
        (
            "fleethold_memory_budget_bytes",
            "Byte budget of all restores",
            state.settings.memory_bytes,
        ),
        (
            "fleethold_memory_used_bytes",
            "Part of the budget in use",
            engine.budget.used_bytes,
        ),
        (
            "fleethold_decode_queue",
            "Chunks that wait for a CPU thread",
            engine.cpu_queued as u64,
        ),
        (
            "fleethold_feed_clients",
            "Browsers that follow the live feed",
            feed.clients.load(Ordering::Relaxed),
        ),
        (
            "fleethold_feed_dropped_total",
            "Live feed clients dropped because they did not keep up",
            feed.dropped.load(Ordering::Relaxed),
        ),
        (
            "fleethold_feed_events_total",
            "Live feed events sent",
            feed.events.load(Ordering::Relaxed),
        ),
        (
            "fleethold_bench_queue",
            "Benchmark runs that wait for their turn",
            views.bench.queued(),
        ),
        (
            "fleethold_bench_refused_total",
            "Benchmark runs refused because too many waited",
            bench.refused.load(Ordering::Relaxed),
        ),
        (
            "fleethold_bench_working",
            "Judgements, layouts and imports of benchmark runs that take the processor",
            state.lab.turns.working(),
        ),
        (
            "fleethold_bench_waiting",
            "Requests that wait to be judged, laid out or imported",
            state.lab.turns.waiting(),
        ),
        (
            "fleethold_bench_downloads",
            "Attachments of benchmark runs that are being sent",
            state.lab.downloading(),
        ),
        (
            "fleethold_bench_outbox_refused",
            "Benchmark runs that the database refused since the start; their files stay in the outbox",
            state.lab.refused.count(),
        ),
        (
            "fleethold_bench_samples_dropped_total",
            "Benchmark samples that the live feed did not get; the runs have them",
            bench.samples_dropped.load(Ordering::Relaxed),
        ),
        (
            "fleethold_audit_lost_total",
            "Changes of users and rights that stand in no audit log but the server's own log",
            state.audit.lost(),
        ),
        (
            "fleethold_tokens_known",
            "API tokens whose secret needs no slow hash",
            known_tokens,
        ),
        (
            "fleethold_spool_rows",
            "Rows that wait for the database",
            health.spool.rows,
        ),
        (
            "fleethold_spool_bytes",
            "Bytes of these rows on disk",
            health.spool.bytes,
        ),
        (
            "fleethold_spool_dropped_total",
            "Rows given up",
            health.spool.dropped,
        ),
        (
            "fleethold_config_broken",
            "1 when datastore.cfg cannot be parsed and the last good one is in force",
            u64::from(health.config_problem.is_some()),
        ),
    ] {
        // What only ever grows is a counter, and named like one.
        if name.ends_with("_total") {
            let counter = IntCounter::new(name, help)?;
            counter.inc_by(value);
            registry.register(Box::new(counter))?;
        } else {
            let gauge = IntGauge::new(name, help)?;
            gauge.set(clamp(value));
            registry.register(Box::new(gauge))?;
        }
    }
    Ok(())
}

fn labelled(
    registry: &Registry,
    name: &str,
    help: &str,
    label: &str,
    values: &[(&str, u64)],
) -> Result<(), prometheus::Error> {
    let gauges = IntGaugeVec::new(Opts::new(name, help), &[label])?;
    for (value, count) in values {
        gauges.with_label_values(&[*value]).set(clamp(*count));
    }
    registry.register(Box::new(gauges))
}

/// As [`labelled`], for what only ever grows.
fn counted(
    registry: &Registry,
    name: &str,
    help: &str,
    label: &str,
    values: &[(&str, u64)],
) -> Result<(), prometheus::Error> {
    let counters = IntCounterVec::new(Opts::new(name, help), &[label])?;
    for (value, count) in values {
        counters.with_label_values(&[*value]).inc_by(*count);
    }
    registry.register(Box::new(counters))
}

fn clamp(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
