//! What is known about a restore after the server died: `<state>/tasks/restores/<id>.json`, synced on each change of
//! state and rewritten lazily as it goes on. No key is ever in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fleethold_api_types::Job;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::durable;

/// Records kept; the oldest go first. Older restores are in the history.
const KEPT: usize = 1000;
/// No record is longer; one is about 2 KiB.
const MAX_LEN: u64 = 256 * 1024;

/// One restore.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobRecord {
    /// The job as last seen.
    pub job: Job,
    /// Unfinished file that the job writes to: removed when the job cannot do it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<PathBuf>,
    /// Device and inode of that file, which it keeps under its final name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<(u64, u64)>,
}

impl JobRecord {
    /// Of a job that writes no file, or none any more.
    #[must_use]
    pub fn of(job: Job) -> Self {
        Self {
            job,
            unfinished: None,
            inode: None,
        }
    }
}

/// The folder of records. All functions block.
#[derive(Debug, Clone)]
pub struct JobRecords {
    folder: PathBuf,
}

impl JobRecords {
    /// Opens `<state>/tasks/restores`, making it when missing.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(tasks: &Path) -> io::Result<Self> {
        let folder = tasks.join("restores");
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// Writes a record; on disk when this returns if `sync`.
    ///
    /// # Errors
    /// When it cannot be written; the record before it is then still there.
    pub fn write(&self, record: &JobRecord, sync: bool) -> io::Result<()> {
        let text = serde_json::to_vec(record)?;
        let path = self.path(record.job.id);
        if sync {
            durable::replace(&path, &text)
        } else {
            durable::replace_lazily(&path, &text)
        }
    }

    /// All records, the oldest first; what is not a record is left out with a warning.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn load(&self) -> io::Result<Vec<JobRecord>> {
        Ok(self.paths()?.iter().filter_map(|path| read(path)).collect())
    }

    /// Removes the oldest records of ended restores beyond the number kept.
    ///
    /// # Errors
    /// When the folder cannot be read, or a record not removed.
    pub fn prune(&self) -> io::Result<()> {
        let paths = self.paths()?;
        let surplus = paths.len().saturating_sub(KEPT);
        for path in paths.iter().take(surplus) {
            if read(path).is_none_or(|record| record.job.state.is_final()) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// The files, the oldest first.
    fn paths(&self) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
        // Names are UUIDv7: their order is that of creation.
        paths.sort();
        Ok(paths)
    }

    /// The record of one restore.
    #[must_use]
    pub fn get(&self, id: Uuid) -> Option<JobRecord> {
        let path = self.path(id);
        path.exists().then(|| read(&path)).flatten()
    }

    fn path(&self, id: Uuid) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

fn read(path: &Path) -> Option<JobRecord> {
    let text = match fs::metadata(path) {
        Ok(meta) if meta.len() > MAX_LEN => Err(format!("{} bytes, expected at most {MAX_LEN}", meta.len())),
        Ok(_) => fs::read(path).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let record = text.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
    record
        .inspect_err(|error| tracing::warn!(file = %path.display(), %error, "not a job record, left out"))
        .ok()
}
