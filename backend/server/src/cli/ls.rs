//! `fleethold ls`: what is in a datastore.

use clap::Args;
use fleethold_datastore::{Datastore, FileInfo, GroupList, SnapshotInfo};
use fleethold_fleet::Fleet;
use fleethold_format::crypt::CryptMode;
use fleethold_format::names::{GroupPath, MAX_NAMESPACE_DEPTH, Namespace, SnapshotPath};
use serde_json::{Value, json};

use super::exit::{CliResult, Exit, Failure};
use super::options::parse_ns;
use super::values::format_size;
use super::{output, place};
use crate::settings::Settings;

/// List datastores, or the namespaces, groups, snapshots and files of one
#[derive(Args)]
#[command(after_help = "\
Examples:
  fleethold ls                                        # the registered datastores
  fleethold ls main                                   # namespaces and groups
  fleethold ls main --ns prod vm/200                  # snapshots of a group
  fleethold ls /mnt/datastore/main vm/100/2024-05-01T10:00:00Z --json")]
pub(super) struct LsArgs {
    /// Configured name or directory of the datastore
    store: Option<String>,
    /// Group or snapshot
    #[arg(value_name = "GROUP|SNAPSHOT")]
    path: Option<String>,
    /// Namespace [default: the root]
    #[arg(long, value_name = "NS", default_value = "", hide_default_value = true, value_parser = parse_ns)]
    ns: Namespace,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What is listed, once as JSON and once as a table.
struct Listing {
    object: Value,
    lines: Vec<String>,
}

pub(super) fn run(settings: &Settings, args: LsArgs) -> CliResult {
    let listing = match (&args.store, &args.path) {
        (None, _) => stores(settings)?,
        (Some(store), path) => {
            let place = place::open(settings, store)?;
            let mut listing = match path {
                None => groups(&place.store, &args.ns)?,
                Some(path) => below(&place.store, &args.ns, path)?,
            };
            if let Some(object) = listing.object.as_object_mut() {
                object.insert("store".to_owned(), place.label.into());
                object.insert("ns".to_owned(), args.ns.as_str().into());
            }
            listing
        }
    };
    if args.json {
        output::json(&listing.object)?;
    } else {
        for line in listing.lines {
            output::line(&line)?;
        }
    }
    Ok(Exit::Done)
}

fn stores(settings: &Settings) -> CliResult<Listing> {
    let generation = Fleet::open(&settings.config_dir)?.current();
    if let Some(problem) = &generation.error {
        return Err(Failure::setup(anyhow::anyhow!(
            "cannot list the datastores: {problem}"
        )));
    }
    let names: Vec<Value> = generation
        .stores
        .iter()
        .map(|entry| json!({"name": entry.name, "path": entry.path}))
        .collect();
    let rows: Vec<Vec<String>> = generation
        .stores
        .iter()
        .map(|entry| vec![entry.name.to_string(), entry.path.display().to_string()])
        .collect();
    Ok(Listing {
        object: json!({"stores": names}),
        lines: output::table(&["STORE", "PATH"], &[], &rows),
    })
}

fn groups(store: &Datastore, ns: &Namespace) -> CliResult<Listing> {
    // A namespace that does not exist is an error of `groups`, not an empty list.
    let GroupList { groups, problems } = store.group_list(ns)?;
    let namespaces: Vec<Namespace> = store
        .namespaces(ns, MAX_NAMESPACE_DEPTH)?
        .into_iter()
        .filter(|found| found != ns)
        .collect();
    let mut rows = Vec::new();
    let mut objects = Vec::new();
    for group in &groups {
        let (snapshots, error) = match store.snapshots(ns, &group.path) {
            Ok(snapshots) => (snapshots, group.error.clone()),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let finished = snapshots.iter().filter(|snapshot| snapshot.finished);
        let newest = finished.map(|snapshot| &snapshot.path.time).max();
        objects.push(json!({
            "group": group.path.to_string(),
            "owner": group.owner.as_ref().map(ToString::to_string),
            "owner_error": group.owner_error,
            "error": error,
            "notes": group.notes,
            "snapshots": snapshots.len(),
            "last_backup": newest.map(ToString::to_string),
        }));
        rows.push(vec![
            group.path.to_string(),
            snapshots.len().to_string(),
            newest.map_or_else(|| "-".to_owned(), ToString::to_string),
            group
                .owner
                .as_ref()
                .map_or_else(|| "-".to_owned(), ToString::to_string),
        ]);
    }
    let mut lines: Vec<String> = namespaces
        .iter()
        .map(|found| format!("namespace {found}"))
        .collect();
    lines.extend(output::table(
        &["GROUP", "SNAPSHOTS", "LAST BACKUP", "OWNER"],
        &[1],
        &rows,
    ));
    lines.extend(problems.iter().map(|problem| format!("problem: {problem}")));
    for object in &objects {
        if let Some(error) = object["error"].as_str() {
            lines.push(format!("problem: {error}"));
        }
    }
    let namespaces: Vec<&str> = namespaces.iter().map(Namespace::as_str).collect();
    Ok(Listing {
        object: json!({"namespaces": namespaces, "groups": objects, "problems": problems}),
        lines,
    })
}

fn below(store: &Datastore, ns: &Namespace, path: &str) -> CliResult<Listing> {
    if let Ok(snapshot) = SnapshotPath::parse(path) {
        return Ok(files(&store.snapshot_info(ns, &snapshot)?));
    }
    let group = GroupPath::parse(path).map_err(|error| {
        Failure::usage(format!(
            "expected a group such as vm/100 or a snapshot such as vm/100/2024-05-01T10:00:00Z: {error}"
        ))
    })?;
    let mut found = store.snapshots(ns, &group)?;
    found.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.path.time));
    let objects: Vec<Value> = found.iter().map(snapshot_object).collect();
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|snapshot| {
            let verify = snapshot.verify.as_ref().map_or("-", |verify| verify_word(verify));
            vec![
                snapshot.path.to_string(),
                state(snapshot).to_owned(),
                format_size(snapshot.size),
                snapshot.files.len().to_string(),
                if snapshot.protected { "yes" } else { "no" }.to_owned(),
                verify.to_owned(),
            ]
        })
        .collect();
    let head = ["SNAPSHOT", "STATE", "SIZE", "FILES", "PROTECTED", "VERIFIED"];
    Ok(Listing {
        object: json!({"group": group.to_string(), "snapshots": objects}),
        lines: output::table(&head, &[2, 3], &rows),
    })
}

fn files(info: &SnapshotInfo) -> Listing {
    let rows: Vec<Vec<String>> = info
        .files
        .iter()
        .map(|file| {
            let size = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), format_size);
            vec![
                file.name.clone(),
                size(file.size),
                file.crypt_mode.map_or("-", crypt_word).to_owned(),
            ]
        })
        .collect();
    let mut lines = vec![format!("snapshot {}: {}", info.path, state(info))];
    lines.extend(info.error.as_ref().map(|error| format!("error: {error}")));
    lines.extend(
        info.manifest_error
            .as_ref()
            .map(|error| format!("manifest: {error}")),
    );
    lines.extend(output::table(&["FILE", "SIZE", "CRYPT MODE"], &[1], &rows));
    Listing {
        object: snapshot_object(info),
        lines,
    }
}

fn snapshot_object(info: &SnapshotInfo) -> Value {
    json!({
        "snapshot": info.path.to_string(),
        "finished": info.finished,
        "protected": info.protected,
        "size": info.size,
        "owner": info.owner.as_ref().map(ToString::to_string),
        "notes": info.notes,
        "fingerprint": info.fingerprint.as_ref().map(ToString::to_string),
        "verify": info.verify.as_ref().map(verify_word),
        "manifest_error": info.manifest_error,
        "error": info.error,
        "files": info.files.iter().map(file_object).collect::<Vec<_>>(),
    })
}

fn file_object(file: &FileInfo) -> Value {
    json!({
        "name": file.name,
        "size": file.size,
        "encoded_bytes": file.encoded_len,
        "crypt_mode": file.crypt_mode.map(crypt_word),
    })
}

fn state(info: &SnapshotInfo) -> &'static str {
    match (info.finished, info.problem()) {
        (_, Some(_)) => "damaged",
        (true, None) => "finished",
        (false, None) => "unfinished",
    }
}

fn crypt_word(mode: CryptMode) -> &'static str {
    match mode {
        CryptMode::None => "none",
        CryptMode::Encrypt => "encrypt",
        CryptMode::SignOnly => "sign-only",
    }
}

fn verify_word(verify: &fleethold_format::manifest::VerifyState) -> &'static str {
    match verify.state {
        fleethold_format::manifest::VerifyOutcome::Ok => "ok",
        fleethold_format::manifest::VerifyOutcome::Failed => "failed",
    }
}
