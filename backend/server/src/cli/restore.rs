//! `fleethold restore`: one archive, with no server and no database.

use std::io::{IsTerminal, Write as _};
use std::time::Duration;

use clap::Args;
use fleethold_format::names::{ArchiveKind, GroupPath, Namespace, SnapshotPath};
use fleethold_restore::{Outcome, ReportError, RestoreReport};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::archive::{self, Failed, Signature, Tools};
use super::exit::{CliResult, Exit, Failure};
use super::key::KeyFlags;
use super::options::{self, Resources, SNAPSHOT_FORM, Wanted};
use super::output;
use super::place::{self, Place};
use super::progress::{ProgressMode, Reporter};
use super::target::{self, OpenTarget, Target, TargetOptions};
use super::values::format_size;
use crate::jobs::load::UNSIGNED;
use crate::settings::Settings;

/// Snapshots named to who gave a group only.
const NEWEST: usize = 3;

/// Restore one archive of a snapshot to a file, a block device or stdout, straight from the datastore's directory
///
/// Every chunk is checked: CRC, crypt mode, digest and length; the index against the manifest; the manifest's signature when a key is
/// given. A file appears under its name only when it is complete.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold restore --store /mnt/datastore/main --snapshot vm/100/2024-05-01T10:00:00Z \\
      --archive drive-scsi0.img --to /var/lib/vz/images/100/disk.raw --sha256
  fleethold restore --store main --ns prod --snapshot ct/300/2024-05-01T10:01:00Z \\
      --archive root.pxar --key-file key.json --to - | tar ...
  fleethold restore --store main --snapshot vm/100/2024-05-01T10:00:00Z \\
      --archive drive-scsi0.img --to /dev/vg0/vm-100 --target-is-zero
  fleethold restore --store main --snapshot vm/100/2024-05-01T10:00:00Z \\
      --archive drive-scsi0.img --to null --json        # read and check everything, write nothing")]
pub(super) struct RestoreArgs {
    /// Configured name or directory of the datastore
    #[arg(long, value_name = "PATH_OR_NAME")]
    store: String,
    /// Namespace [default: the root]
    #[arg(long, value_name = "NS", default_value = "", hide_default_value = true, value_parser = options::parse_ns)]
    ns: Namespace,
    /// Snapshot, such as vm/100/2024-05-01T10:00:00Z
    #[arg(long, value_name = "SNAPSHOT", value_parser = Wanted::parse)]
    snapshot: Wanted,
    /// File of the snapshot, with or without .fidx, .didx or .blob
    #[arg(long, value_name = "NAME")]
    archive: String,
    /// File, block device, - for stdout, or null to read and check only
    #[arg(long, value_name = "FILE|-|null|/dev/…", value_parser = Target::parse)]
    to: Target,
    #[command(flatten)]
    key: KeyFlags,
    #[command(flatten)]
    pub(super) resources: Resources,
    /// Compute the SHA-256 of the restored bytes, by re-reading the target (inline for - and null)
    #[arg(long)]
    sha256: bool,
    /// Replace an existing file
    #[arg(long)]
    overwrite: bool,
    /// The block device reads as zeros already: zeros need not be written
    #[arg(long)]
    target_is_zero: bool,
    /// What to show on stderr
    #[arg(long, value_name = "MODE", default_value = "auto")]
    progress: ProgressMode,
    /// Print the report as one JSON object; `signature` in it is verified, missing, invalid or not-checked (without a key)
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Told<'r> {
    #[serde(flatten)]
    report: &'r RestoreReport,
    signature: Signature,
}

pub(super) fn run(settings: &Settings, args: RestoreArgs) -> CliResult {
    if args.json && args.to == Target::Stdout {
        return Err(Failure::usage(
            "--json and --to - both want stdout: restore to a file or to null",
        ));
    }
    let snapshot = match &args.snapshot {
        Wanted::Snapshot(snapshot) => snapshot,
        Wanted::Group(group) => return Err(time_missing(settings, &args, group)),
    };
    let base = archive::blank_report(&args.store, &args.ns, snapshot, &args.archive);
    let mut signature = Signature::default();
    let done = restore(settings, &args, snapshot, &mut signature);
    let tell = |report: &RestoreReport| output::json(&Told { report, signature });
    match done {
        Ok(Ok(report)) if args.json => {
            tell(&report)?;
            Ok(Exit::Done)
        }
        Ok(Ok(report)) => {
            report_success(&args, &report)?;
            Ok(Exit::Done)
        }
        Ok(Err(failed)) => {
            output::note(&format!("fleethold: {}", failed.message()));
            if args.json {
                tell(&failed.report)?;
            }
            Ok(failed.exit)
        }
        Err(failure) => {
            // With --json there is a report whatever happened.
            if args.json {
                let message = output::sentence(&failure.error);
                let error = ReportError {
                    code: "not-started",
                    message,
                    file: args.archive.clone(),
                    chunk: None,
                    position: None,
                };
                tell(&RestoreReport {
                    outcome: Outcome::Failed,
                    error: Some(error),
                    ..base
                })?;
            }
            Err(failure)
        }
    }
}

/// Says how a snapshot is written, and which ones of the group there are when that can be found out.
fn time_missing(settings: &Settings, args: &RestoreArgs, group: &GroupPath) -> Failure {
    let newest: Vec<String> = place::open(settings, &args.store)
        .ok()
        .and_then(|place| place.store.snapshots(&args.ns, group).ok())
        .unwrap_or_default()
        .into_iter()
        .filter(|snapshot| snapshot.finished)
        .take(NEWEST)
        .map(|snapshot| snapshot.path.to_string())
        .collect();
    let mut text = format!("--snapshot {group}: {SNAPSHOT_FORM}");
    if !newest.is_empty() {
        text.push_str(&format!("; the newest of the group: {}", newest.join(", ")));
    }
    Failure::usage(text)
}

/// `signature` is filled in as soon as it is known, whatever comes afterwards.
fn restore(
    settings: &Settings,
    args: &RestoreArgs,
    snapshot: &SnapshotPath,
    signature: &mut Signature,
) -> CliResult<Result<RestoreReport, Failed>> {
    let place = place::open(settings, &args.store)?;
    let key = args.key.load()?;
    let tools = Tools {
        engine: options::engine(settings)?,
        key,
        parallel: settings.default_parallel,
        latency: args.resources.simulate_latency.unwrap_or(Duration::ZERO),
        cancel: CancellationToken::new(),
        sha256: args.sha256,
    };
    let runtime = options::runtime()?;
    let done = runtime.block_on(run_one(&tools, &place, args, snapshot, signature));
    // A reader of stdout that does not read must not keep a cancelled process alive.
    runtime.shutdown_background();
    Ok(done?)
}

async fn run_one(
    tools: &Tools,
    place: &Place,
    args: &RestoreArgs,
    path: &SnapshotPath,
    signature: &mut Signature,
) -> anyhow::Result<Result<RestoreReport, Failed>> {
    archive::cancel_on_signals(&tools.cancel)?;
    let base = archive::blank_report(&place.label, &args.ns, path, &args.archive);
    let refused = |code, message: String| Ok(Err(Failed::early(&base, code, message)));
    let about = format!(
        "restoring {} of snapshot {path} in store {}",
        args.archive, place.label
    );

    let opened = archive::open_snapshot(&place.store, &args.ns, path, tools.key.as_ref()).await?;
    *signature = Signature::of(tools.key.as_ref(), &opened);
    let snapshot = match opened {
        Ok(snapshot) => snapshot,
        Err(error) => return refused(error.code(), format!("{about}: {error}")),
    };
    let name = match archive::resolve(&snapshot, &args.archive) {
        Ok(name) => name,
        Err(error) => return refused(error.code(), format!("{about}: {error}")),
    };
    if args.to == Target::Stdout && name.kind() != ArchiveKind::Blob && std::io::stdout().is_terminal() {
        return refused(
            "target-unsuitable",
            format!("{about}: expected a pipe or a file on stdout, found a terminal"),
        );
    }
    tracing::info!(lock = %snapshot.lock_note(), "snapshot opened");
    if *signature == Signature::Missing {
        writeln!(std::io::stderr(), "note: {about}: {UNSIGNED}")?;
    }

    let options = TargetOptions {
        overwrite: args.overwrite,
        target_is_zero: args.target_is_zero,
    };
    let OpenTarget { sink, stdout } = match target::open(&args.to, options) {
        Ok(opened) => opened,
        Err(error) => return refused(error.code(), format!("{about}: {error}")),
    };
    let mut reporter = Reporter::start(args.progress);
    let result = archive::restore(tools, &place.label, &snapshot, &name, sink, &mut reporter).await?;
    drop(reporter);

    // What stdout refused is the better reason than "the reader is gone"; a cancelled restore waits for no reader.
    let told = match (&result, stdout) {
        (Err(failed), Some(stdout)) if failed.code() == "reader-gone" => Some(stdout),
        (Ok(_), stdout) => stdout,
        (Err(_), _) => None,
    };
    if let Some(stdout) = told {
        let written = tokio::task::spawn_blocking(move || stdout.join()).await?;
        if let Err(error) = written.map_err(|_| anyhow::anyhow!("the thread that writes stdout panicked"))? {
            return refused("target-io", format!("{about}: cannot write to stdout: {error}"));
        }
    }
    Ok(result)
}

fn report_success(args: &RestoreArgs, report: &RestoreReport) -> CliResult<()> {
    let seconds = report.duration_ns as f64 / 1e9;
    let mut lines = vec![format!(
        "restored {} of {}: {} in {seconds:.2} s, {}/s; {} zeros, {} of {} chunks fetched",
        report.archive,
        report.snapshot,
        format_size(report.bytes_total),
        format_size(report.rate_bytes_per_s as u64),
        format_size(report.zero_bytes),
        report.chunks_fetched,
        report.chunks_total,
    )];
    lines.extend(report.sha256.as_ref().map(|sha256| format!("sha256 {sha256}")));
    for line in lines {
        if args.to == Target::Stdout {
            output::note(&line);
        } else {
            output::line(&line)?;
        }
    }
    Ok(())
}
