//! The demo's entries in `datastore.cfg`. Sections are taken over as text: whatever else the user wrote there
//! stays as it was.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// One `datastore:` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    name: String,
    path: String,
    text: String,
}

impl Entry {
    pub(crate) fn new(name: &str, path: &Path, comment: &str) -> Self {
        let path = path.display().to_string();
        let text = format!("datastore: {name}\n\tcomment {comment}\n\tpath {path}\n");
        Self {
            name: name.to_owned(),
            path,
            text,
        }
    }
}

/// The sections that `fixture fleet` wrote beside its stores. Their paths are made to point into `fleet`, where
/// the folder stands now.
pub(crate) fn generated(fleet: &Path) -> Result<Vec<Entry>> {
    let file = fleet.join("datastore.cfg");
    let text = std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    let entries = parse(&text).with_context(|| file.display().to_string())?;
    entries
        .into_iter()
        .map(|entry| {
            let name = Path::new(&entry.path)
                .file_name()
                .with_context(|| format!("path of {}", entry.name))?;
            let path = fleet.join(name).display().to_string();
            let text = entry
                .text
                .replace(&format!("\tpath {}\n", entry.path), &format!("\tpath {path}\n"));
            Ok(Entry {
                path,
                text,
                name: entry.name,
            })
        })
        .collect()
}

/// Puts `entries` into `config`: earlier entries of the demo are replaced, the user's own are kept, and a name
/// the user has taken stays the user's. Does nothing when all of them are there.
pub(crate) fn register(config: &Path, demo: &Path, entries: &[Entry]) -> Result<()> {
    let dir = config.parent().context("datastore.cfg has no folder")?;
    std::fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    let lock = dir.join(".datastore.lck");
    let lock = File::create(&lock).with_context(|| format!("creating {}", lock.display()))?;
    lock.lock().context("locking datastore.cfg")?;

    let before = match std::fs::read_to_string(config) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("reading {}", config.display())),
    };
    let after = merge(&before, demo, entries).with_context(|| config.display().to_string())?;
    if after == before {
        return Ok(());
    }
    let fresh = dir.join(".datastore.cfg.new");
    let mut file = File::create(&fresh).with_context(|| format!("creating {}", fresh.display()))?;
    file.set_permissions(Permissions::from_mode(0o640))
        .context("setting the mode of datastore.cfg")?;
    file.write_all(after.as_bytes())
        .and_then(|()| file.sync_all())
        .context("writing datastore.cfg")?;
    std::fs::rename(&fresh, config).with_context(|| format!("renaming {}", fresh.display()))?;
    println!("registered {} stores in {}", entries.len(), config.display());
    Ok(())
}

fn merge(before: &str, demo: &Path, entries: &[Entry]) -> Result<String> {
    let mut kept = parse(before)?;
    kept.retain(|entry| !Path::new(&entry.path).starts_with(demo));
    let taken: BTreeSet<_> = kept.iter().map(|entry| entry.name.clone()).collect();
    kept.extend(
        entries
            .iter()
            .filter(|entry| !taken.contains(&entry.name))
            .cloned(),
    );
    Ok(kept
        .iter()
        .map(|entry| entry.text.as_str())
        .collect::<Vec<_>>()
        .join("\n"))
}

fn parse(text: &str) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix("datastore:") {
            entries.push(Entry {
                name: name.trim().to_owned(),
                path: String::new(),
                text: format!("{line}\n"),
            });
            continue;
        }
        match entries.last_mut() {
            Some(entry) if line.starts_with([' ', '\t']) => {
                if let Some(path) = line.trim().strip_prefix("path ") {
                    path.trim().clone_into(&mut entry.path);
                }
                entry.text.push_str(line);
                entry.text.push('\n');
            }
            _ => bail!("line {number}: expected `datastore: NAME` or an indented property, found {line:?}"),
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMO: &str = "/state/demo";

    fn entry(name: &str) -> Entry {
        Entry::new(name, &Path::new(DEMO).join(name), "made")
    }

    #[test]
    fn the_users_own_stores_stay_as_they_are() {
        let own = "datastore: mine\n\tgc-schedule daily\n\tpath /srv/mine\n\tunheard-of yes\n";
        let text = merge(own, Path::new(DEMO), &[entry("a"), entry("b")]).unwrap();
        assert!(text.starts_with(own), "{text}");
        assert_eq!(parse(&text).unwrap().len(), 3);
        let again = merge(&text, Path::new(DEMO), &[entry("a"), entry("b")]).unwrap();
        assert_eq!(again, text);
    }

    #[test]
    fn old_entries_of_the_demo_go_and_a_taken_name_is_the_users() {
        let before = merge("datastore: b\n\tpath /srv/b\n", Path::new(DEMO), &[entry("old")]).unwrap();
        let text = merge(&before, Path::new(DEMO), &[entry("a"), entry("b")]).unwrap();
        let names: Vec<_> = parse(&text)
            .unwrap()
            .into_iter()
            .map(|e| (e.name, e.path))
            .collect();
        assert_eq!(
            names,
            [
                ("b".to_owned(), "/srv/b".to_owned()),
                ("a".to_owned(), format!("{DEMO}/a"))
            ]
        );
    }

    #[test]
    fn a_file_that_is_no_section_config_is_not_overwritten() {
        let error = merge("datastore: a\n\tpath /a\n# note\n", Path::new(DEMO), &[])
            .unwrap_err()
            .to_string();
        assert!(error.contains("line 3"), "{error}");
    }

    #[test]
    fn a_moved_fleet_points_to_where_it_stands() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join("datastore.cfg"),
            "datastore: s1\n\tpath /made/elsewhere/s1\n",
        )
        .unwrap();
        let entries = generated(dir.path()).unwrap();
        assert_eq!(entries[0].path, dir.path().join("s1").display().to_string());
        assert!(entries[0].text.contains(&entries[0].path));
    }
}
