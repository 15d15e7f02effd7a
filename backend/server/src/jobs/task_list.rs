//! The lists of tasks in `<state>/tasks`, in PBS's layout (API.md §3.2): lines `UPID[ <endtime hex> <status>]`.
//!
//! `active` holds running tasks, `index` ended ones (oldest first), `archive` those that fell out of `index`.
//! What falls out of `archive` is forgotten, its log removed: the three lists bound the folder.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};

use fleethold_format::upid::Upid;

/// Ended tasks in `index`; beyond it the older half moves to `archive`.
const INDEX_LINES: usize = 1000;
/// Ended tasks in `archive`; beyond it the older half is forgotten.
const ARCHIVE_LINES: usize = 10_000;

/// One task as the lists know it.
#[derive(Debug, Clone, Eq, PartialEq)]
pub struct TaskInfo {
    /// Who, what, when.
    pub upid: Upid,
    /// End and status text of an ended task: `OK`, `WARNINGS: n`, else the error; `unknown` after a crash.
    pub ended: Option<(i64, String)>,
}

impl TaskInfo {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(3, ' ');
        let upid = Upid::parse(fields.next()?).ok()?;
        let ended = match (fields.next(), fields.next()) {
            (Some(end), Some(status)) => Some((i64::from_str_radix(end, 16).ok()?, status.to_owned())),
            (None, _) => None,
            _ => return None,
        };
        Some(Self { upid, ended })
    }

    fn line(&self) -> String {
        match &self.ended {
            Some((end, status)) => format!("{} {end:08X} {}\n", self.upid, one_line(status)),
            None => format!("{}\n", self.upid),
        }
    }
}

/// The lists, in memory and on disk.
#[derive(Debug)]
pub(super) struct TaskLists {
    folder: PathBuf,
    active: BTreeMap<String, TaskInfo>,
    index: VecDeque<TaskInfo>,
    archive: VecDeque<TaskInfo>,
}

impl TaskLists {
    /// Reads the lists; lines that are not tasks are left out with a warning.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let active = read_list(&folder.join("active"), INDEX_LINES)?;
        Ok(Self {
            folder: folder.to_owned(),
            active: active
                .into_iter()
                .map(|task| (task.upid.to_string(), task))
                .collect(),
            index: read_list(&folder.join("index"), 2 * INDEX_LINES)?,
            archive: read_list(&folder.join("archive"), 2 * ARCHIVE_LINES)?,
        })
    }

    /// Running tasks.
    pub(super) fn active(&self) -> impl Iterator<Item = &TaskInfo> {
        self.active.values()
    }

    /// Ended tasks, the newest first.
    pub(super) fn ended(&self) -> impl Iterator<Item = &TaskInfo> {
        self.index.iter().rev().chain(self.archive.iter().rev())
    }

    /// The task with this UPID.
    pub(super) fn find(&self, upid: &str) -> Option<&TaskInfo> {
        self.active
            .get(upid)
            .or_else(|| self.ended().find(|task| task.upid.to_string() == upid))
    }

    /// Notes a started task; on disk when this returns.
    pub(super) fn started(&mut self, upid: Upid) -> io::Result<()> {
        self.active
            .insert(upid.to_string(), TaskInfo { upid, ended: None });
        self.write_active()
    }

    /// Takes a task out of the running ones that is among the ended ones already.
    pub(super) fn drop_active(&mut self, upid: &Upid) -> io::Result<()> {
        self.active.remove(&upid.to_string());
        self.write_active()
    }

    /// Moves a task to the ended ones; on disk when this returns. Returns the tasks that were forgotten.
    pub(super) fn ended_now(&mut self, upid: &Upid, end: i64, status: &str) -> io::Result<Vec<TaskInfo>> {
        let task = TaskInfo {
            upid: upid.clone(),
            ended: Some((end, one_line(status))),
        };
        // The index first: after a crash in between the task is in both lists, and `active` loses it on recovery.
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join("index"))?;
        file.write_all(task.line().as_bytes())?;
        file.sync_data()?;
        self.index.push_back(task);
        self.active.remove(&upid.to_string());
        self.write_active()?;
        self.shorten()
    }

    fn shorten(&mut self) -> io::Result<Vec<TaskInfo>> {
        if self.index.len() <= INDEX_LINES {
            return Ok(Vec::new());
        }
        let moved: Vec<TaskInfo> = self.index.drain(..INDEX_LINES / 2).collect();
        self.archive.extend(moved);
        let forgotten = if self.archive.len() > ARCHIVE_LINES {
            self.archive.drain(..ARCHIVE_LINES / 2).collect()
        } else {
            Vec::new()
        };
        write_list(&self.folder.join("archive"), self.archive.iter())?;
        write_list(&self.folder.join("index"), self.index.iter())?;
        Ok(forgotten)
    }

    fn write_active(&self) -> io::Result<()> {
        write_list(&self.folder.join("active"), self.active.values())
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn read_list(path: &Path, max: usize) -> io::Result<VecDeque<TaskInfo>> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(VecDeque::new()),
        Err(error) => return Err(error),
    };
    let mut tasks = VecDeque::new();
    for line in io::BufReader::new(file).lines() {
        let line = line?;
        match TaskInfo::parse(&line) {
            Some(task) => tasks.push_back(task),
            None => {
                tracing::warn!(file = %path.display(), line = %line.escape_debug(), "not a task, left out")
            }
        }
        if tasks.len() > max {
            tasks.pop_front();
        }
    }
    Ok(tasks)
}

fn write_list<'a>(path: &Path, tasks: impl Iterator<Item = &'a TaskInfo>) -> io::Result<()> {
    let text: String = tasks.map(TaskInfo::line).collect();
    super::durable::replace(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upid(n: u32) -> Upid {
        Upid::parse(&format!(
            "UPID:node:00000001:00000002:{n:08X}:60000000:restore:store\\x3avm:admin@pbs:"
        ))
        .unwrap()
    }

    #[test]
    fn tasks_survive_a_reopen_and_old_ones_are_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let mut lists = TaskLists::open(dir.path()).unwrap();
        for n in 0..=u32::try_from(INDEX_LINES).unwrap() {
            lists.started(upid(n)).unwrap();
            assert_eq!(
                lists.ended_now(&upid(n), 0x6000_0001, "bad\nthing").unwrap(),
                Vec::new()
            );
        }
        lists.started(upid(9999)).unwrap();
        let again = TaskLists::open(dir.path()).unwrap();
        assert_eq!(again.active().count(), 1);
        assert_eq!(again.ended().count(), INDEX_LINES + 1);
        assert_eq!(again.archive.len(), INDEX_LINES / 2);
        let first = again.find(&upid(0).to_string()).unwrap();
        assert_eq!(first.ended, Some((0x6000_0001, "bad thing".into())));
        assert_eq!(again.ended().next().unwrap().upid.task_id, 1000);
    }
}
