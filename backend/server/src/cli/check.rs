//! `fleethold check`: every file of a datastore restored to nowhere, so that each byte is read and verified.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use fleethold_datastore::{Datastore, DatastoreError, GroupList, SnapshotInfo};
use fleethold_format::names::{ArchiveName, MAX_NAMESPACE_DEPTH, Namespace};
use fleethold_restore::{RestoreReport, Sink};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::archive::{self, Failed, Signature, Tools};
use super::exit::{CliResult, Exit};
use super::key::KeyFlags;
use super::options::{self, Resources};
use super::output;
use super::place::{self, Place};
use super::progress::{ProgressMode, Reporter};
use super::values::format_size;
use crate::clock;
use crate::settings::Settings;
use crate::text::printable;

/// Named in the report; more are counted only.
const MAX_NAMED: usize = 10_000;

/// Restore everything in a datastore to nowhere and report each file
///
/// Ends with 4 when a file is bad or could not be checked, such as an encrypted one without its key. Files that a snapshot's manifest
/// does not list are a note.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold check main
  fleethold check /mnt/datastore/main --ns prod --key-file key.json
  fleethold check main --json | tail -1 | jq .failures")]
pub(super) struct CheckArgs {
    /// Configured name or directory of the datastore
    store: String,
    /// Only this namespace and those below [default: all]
    #[arg(long, value_name = "NS", default_value = "", hide_default_value = true, value_parser = options::parse_ns)]
    ns: Namespace,
    #[command(flatten)]
    key: KeyFlags,
    #[command(flatten)]
    pub(super) resources: Resources,
    /// What to show on stderr
    #[arg(long, value_name = "MODE", default_value = "auto")]
    progress: ProgressMode,
    /// Print the result as one JSON object, and no line per file
    #[arg(long)]
    json: bool,
}

/// A file that is bad or was not checked.
#[derive(Debug, Serialize)]
struct Finding {
    ns: String,
    snapshot: String,
    archive: String,
    code: &'static str,
    message: String,
    chunk: Option<String>,
    position: Option<u64>,
}

/// A file in a snapshot's directory that its manifest does not list.
#[derive(Debug, Serialize)]
struct Unlisted {
    ns: String,
    snapshot: String,
    file: String,
}

/// The result. Sizes in bytes, times in nanoseconds.
#[derive(Debug, Default, Serialize)]
struct Summary {
    store: String,
    outcome: &'static str,
    snapshots: u64,
    /// Being written now, or left by a backup that broke off: no manifest to check against.
    snapshots_unfinished: u64,
    /// With a key: made without one, as far as the manifest says. The key proves nothing about them.
    snapshots_unsigned: u64,
    files_ok: u64,
    files_failed: u64,
    /// Not checked for want of a key.
    files_skipped: u64,
    /// In no manifest, so nothing to check them against; no restore reads them.
    files_unlisted: u64,
    bytes_total: u64,
    encoded_bytes_read: u64,
    duration_ns: u64,
    failures: Vec<Finding>,
    skipped: Vec<Finding>,
    unlisted: Vec<Unlisted>,
}

struct Check<'a> {
    tools: Tools,
    place: &'a Place,
    reporter: Reporter,
    lines: bool,
    summary: Summary,
}

pub(super) fn run(settings: &Settings, args: CheckArgs) -> CliResult {
    let place = place::open(settings, &args.store)?;
    let tools = Tools {
        engine: options::engine(settings)?,
        key: args.key.load()?,
        parallel: settings.default_parallel,
        latency: args.resources.simulate_latency.unwrap_or(Duration::ZERO),
        cancel: CancellationToken::new(),
        sha256: false,
    };
    let summary = Summary {
        store: place.label.clone(),
        ..Summary::default()
    };
    let reporter = Reporter::start(args.progress);
    let mut check = Check {
        tools,
        place: &place,
        reporter,
        lines: !args.json,
        summary,
    };
    let started = clock::monotonic();
    let runtime = options::runtime()?;
    runtime.block_on(check.everything(&args.ns))?;
    runtime.shutdown_background();

    let Check {
        tools,
        mut summary,
        reporter,
        ..
    } = check;
    drop(reporter);
    summary.duration_ns =
        u64::try_from(clock::monotonic().duration_since(started).as_nanos()).unwrap_or(u64::MAX);
    let (outcome, exit) = if tools.cancel.is_cancelled() {
        ("cancelled", Exit::Cancelled)
    } else if summary.files_failed > 0 {
        ("failed", Exit::Unverified)
    } else if summary.files_skipped > 0 {
        ("incomplete", Exit::Unverified)
    } else {
        ("ok", Exit::Done)
    };
    summary.outcome = outcome;
    if args.json {
        output::json(&summary)?;
    } else {
        if summary.snapshots_unsigned > 0 {
            output::line(&format!(
                "{} snapshots are not signed: the key proves nothing about them",
                summary.snapshots_unsigned
            ))?;
        }
        if summary.files_unlisted > 0 {
            output::line(&format!(
                "{} files are in no manifest: nothing vouches for them, and no restore reads them",
                summary.files_unlisted
            ))?;
        }
        output::line(&format!(
            "{outcome}: {} snapshots, {} files good ({}), {} bad, {} not checked, {:.1} s",
            summary.snapshots,
            summary.files_ok,
            format_size(summary.bytes_total),
            summary.files_failed,
            summary.files_skipped,
            summary.duration_ns as f64 / 1e9,
        ))?;
    }
    Ok(exit)
}

impl Check<'_> {
    async fn everything(&mut self, below: &Namespace) -> CliResult<()> {
        archive::cancel_on_signals(&self.tools.cancel)?;
        // A namespace that was asked for and is not there is an error, not a finding.
        let mut namespaces = self
            .list(below, |store, below| store.namespaces(below, MAX_NAMESPACE_DEPTH))
            .await??;
        if !namespaces.contains(below) {
            namespaces.insert(0, below.clone());
        }
        for ns in namespaces {
            let listed = self.list(&ns, |store, ns| store.group_list(ns)).await?;
            let GroupList { groups, problems } = match listed {
                Ok(list) => list,
                Err(error) => {
                    self.unreadable(&ns, "the groups", error.code(), &error)?;
                    continue;
                }
            };
            for problem in &problems {
                self.unreadable(&ns, "the groups", "unreadable", problem)?;
            }
            for group in groups {
                if let Some(error) = &group.error {
                    self.unreadable(&ns, &format!("group {}", group.path), "unreadable", error)?;
                }
                let path = group.path.clone();
                let snapshots = self
                    .list(&ns, move |store, ns| store.snapshots(ns, &path))
                    .await?;
                let what = format!("the snapshots of group {}", group.path);
                let snapshots = match snapshots {
                    Ok(snapshots) => snapshots,
                    // Pruned since the list was read.
                    Err(error) if error.code() == "group-missing" => continue,
                    Err(error) => {
                        self.unreadable(&ns, &what, error.code(), &error)?;
                        continue;
                    }
                };
                for snapshot in snapshots {
                    if self.tools.cancel.is_cancelled() {
                        return Ok(());
                    }
                    self.snapshot(&ns, &snapshot).await?;
                }
            }
        }
        Ok(())
    }

    /// Lists something where blocking is allowed.
    async fn list<T: Send + 'static>(
        &self,
        ns: &Namespace,
        list: impl FnOnce(&Datastore, &Namespace) -> Result<T, DatastoreError> + Send + 'static,
    ) -> CliResult<Result<T, DatastoreError>> {
        let (store, ns) = (self.place.store.clone(), ns.clone());
        Ok(tokio::task::spawn_blocking(move || list(&store, &ns)).await?)
    }

    /// Something that cannot be listed is a finding, and the check goes on.
    fn unreadable(
        &mut self,
        ns: &Namespace,
        what: &str,
        code: &'static str,
        error: &impl Display,
    ) -> CliResult<()> {
        let report = RestoreReport {
            store: self.place.label.clone(),
            ns: ns.to_string(),
            ..RestoreReport::default()
        };
        let message = format!("listing {what} in store {}: {error}", self.place.label);
        self.bad(&Failed::early(&report, code, message))
    }

    async fn snapshot(&mut self, ns: &Namespace, info: &SnapshotInfo) -> CliResult<()> {
        self.summary.snapshots += 1;
        if let Some(error) = &info.error {
            return self.unreadable(ns, &format!("snapshot {}", info.path), "unreadable", error);
        }
        if !info.finished {
            self.summary.snapshots_unfinished += 1;
            return Ok(());
        }
        let base = |archive: &str| archive::blank_report(&self.place.label, ns, &info.path, archive);
        let opened =
            archive::open_snapshot(&self.place.store, ns, &info.path, self.tools.key.as_ref()).await?;
        if Signature::of(self.tools.key.as_ref(), &opened) == Signature::Missing {
            self.summary.snapshots_unsigned += 1;
        }
        let snapshot = match opened {
            Ok(snapshot) => snapshot,
            Err(error) => {
                let message = format!(
                    "checking snapshot {} in store {}: {error}",
                    info.path, self.place.label
                );
                return self.bad(&Failed::early(
                    &base(ArchiveName::MANIFEST),
                    error.code(),
                    message,
                ));
            }
        };
        let opened = Arc::clone(&snapshot);
        match tokio::task::spawn_blocking(move || opened.unlisted()).await? {
            Ok(names) => self.unlisted(ns, info, names)?,
            Err(error) => {
                self.unreadable(ns, &format!("snapshot {}", info.path), error.code(), &error)?;
            }
        }
        let mut files: Vec<ArchiveName> = snapshot
            .manifest()
            .files
            .iter()
            .map(|file| file.name.clone())
            .collect();
        // The client's log is in no manifest.
        let log = info
            .files
            .iter()
            .filter(|file| file.name == ArchiveName::CLIENT_LOG);
        files.extend(
            log.filter_map(|file| ArchiveName::parse(&file.name).ok())
                .filter(|name| snapshot.listed(name).is_none()),
        );
        for file in files {
            let restored = archive::restore(
                &self.tools,
                &self.place.label,
                &snapshot,
                &file,
                Sink::Null,
                &mut self.reporter,
            )
            .await?;
            match restored {
                Ok(report) => self.good(&report)?,
                Err(failed) if failed.exit == Exit::Cancelled => return Ok(()),
                Err(failed) => self.bad(&failed)?,
            }
        }
        Ok(())
    }

    fn unlisted(&mut self, ns: &Namespace, info: &SnapshotInfo, names: Vec<String>) -> CliResult<()> {
        for file in names {
            if self.lines {
                let snapshot = in_ns(ns.as_str(), &info.path);
                self.reporter.line(&format!(
                    "note  {snapshot} {}: not in the manifest",
                    printable(&file)
                ))?;
            }
            self.summary.files_unlisted += 1;
            if self.summary.unlisted.len() < MAX_NAMED {
                self.summary.unlisted.push(Unlisted {
                    ns: ns.to_string(),
                    snapshot: info.path.to_string(),
                    file,
                });
            }
        }
        Ok(())
    }

    fn good(&mut self, report: &RestoreReport) -> CliResult<()> {
        self.summary.files_ok += 1;
        self.summary.bytes_total += report.bytes_total;
        self.summary.encoded_bytes_read += report.encoded_bytes_read;
        if self.lines {
            let snapshot = in_ns(&report.ns, &report.snapshot);
            let size = format_size(report.bytes_total);
            self.reporter
                .line(&format!("ok    {snapshot} {} ({size})", report.archive))?;
        }
        Ok(())
    }

    fn bad(&mut self, failed: &Failed) -> CliResult<()> {
        let skipped = matches!(failed.code(), "key-missing" | "wrong-key");
        let report = &failed.report;
        let error = report.error.as_ref();
        let finding = Finding {
            ns: report.ns.clone(),
            snapshot: report.snapshot.clone(),
            archive: report.archive.clone(),
            code: failed.code(),
            message: failed.message().to_owned(),
            chunk: error.and_then(|error| error.chunk.clone()),
            position: error.and_then(|error| error.position),
        };
        if self.lines {
            let word = if skipped { "skip" } else { "BAD " };
            self.reporter.line(&format!("{word}  {}", finding.message))?;
        }
        let (count, list) = if skipped {
            (&mut self.summary.files_skipped, &mut self.summary.skipped)
        } else {
            (&mut self.summary.files_failed, &mut self.summary.failures)
        };
        *count += 1;
        if list.len() < MAX_NAMED {
            list.push(finding);
        }
        Ok(())
    }
}

/// A snapshot as it stands in a line of the report.
fn in_ns(ns: &str, snapshot: &impl Display) -> String {
    if ns.is_empty() {
        snapshot.to_string()
    } else {
        format!("ns/{ns} {snapshot}")
    }
}
