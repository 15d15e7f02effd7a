//! Tasks on disk: the truth about what ran here (INTERFACES.md). One log file a task,
//! `<pstart & 0xff as %02X>/<UPID>`, beside the lists of [`super::task_list`]. Every change of state is synced.
//!
//! All functions block; async callers use `spawn_blocking`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fleethold_format::names::Authid;
use fleethold_format::upid::Upid;
use parking_lot::Mutex;

use super::task_list::{TaskInfo, TaskLists};
use crate::clock;
use crate::text::printable;

/// A UPID is a file name; this leaves room below `NAME_MAX`.
const MAX_UPID_LEN: usize = 240;

/// How a task ended.
#[derive(Debug, Clone, Eq, PartialEq)]
pub enum TaskEnd {
    /// Well.
    Ok,
    /// With an error: its text.
    Error(String),
}

impl TaskEnd {
    fn status(&self) -> String {
        match self {
            Self::Ok => "OK".into(),
            Self::Error(text) => printable(&text.replace('\n', " ")).into_owned(),
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Ok => "TASK OK".into(),
            Self::Error(text) => format!("TASK ERROR: {text}"),
        }
    }
}

/// All tasks of this server.
pub struct TaskFiles {
    folder: PathBuf,
    node: String,
    pid: u32,
    pstart: u64,
    next: AtomicU32,
    lists: Mutex<TaskLists>,
}

impl TaskFiles {
    /// Opens `<state>/tasks`. Tasks that a process before this one left running are closed: as interrupted, but for
    /// those in `complete`.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn open(folder: &Path, node: &str, complete: &HashSet<String>) -> io::Result<Self> {
        let files = Self {
            folder: folder.to_owned(),
            node: node.to_owned(),
            pid: std::process::id(),
            pstart: process_start()?,
            next: AtomicU32::new(0),
            lists: Mutex::new(TaskLists::open(folder)?),
        };
        let left: Vec<Upid> = files
            .lists
            .lock()
            .active()
            .map(|task| task.upid.clone())
            .collect();
        for upid in left {
            let end = if complete.contains(&upid.to_string()) {
                TaskEnd::Ok
            } else {
                TaskEnd::Error("interrupted: the server stopped while the task ran".into())
            };
            // On a full disk the task looks running until the next start; the server has to come up all the same.
            if let Err(error) = files.close_left_over(&upid, &end) {
                tracing::error!(%upid, %error, "a task left running could not be closed");
            }
        }
        Ok(files)
    }

    fn close_left_over(&self, upid: &Upid, end: &TaskEnd) -> io::Result<()> {
        let ended = self.lists.lock().ended().any(|task| task.upid == *upid);
        if ended {
            // A crash between the two list files: the task is in both.
            return self.lists.lock().drop_active(upid);
        }
        match File::options().append(true).open(self.log_path(upid)) {
            Ok(file) => TaskLog::append(&file, &end.line()).and_then(|()| file.sync_all())?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        self.end(upid, &end.status())
    }

    /// Starts a task: log file and list entry are on disk when this returns.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn start(
        self: &Arc<Self>,
        worker_type: &str,
        worker_id: &str,
        authid: &Authid,
    ) -> io::Result<TaskLog> {
        let mut upid = Upid {
            node: self.node.clone(),
            pid: self.pid,
            pstart: self.pstart,
            task_id: self.next.fetch_add(1, Ordering::Relaxed),
            starttime: clock::epoch(),
            worker_type: worker_type.to_owned(),
            worker_id: Some(worker_id.to_owned()),
            authid: authid.clone(),
        };
        while upid.to_string().len() > MAX_UPID_LEN
            && let Some(id) = &mut upid.worker_id
            && id.pop().is_some()
        {}
        let path = self.log_path(&upid);
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder)?;
        let file = File::options().create_new(true).append(true).open(&path)?;
        File::open(folder)?.sync_all()?;
        self.lists.lock().started(upid.clone())?;
        Ok(TaskLog {
            files: Arc::clone(self),
            upid,
            file,
        })
    }

    fn end(&self, upid: &Upid, status: &str) -> io::Result<()> {
        let forgotten = self.lists.lock().ended_now(upid, clock::epoch(), status)?;
        for task in forgotten {
            if let Err(error) = fs::remove_file(self.log_path(&task.upid)) {
                tracing::warn!(upid = %task.upid, %error, "cannot remove the log of a forgotten task");
            }
        }
        Ok(())
    }

    /// All tasks, running ones first, then by end, the newest first.
    #[must_use]
    pub fn list(&self, mut wanted: impl FnMut(&TaskInfo) -> bool, skip: usize, take: usize) -> Vec<TaskInfo> {
        let lists = self.lists.lock();
        let mut running: Vec<&TaskInfo> = lists.active().collect();
        running.sort_by_key(|task| std::cmp::Reverse((task.upid.starttime, task.upid.task_id)));
        running
            .into_iter()
            .chain(lists.ended())
            .filter(|task| wanted(task))
            .skip(skip)
            .take(take)
            .cloned()
            .collect()
    }

    /// The task named `upid`.
    #[must_use]
    pub fn find(&self, upid: &str) -> Option<TaskInfo> {
        self.lists.lock().find(upid).cloned()
    }

    /// Lines `skip..skip + take` of a task's log and the number of lines there are.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn log(&self, upid: &Upid, skip: usize, take: usize) -> io::Result<(Vec<String>, usize)> {
        let mut lines = Vec::new();
        let mut total = 0;
        for line in io::BufReader::new(File::open(self.log_path(upid))?).split(b'\n') {
            let line = line?;
            if total >= skip && lines.len() < take {
                lines.push(String::from_utf8_lossy(&line).into_owned());
            }
            total += 1;
        }
        Ok((lines, total))
    }

    /// Where a task's log is.
    #[must_use]
    pub fn log_path(&self, upid: &Upid) -> PathBuf {
        self.folder
            .join(format!("{:02X}", upid.pstart & 0xff))
            .join(upid.to_string())
    }

    /// Folder of all task files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// The log of a running task.
pub struct TaskLog {
    files: Arc<TaskFiles>,
    upid: Upid,
    file: File,
}

impl TaskLog {
    /// The task.
    #[must_use]
    pub fn upid(&self) -> &Upid {
        &self.upid
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn line(&self, text: &str) -> io::Result<()> {
        Self::append(&self.file, text)
    }

    /// Ends the task; log and lists are on disk when this returns.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn finish(&self, end: &TaskEnd) -> io::Result<()> {
        self.line(&end.line())?;
        self.file.sync_all()?;
        self.files.end(&self.upid, &end.status())
    }

    fn append(mut file: &File, text: &str) -> io::Result<()> {
        let stamp = clock::now()
            .replace_nanosecond(0)
            .unwrap_or_else(|_| clock::now());
        let stamp = stamp
            .format(&time::format_description::well_known::Rfc3339)
            .map_err(io::Error::other)?;
        // One line, whatever is in it: a log is read in terminals.
        let text = text.replace('\n', " ");
        file.write_all(format!("{stamp}: {}\n", printable(&text)).as_bytes())
    }
}

/// Start of this process in clock ticks since boot, field 22 of `/proc/self/stat`.
fn process_start() -> io::Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field, the name, may hold spaces: count behind its closing parenthesis.
    stat.rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(19))
        .and_then(|field| field.parse().ok())
        .ok_or_else(|| io::Error::other("/proc/self/stat: expected the start time as field 22"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_left_running_is_closed_as_interrupted() {
        let dir = tempfile::tempdir().unwrap();
        let authid: Authid = Authid::parse("admin@pbs").unwrap();
        let files = Arc::new(TaskFiles::open(dir.path(), "node", &HashSet::new()).unwrap());
        let done = files.start("restore", "store:vm/100", &authid).unwrap();
        done.line("half way").unwrap();
        done.finish(&TaskEnd::Ok).unwrap();
        let odd = files.start("restore", "store:vm/102", &authid).unwrap();
        odd.finish(&TaskEnd::Error("a\u{1b}[2J\nfile".into())).unwrap();
        let left = files.start("restore", "store:vm/101", &authid).unwrap();
        left.line("began").unwrap();

        let again = TaskFiles::open(dir.path(), "node", &HashSet::new()).unwrap();
        assert_eq!(
            again.find(&done.upid().to_string()).unwrap().ended.unwrap().1,
            "OK"
        );
        assert_eq!(
            again.find(&odd.upid().to_string()).unwrap().ended.unwrap().1,
            "a\\u{1b}[2J file",
            "nothing that a terminal obeys"
        );
        let (lines, _) = again.log(odd.upid(), 0, 10).unwrap();
        assert!(lines[0].ends_with("TASK ERROR: a\\u{1b}[2J file"), "{lines:?}");
        let ended = again.find(&left.upid().to_string()).unwrap().ended.unwrap().1;
        assert!(ended.starts_with("interrupted"), "{ended}");
        let (lines, total) = again.log(left.upid(), 0, 10).unwrap();
        assert_eq!(total, 2);
        assert!(lines[1].contains(": TASK ERROR: interrupted"), "{lines:?}");
        assert_eq!(again.list(|task| task.ended.is_none(), 0, 10), Vec::new());
        assert_eq!(
            TaskFiles::open(dir.path(), "node", &HashSet::new())
                .unwrap()
                .list(|_| true, 0, 10)
                .len(),
            3
        );
    }

    #[test]
    fn a_long_worker_id_still_makes_a_file_name() {
        let dir = tempfile::tempdir().unwrap();
        let files = Arc::new(TaskFiles::open(dir.path(), "node", &HashSet::new()).unwrap());
        let log = files
            .start("restore", &"a-".repeat(300), &Authid::parse("admin@pbs").unwrap())
            .unwrap();
        assert!(log.upid().to_string().len() <= MAX_UPID_LEN);
        assert!(files.log_path(log.upid()).exists());
    }
}
