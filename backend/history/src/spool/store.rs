//! The folder: two streams under one bound.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use uuid::Uuid;

use super::SpoolError;
use super::frame;
use super::stream::{Position, Stream};
use crate::clock;
use crate::recorder::SpoolStats;

/// Bytes handed out at once.
const READ_BYTES: usize = 512 * 1024;
/// The most that `rejected.jsonl` may hold.
const REJECTED_BYTES: u64 = 1024 * 1024;
const SEGMENT_BYTES: u64 = 1024 * 1024;
/// How long a lock that somebody holds is asked for again.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
const LOCK_RETRY: Duration = Duration::from_millis(20);

/// Which stream a record belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Small, rare, and worth keeping: on the disk before the caller goes on.
    Job,
    /// Many; the first to go.
    Sample,
}

/// Records to replay. Those of jobs come first: samples refer to them.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) kind: Kind,
    pub(crate) payloads: Vec<Vec<u8>>,
    pub(crate) end: Position,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Spool {
    dir: PathBuf,
    instance: Uuid,
    max_bytes: u64,
    jobs: Stream,
    samples: Stream,
    stats: SpoolStats,
    _lock: File,
}

impl Spool {
    /// Opens or makes the folder. `max_bytes` bounds the records in it.
    pub(crate) fn open(dir: &Path, max_bytes: u64) -> Result<Self, SpoolError> {
        std::fs::create_dir_all(dir).map_err(SpoolError::io("create", dir))?;
        let path = dir.join("lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(SpoolError::io("open", &path))?;
        take(&lock, &path)?;
        let instance = instance(dir)?;
        let segment_bytes = SEGMENT_BYTES.min(max_bytes / 8);
        let (jobs, jobs_damaged) = Stream::open(dir, "jobs", segment_bytes)?;
        let (samples, samples_damaged) = Stream::open(dir, "samples", segment_bytes)?;
        let stats = SpoolStats {
            damaged_segments: jobs_damaged + samples_damaged,
            ..SpoolStats::default()
        };
        Ok(Self {
            dir: dir.to_owned(),
            instance,
            max_bytes,
            jobs,
            samples,
            stats,
            _lock: lock,
        })
    }

    /// Who writes here: the same over restarts, another in each state directory.
    pub(crate) fn instance(&self) -> Uuid {
        self.instance
    }

    /// What waits, and what was lost since the spool was opened.
    pub(crate) fn stats(&self) -> SpoolStats {
        SpoolStats {
            waiting_jobs: self.jobs.rows(),
            waiting_samples: self.samples.rows(),
            bytes: self.jobs.bytes() + self.samples.bytes(),
            max_bytes: self.max_bytes,
            ..self.stats
        }
    }

    /// Adds a record of `rows` rows.
    pub(crate) fn append(&mut self, kind: Kind, payload: &[u8], rows: u32) -> Result<(), SpoolError> {
        let Some(framed) = frame::encode(payload, rows) else {
            self.count_dropped(kind, rows);
            return Err(SpoolError::TooLarge {
                len: payload.len(),
                max: frame::MAX_PAYLOAD,
            });
        };
        let appended = self
            .make_room(kind, framed.len() as u64)
            .and_then(|()| match kind {
                Kind::Job => self.jobs.append(&framed, rows, true),
                Kind::Sample => self.samples.append(&framed, rows, false),
            });
        if appended.is_err() {
            self.count_dropped(kind, rows);
        }
        appended
    }

    fn count_dropped(&mut self, kind: Kind, rows: u32) {
        match kind {
            Kind::Job => self.stats.dropped_jobs += u64::from(rows),
            Kind::Sample => self.stats.dropped_samples += u64::from(rows),
        }
    }

    /// Samples leave an eighth to the jobs, and the oldest of them go when jobs need more.
    fn make_room(&mut self, kind: Kind, need: u64) -> Result<(), SpoolError> {
        let max = match kind {
            Kind::Job => self.max_bytes,
            Kind::Sample => self.max_bytes - self.max_bytes / 8,
        };
        while self.jobs.bytes() + self.samples.bytes() + need > max {
            let full = SpoolError::Full {
                dir: self.dir.clone(),
                need,
                max,
            };
            if kind == Kind::Sample {
                return Err(full);
            }
            self.stats.dropped_samples += self.samples.drop_first()?.ok_or(full)?;
        }
        Ok(())
    }

    /// The next records to replay: samples only when no job waits.
    pub(crate) fn read(&mut self) -> Result<Option<Batch>, SpoolError> {
        for kind in [Kind::Job, Kind::Sample] {
            let stream = self.stream(kind);
            match stream.read(READ_BYTES) {
                Ok(None) => {}
                Ok(Some((payloads, end))) => return Ok(Some(Batch { kind, payloads, end })),
                Err(error @ SpoolError::BadFile { .. }) => {
                    // It read back when it was written or opened: the rest of the segment is gone, the next may be well.
                    let lost = stream.drop_first()?.unwrap_or_default();
                    self.stats.damaged_segments += 1;
                    self.count_dropped(kind, u32::try_from(lost).unwrap_or(u32::MAX));
                    return Err(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Forgets a batch that has arrived; `orphans` of its samples had no job to belong to.
    pub(crate) fn acknowledge(&mut self, kind: Kind, end: Position, orphans: u64) -> Result<(), SpoolError> {
        self.stats.dropped_samples += orphans;
        self.stream(kind).acknowledge(end)
    }

    /// Puts aside a record that the database will never take.
    pub(crate) fn reject(&mut self, payload: &[u8], why: &str) -> Result<(), SpoolError> {
        self.stats.rejected += 1;
        let path = self.dir.join("rejected.jsonl");
        let mut file = File::options()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(SpoolError::io("open", &path))?;
        let line =
            serde_json::json!({"why": why, "record": String::from_utf8_lossy(payload)}).to_string() + "\n";
        let len = file.metadata().map_err(SpoolError::io("look at", &path))?.len();
        if len + line.len() as u64 > REJECTED_BYTES {
            return Ok(());
        }
        file.write_all(line.as_bytes())
            .map_err(SpoolError::io("append to", &path))
    }

    /// Has everything on the disk.
    pub(crate) fn sync(&mut self) -> Result<(), SpoolError> {
        self.jobs.sync()?;
        self.samples.sync()
    }

    fn stream(&mut self, kind: Kind) -> &mut Stream {
        match kind {
            Kind::Job => &mut self.jobs,
            Kind::Sample => &mut self.samples,
        }
    }
}

/// Takes the folder's lock. One that was just given up can still be held for a moment: by a child that a thread of the
/// former holder had forked and that has not yet become another program.
fn take(lock: &File, path: &Path) -> Result<(), SpoolError> {
    let start = clock::instant();
    loop {
        match rustix::fs::flock(lock, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) if clock::instant().duration_since(start) < LOCK_PATIENCE => {
                std::thread::sleep(LOCK_RETRY);
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(SpoolError::Locked {
                    path: path.to_owned(),
                });
            }
            Err(error) => {
                return Err(SpoolError::Io {
                    action: "lock",
                    path: path.to_owned(),
                    source: error.into(),
                });
            }
        }
    }
}

/// Reads or makes the identity of the folder. A damaged one is put aside: restores matter more than whose jobs were whose.
fn instance(dir: &Path) -> Result<Uuid, SpoolError> {
    let path = dir.join("instance");
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return new_instance(dir, &path),
        Err(source) => {
            return Err(SpoolError::Io {
                action: "read",
                path,
                source,
            });
        }
    };
    let known = std::str::from_utf8(&text)
        .ok()
        .and_then(|text| Uuid::parse_str(text.trim()).ok());
    if let Some(id) = known {
        return Ok(id);
    }
    let aside = dir.join("instance.damaged");
    // A copy, not a name taken away: a crash in between finds the damaged file once more.
    std::fs::copy(&path, &aside).map_err(SpoolError::io("copy", &path))?;
    let id = new_instance(dir, &path)?;
    tracing::warn!(
        file = %path.display(), kept = %aside.display(), new = %id,
        "the spool's identity is damaged and was replaced: jobs that ran under the old one and ended unseen stay unfinished in the history"
    );
    Ok(id)
}

fn new_instance(dir: &Path, path: &Path) -> Result<Uuid, SpoolError> {
    let id = Uuid::new_v4();
    let unfinished = dir.join("instance.new");
    File::create(&unfinished)
        .and_then(|mut file| {
            file.write_all(id.to_string().as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&unfinished, path))
        .map_err(SpoolError::io("write", path))?;
    Ok(id)
}

#[cfg(test)]
mod tests;
