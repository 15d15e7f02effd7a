//! One state of `datastore.cfg`, parsed (CONFIG.md §2).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fleethold_format::hash::Sha256;
use fleethold_format::names::DatastoreName;
use fleethold_format::section_config::{Section, SectionConfig};

use crate::config_file;
use crate::error::{ConfigProblem, FleetError};
use crate::maintenance::Maintenance;

/// The longest comment, in characters.
pub(crate) const MAX_COMMENT_CHARS: usize = 128;

/// One datastore as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreEntry {
    /// Its name.
    pub name: DatastoreName,
    /// Its directory, absolute. For a removable datastore the place where its device is mounted.
    pub path: PathBuf,
    /// The operator's comment.
    pub comment: Option<String>,
    /// Its maintenance mode, if any.
    pub maintenance: Option<Maintenance>,
    /// Every property as it stands in the file, in the file's order.
    pub props: Vec<(String, String)>,
    /// SHA-256 of the section's content: equal for two generations if and only if this datastore's entry did not change.
    pub section_hash: [u8; 32],
}

/// The published state. Never changes; a new one takes its place.
#[derive(Debug, Clone)]
pub struct Generation {
    /// Counts publications in this process, from 1.
    pub number: u64,
    /// SHA-256 of the file these stores were parsed from.
    pub digest: [u8; 32],
    /// The datastores by name.
    pub stores: Arc<[Arc<StoreEntry>]>,
    /// What is wrong with the file as it is now; the stores are then those of the last good one.
    pub error: Option<ConfigProblem>,
    pub(crate) by_name: Arc<HashMap<DatastoreName, Arc<StoreEntry>>>,
}

impl Generation {
    /// Reads, hashes and parses the file, with nothing kept from before: what a lookup costs without a cache.
    ///
    /// # Errors
    /// [`FleetError::Io`]; [`FleetError::Invalid`] with file and line.
    pub fn read(file: &Path) -> Result<Self, FleetError> {
        let bytes = config_file::read(file)?;
        let invalid = |problem| FleetError::Invalid { problem };
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            invalid(ConfigProblem {
                file: file.to_owned(),
                line: None,
                message: error.to_string(),
            })
        })?;
        let parsed = ParsedFleet::parse(file, text, None).map_err(invalid)?;
        Ok(Self {
            number: 1,
            digest: config_file::digest(&bytes),
            stores: parsed.stores,
            error: None,
            by_name: parsed.by_name,
        })
    }

    /// The entry of a datastore.
    #[must_use]
    pub fn lookup(&self, name: &DatastoreName) -> Option<Arc<StoreEntry>> {
        self.by_name.get(name).cloned()
    }

    /// The digest as the API shows it: 64 lower-case hex digits.
    #[must_use]
    pub fn digest_hex(&self) -> String {
        hex::encode(self.digest)
    }
}

/// What is cached under a digest.
#[derive(Debug)]
pub(crate) struct ParsedFleet {
    pub(crate) stores: Arc<[Arc<StoreEntry>]>,
    pub(crate) by_name: Arc<HashMap<DatastoreName, Arc<StoreEntry>>>,
}

impl ParsedFleet {
    pub(crate) fn new(mut stores: Vec<Arc<StoreEntry>>) -> Self {
        stores.sort_by(|a, b| a.name.cmp(&b.name));
        let by_name = stores
            .iter()
            .map(|entry| (entry.name.clone(), Arc::clone(entry)))
            .collect();
        Self {
            stores: stores.into(),
            by_name: Arc::new(by_name),
        }
    }

    /// Parses the file's text. Entries that equal one of `previous` share it.
    pub(crate) fn parse(
        file: &Path,
        text: &str,
        previous: Option<&Generation>,
    ) -> Result<Self, ConfigProblem> {
        let problem = |line, message| ConfigProblem {
            file: file.to_owned(),
            line,
            message,
        };
        let config = parse_sections(file, text)?;
        let mut stores = Vec::with_capacity(config.sections.len());
        for section in config.sections {
            let entry = parse_section(section).map_err(|(line, message)| problem(Some(line), message))?;
            let known = previous.and_then(|generation| generation.by_name.get(&entry.name));
            stores.push(match known {
                Some(known) if known.section_hash == entry.section_hash => Arc::clone(known),
                _ => Arc::new(entry),
            });
        }
        Ok(Self::new(stores))
    }
}

/// The syntax alone.
pub(crate) fn parse_sections(file: &Path, text: &str) -> Result<SectionConfig, ConfigProblem> {
    SectionConfig::parse(text).map_err(|error| {
        let message = error.to_string();
        // The parser's own texts begin with the line; the problem holds it as a number.
        let (line, message) = match message
            .strip_prefix("line ")
            .and_then(|rest| rest.split_once(": "))
        {
            Some((line, rest)) => (line.parse().ok(), rest.to_owned()),
            None => (None, message),
        };
        ConfigProblem {
            file: file.to_owned(),
            line,
            message,
        }
    })
}

/// One `datastore: name` section; the error carries the line to blame.
pub(crate) fn parse_section(section: Section) -> Result<StoreEntry, (usize, String)> {
    let header = section.line;
    if section.ty != "datastore" {
        return Err((
            header,
            format!("expected section type datastore, found {:?}", section.ty),
        ));
    }
    let name = DatastoreName::parse(&section.id).map_err(|error| (header, error.to_string()))?;
    let once = |key: &str| -> Result<Option<(usize, &str)>, (usize, String)> {
        let value = section.get(key).map_err(|error| (header, error.to_string()))?;
        let position = section
            .props
            .iter()
            .position(|(name, _)| name == key)
            .unwrap_or_default();
        Ok(value.map(|value| (section.line_of(position), value)))
    };

    let (path_line, path) = once("path")?.ok_or_else(|| {
        (
            header,
            format!("datastore {name}: expected property path, found none"),
        )
    })?;
    let path = match once("backing-device")? {
        Some(_) => Path::new("/mnt/datastore").join(name.as_str()),
        None if Path::new(path).is_absolute() => PathBuf::from(path),
        None => {
            return Err((
                path_line,
                format!("datastore {name}: expected an absolute path, found {path:?}"),
            ));
        }
    };
    let comment = match once("comment")? {
        Some((line, comment)) if !comment_fits(comment) => {
            let message = format!(
                "datastore {name}: expected a comment of at most {MAX_COMMENT_CHARS} characters without control characters, \
                 found {} characters",
                comment.chars().count()
            );
            return Err((line, message));
        }
        Some((_, comment)) => Some(comment.to_owned()),
        None => None,
    };
    let maintenance = match once("maintenance-mode")? {
        Some((line, text)) => Some(
            Maintenance::parse(text)
                .map_err(|message| (line, format!("datastore {name}: maintenance-mode: {message}")))?,
        ),
        None => None,
    };
    Ok(StoreEntry {
        name,
        path,
        comment,
        maintenance,
        section_hash: section_hash(&section),
        props: section.props,
    })
}

pub(crate) fn comment_fits(comment: &str) -> bool {
    comment.chars().count() <= MAX_COMMENT_CHARS && !comment.contains(char::is_control)
}

fn section_hash(section: &Section) -> [u8; 32] {
    let mut hasher = Sha256::new();
    let fields = [&section.ty, &section.id]
        .into_iter()
        .chain(section.props.iter().flat_map(|(key, value)| [key, value]));
    for field in fields {
        // No field holds a line break, so this separates them for certain.
        hasher.update(field.as_bytes());
        hasher.update(b"\n");
    }
    hasher.finalize()
}
