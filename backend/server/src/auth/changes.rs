//! Whether one of the files of users and rights changed, asked on every request: what is taken away by hand or on the
//! command line is gone at the very next request, and none reads a file for it.
//!
//! ```text
//! request ─▶ pending()? one ioctl on an inotify descriptor ─ no ─▶ what is in memory is the files' content
//!                └─ yes ─▶ settle() on the blocking pool: takes the events, reads the files they name, publishes ─▶ request
//! ```
//! The kernel queues the event inside the writer's own system call: there is no moment after the write in which the answer is
//! no. Where inotify cannot be had, every request looks at the files' inodes instead. What inotify does not tell (a file
//! that is a link out of the directory, a network file system's other hosts) counts with the next round of
//! `services::accounts`.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::users::UserStore;

/// The configuration directory, watched.
pub(super) struct Changes {
    directory: PathBuf,
    inotify: Option<OwnedFd>,
    /// The directory itself went away: nothing is told until it is back.
    lost: AtomicBool,
    /// Events are taken and what they are about is not yet published.
    settling: AtomicBool,
    one_at_a_time: Mutex<()>,
}

impl Changes {
    /// Watches `directory`.
    pub(super) fn of(directory: &Path) -> Self {
        let made = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
            .and_then(|inotify| watch(&inotify, directory).map(|()| inotify));
        if let Err(error) = &made {
            tracing::warn!(directory = %directory.display(), %error, "cannot watch users and rights: every request looks at the files");
        }
        Self {
            directory: directory.to_owned(),
            inotify: made.ok(),
            lost: AtomicBool::new(false),
            settling: AtomicBool::new(false),
            one_at_a_time: Mutex::new(()),
        }
    }

    /// Whether something happened that is not yet published. Does not block.
    pub(super) fn pending(&self) -> bool {
        let Some(inotify) = &self.inotify else {
            return true;
        };
        // In this order: events that were taken between the two are still being settled.
        !matches!(rustix::io::ioctl_fionread(inotify), Ok(0))
            || self.settling.load(Ordering::SeqCst)
            || self.lost.load(Ordering::SeqCst)
    }

    /// Publishes what happened until now. Blocks.
    pub(super) fn settle(&self, users: &UserStore) {
        let _one_at_a_time = self.one_at_a_time.lock();
        self.settling.store(true, Ordering::SeqCst);
        match &self.inotify {
            None => users.look(),
            Some(inotify) => self.take(inotify, users),
        }
        self.settling.store(false, Ordering::SeqCst);
    }

    fn take(&self, inotify: &OwnedFd, users: &UserStore) {
        let mut everything = self.lost.load(Ordering::SeqCst);
        let mut names: Vec<String> = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(inotify, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => break,
                Err(error) => {
                    tracing::error!(%error, "cannot read what changed of users and rights");
                    everything = true;
                    break;
                }
            };
            if event.events().intersects(
                ReadFlags::QUEUE_OVERFLOW
                    | ReadFlags::IGNORED
                    | ReadFlags::DELETE_SELF
                    | ReadFlags::MOVE_SELF
                    | ReadFlags::UNMOUNT,
            ) {
                everything = true;
            }
            if let Some(name) = event.file_name().and_then(|name| name.to_str().ok())
                && !names.iter().any(|known| known == name)
            {
                names.push(name.to_owned());
            }
        }
        if everything {
            // Watching twice is watching once.
            let found = watch(inotify, &self.directory);
            self.lost.store(found.is_err(), Ordering::SeqCst);
            users.reread(|_| true);
        } else {
            users.reread(|file| names.iter().any(|name| name == file));
        }
    }
}

fn watch(inotify: &OwnedFd, directory: &Path) -> rustix::io::Result<()> {
    let flags = WatchFlags::MODIFY
        | WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MOVED_TO
        | WatchFlags::MOVED_FROM
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR;
    inotify::add_watch(inotify, directory, flags).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use fleethold_format::names::Authid;

    use super::*;

    #[test]
    fn every_kind_of_write_is_pending_at_once_and_settled_once() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let users = UserStore::open(directory.path()).unwrap();
        let changes = Changes::of(directory.path());
        let ann = Authid::parse("ann@pbs").unwrap();
        let settled = |expected: bool| {
            assert!(changes.pending());
            changes.settle(&users);
            assert!(!changes.pending());
            assert_eq!(users.is_active(&ann), expected);
        };
        assert!(!changes.pending());
        fs::write(at("user.cfg"), "user: ann@pbs\n").unwrap();
        settled(true);
        // In place, of the same length, perhaps within one tick of the clock: the inode tells nothing.
        for _ in 0..20 {
            fs::write(at("user.cfg"), "user: bob@pbs\n").unwrap();
            settled(false);
            fs::write(at("user.cfg"), "user: ann@pbs\n").unwrap();
            settled(true);
        }
        fs::remove_file(at("user.cfg")).unwrap();
        settled(false);
        fs::write(at("new"), "user: ann@pbs\n").unwrap();
        fs::rename(at("new"), at("user.cfg")).unwrap();
        settled(true);
        fs::write(at("other.cfg"), "x").unwrap();
        settled(true);
    }

    #[test]
    fn a_directory_that_is_replaced_is_watched_again() {
        let place = tempfile::tempdir().unwrap();
        let etc = place.path().join("etc");
        fs::create_dir(&etc).unwrap();
        fs::write(etc.join("user.cfg"), "user: ann@pbs\n").unwrap();
        let users = UserStore::open(&etc).unwrap();
        let changes = Changes::of(&etc);
        let ann = Authid::parse("ann@pbs").unwrap();
        fs::rename(&etc, place.path().join("old")).unwrap();
        assert!(changes.pending());
        changes.settle(&users);
        assert!(
            !users.is_active(&ann) && changes.pending(),
            "looked at until it is back"
        );
        fs::create_dir(&etc).unwrap();
        fs::write(etc.join("user.cfg"), "user: ann@pbs\n").unwrap();
        changes.settle(&users);
        assert!(users.is_active(&ann) && !changes.pending());
        fs::write(etc.join("user.cfg"), "").unwrap();
        assert!(changes.pending());
    }

    #[test]
    fn without_inotify_every_request_looks() {
        let directory = tempfile::tempdir().unwrap();
        let users = UserStore::open(directory.path()).unwrap();
        let changes = Changes::of(&directory.path().join("missing"));
        assert!(changes.pending());
        fs::write(directory.path().join("user.cfg"), "user: ann@pbs\n").unwrap();
        changes.settle(&users);
        assert!(users.is_active(&Authid::parse("ann@pbs").unwrap()) && changes.pending());
    }
}
