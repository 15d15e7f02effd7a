//! One state of `datastore.cfg`, parsed (CONFIG.md §2).

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use fleethold_format::names::DatastoreName;
use fleethold_format::section_config::{self, SectionConfig, SectionConfigError, SectionText, Sections};

use crate::config_file;
use crate::error::{ConfigProblem, FleetError};
use crate::handle::Live;
use crate::maintenance::Maintenance;

/// The longest comment, in characters.
pub(crate) const MAX_COMMENT_CHARS: usize = 128;

/// What every section is.
const SECTION_TYPE: &str = "datastore";

/// One datastore as configured.
#[derive(Debug)]
pub struct StoreEntry {
    /// Its name.
    pub name: DatastoreName,
    /// Its directory, absolute. For a removable datastore the place where its device is mounted.
    pub path: PathBuf,
    /// The operator's comment.
    pub comment: Option<String>,
    /// Its maintenance mode, if any.
    pub maintenance: Option<Maintenance>,
    /// The lines of its properties as they stand in the file.
    text: Box<str>,
    /// What is known of it since it was published.
    pub(crate) live: OnceLock<Live>,
}

impl StoreEntry {
    /// Every property as it stands in the file, in the file's order.
    pub fn props(&self) -> impl Iterator<Item = (&str, &str)> {
        section_config::properties(&self.text)
    }

    /// Whether both stand in their files with the same lines.
    #[must_use]
    pub fn same_section(&self, other: &Self) -> bool {
        self.name == other.name && self.text == other.text
    }

    /// The same section, not published yet.
    pub(crate) fn renewed(&self) -> Self {
        Self {
            name: self.name.clone(),
            path: self.path.clone(),
            comment: self.comment.clone(),
            maintenance: self.maintenance.clone(),
            text: self.text.clone(),
            live: OnceLock::new(),
        }
    }
}

/// An entry that is found by its name.
#[derive(Debug)]
pub(crate) struct Named(Arc<StoreEntry>);

impl Borrow<str> for Named {
    fn borrow(&self) -> &str {
        self.0.name.as_str()
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Named {}

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // As `str` does, by which it is found.
        self.0.name.as_str().hash(state);
    }
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
    pub(crate) by_name: Arc<HashSet<Named>>,
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
    pub fn entry(&self, name: &DatastoreName) -> Option<Arc<StoreEntry>> {
        self.find(name).map(Arc::clone)
    }

    pub(crate) fn find(&self, name: &DatastoreName) -> Option<&Arc<StoreEntry>> {
        self.by_name.get(name.as_str()).map(|named| &named.0)
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
    pub(crate) by_name: Arc<HashSet<Named>>,
}

impl ParsedFleet {
    #[expect(
        clippy::mutable_key_type,
        reason = "hashed and compared by the name alone, which never changes"
    )]
    pub(crate) fn new(mut stores: Vec<Arc<StoreEntry>>) -> Self {
        stores.sort_by(|a, b| a.name.cmp(&b.name));
        let by_name = stores.iter().map(|entry| Named(Arc::clone(entry))).collect();
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
        let mut stores = Vec::new();
        let mut sections = Sections::new(text);
        while let Some(section) = sections.next_section().map_err(|error| syntax(file, &error))? {
            let known = previous
                .and_then(|generation| generation.by_name.get(section.id))
                .filter(|known| section.ty == SECTION_TYPE && *known.0.text == *section.text);
            stores.push(match known {
                Some(known) => Arc::clone(&known.0),
                None => {
                    let entry =
                        parse_section(&section).map_err(|(line, message)| problem(Some(line), message))?;
                    Arc::new(entry)
                }
            });
        }
        let found = stores.len();
        let parsed = Self::new(stores);
        if parsed.by_name.len() != found {
            // Some id stands twice: the slower parser knows where.
            parse_sections(file, text)?;
        }
        Ok(parsed)
    }
}

/// The syntax alone.
pub(crate) fn parse_sections(file: &Path, text: &str) -> Result<SectionConfig, ConfigProblem> {
    SectionConfig::parse(text).map_err(|error| syntax(file, &error))
}

fn syntax(file: &Path, error: &SectionConfigError) -> ConfigProblem {
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
}

/// One `datastore: name` section; the error carries the line to blame.
pub(crate) fn parse_section(section: &SectionText<'_, '_>) -> Result<StoreEntry, (usize, String)> {
    let header = section.line;
    if section.ty != SECTION_TYPE {
        return Err((
            header,
            format!("expected section type {SECTION_TYPE}, found {:?}", section.ty),
        ));
    }
    let name = DatastoreName::parse(section.id).map_err(|error| (header, error.to_string()))?;
    let once = |key: &str| section.get(key).map_err(|error| (header, error.to_string()));

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
        text: section.text.into(),
        live: OnceLock::new(),
    })
}

pub(crate) fn comment_fits(comment: &str) -> bool {
    comment.chars().count() <= MAX_COMMENT_CHARS && !comment.contains(char::is_control)
}
