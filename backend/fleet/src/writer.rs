//! Changes of `datastore.cfg`: under its lock, from the file as it is, replaced as a whole.

use std::path::{Component, Path, PathBuf};

use fleethold_format::names::DatastoreName;
use fleethold_format::section_config::{Section, SectionConfig};

use crate::config_file::{self, ConfigLock, MODE_CONFIG};
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::generation::{ParsedFleet, StoreEntry, comment_fits, parse_sections};

impl Fleet {
    /// Adds a datastore to the configuration; its directory is not touched. Blocking.
    ///
    /// # Errors
    /// The name is taken, the path is not absolute or nested with another's, the comment does not fit, the file is broken or locked.
    pub fn store_add(
        &self,
        name: &DatastoreName,
        path: &Path,
        comment: Option<&str>,
    ) -> Result<(), FleetError> {
        let text = checked_path(name, path)?;
        if let Some(comment) = comment.filter(|comment| !comment_fits(comment)) {
            return Err(FleetError::Comment {
                name: name.clone(),
                found: comment.to_owned(),
            });
        }
        self.edit(None, |config, fleet| {
            for other in fleet {
                if other.name == *name {
                    return Err(FleetError::Exists {
                        name: name.clone(),
                        path: other.path.clone(),
                    });
                }
                if nested(path, &other.path) {
                    return Err(FleetError::Nested {
                        name: name.clone(),
                        path: path.to_owned(),
                        other: other.name.clone(),
                        other_path: other.path.clone(),
                    });
                }
            }
            let mut section = Section::new("datastore", name.as_str());
            if let Some(comment) = comment.map(str::trim).filter(|comment| !comment.is_empty()) {
                section.set("comment", comment);
            }
            section.set("path", &text);
            config.sections.push(section);
            Ok(())
        })
    }

    /// Removes a datastore from the configuration; its directory is not touched. Blocking.
    ///
    /// # Errors
    /// There is none of that name, the file is broken or locked.
    pub fn store_remove(&self, name: &DatastoreName) -> Result<(), FleetError> {
        self.edit(None, |config, _| {
            let before = config.sections.len();
            config.sections.retain(|section| section.id != name.as_str());
            if config.sections.len() == before {
                return Err(FleetError::NotFound { name: name.clone() });
            }
            Ok(())
        })
    }

    /// Changes the file: lock, read, check against `expected_digest`, `change`, check the result, replace, publish. What `change`
    /// does not touch stays, properties unknown here included. It gets the sections and the datastores they mean. Blocking.
    ///
    /// # Errors
    /// Those of `change`; [`FleetError::Modified`] for another digest; [`FleetError::Invalid`] for a file that was, or became, broken;
    /// [`FleetError::Locked`], [`FleetError::Io`].
    pub fn edit(
        &self,
        expected_digest: Option<&[u8; 32]>,
        change: impl FnOnce(&mut SectionConfig, &[std::sync::Arc<StoreEntry>]) -> Result<(), FleetError>,
    ) -> Result<(), FleetError> {
        let inner = &self.inner;
        std::fs::create_dir_all(&inner.directory).map_err(|source| FleetError::Io {
            action: "create the directory",
            path: inner.directory.clone(),
            source,
        })?;
        let locked = ConfigLock::acquire(&inner.lock_file, inner.options.lock_timeout)?;
        let bytes = config_file::read(&inner.file)?;
        let digest = config_file::digest(&bytes);
        if let Some(expected) = expected_digest.filter(|expected| **expected != digest) {
            return Err(FleetError::Modified {
                expected: hex::encode(expected),
                found: hex::encode(digest),
            });
        }
        let invalid = |problem| FleetError::Invalid { problem };
        let text = self.text(&bytes).map_err(invalid)?;
        let mut config = parse_sections(&inner.file, text).map_err(invalid)?;
        let before = ParsedFleet::parse(&inner.file, text, None).map_err(invalid)?;
        change(&mut config, &before.stores)?;
        let text = config.write().map_err(|source| FleetError::Unwritable {
            file: inner.file.clone(),
            source,
        })?;
        // Nothing is written that would not be read back.
        ParsedFleet::parse(&inner.file, &text, None).map_err(invalid)?;
        config_file::replace(&inner.file, text.as_bytes(), MODE_CONFIG)?;
        inner.shared.bump(&config_file::digest(text.as_bytes()));
        drop(locked);
        self.refresh();
        Ok(())
    }
}

/// The path as the file will hold it: absolute, plain components only, one line of text.
fn checked_path(name: &DatastoreName, path: &Path) -> Result<String, FleetError> {
    let refuse = |expected| FleetError::Path {
        name: name.clone(),
        expected,
        path: path.to_owned(),
    };
    if !path.is_absolute() {
        return Err(refuse("an absolute path"));
    }
    if path.components().any(|part| matches!(part, Component::ParentDir)) {
        return Err(refuse("a path without .."));
    }
    let plain: PathBuf = path.components().collect();
    if plain == Path::new("/") {
        return Err(refuse("a directory below /"));
    }
    match plain.into_os_string().into_string() {
        Ok(text) if !text.contains(char::is_control) && text.trim() == text => Ok(text),
        _ => Err(refuse("UTF-8 text without control characters and outer blanks")),
    }
}

/// Whether one path lies in the other, as written or through links.
fn nested(a: &Path, b: &Path) -> bool {
    let within = |a: &Path, b: &Path| a.starts_with(b) || b.starts_with(a);
    within(a, b) || within(&resolved(a), &resolved(b))
}

/// The path with the links of its existing part followed: a datastore's directory may be made later.
fn resolved(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            return match path.strip_prefix(ancestor) {
                Ok(rest) => real.join(rest),
                Err(_) => real,
            };
        }
    }
    path.to_owned()
}
