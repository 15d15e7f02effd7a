//! Where a target file may be: anywhere for the command line, below a root for the server.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use fleethold_datastore::open_dir_beneath;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::TargetError;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// An opened directory and a name in it: what a file sink writes to. No path is resolved after this.
#[derive(Debug)]
pub struct TargetPlace {
    pub(super) directory: OwnedFd,
    pub(super) leaf: OsString,
    /// For messages only.
    pub(super) path: PathBuf,
}

impl TargetPlace {
    /// Any path, as the calling user may reach it: the command line's targets.
    ///
    /// # Errors
    /// [`TargetError`] when the path has no file name or its directory cannot be opened.
    pub fn unconfined(path: &Path) -> Result<Self, TargetError> {
        let leaf = leaf(path)?;
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let directory = open(parent, DIRECTORY, Mode::empty())
            .map_err(|error| TargetError::io("opening the directory of", path, error))?;
        Ok(Self {
            directory,
            leaf: leaf.to_owned(),
            path: path.to_owned(),
        })
    }

    /// The path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A directory that targets are confined to. Symbolic links and `..` cannot leave it.
#[derive(Debug)]
pub struct RestoreRoot {
    directory: OwnedFd,
    path: PathBuf,
}

impl RestoreRoot {
    /// Opens the root itself; links in its own path are the administrator's and are followed.
    ///
    /// # Errors
    /// [`TargetError::Io`] when it cannot be opened or is no directory.
    pub fn open(path: &Path) -> Result<Self, TargetError> {
        let directory = open(path, DIRECTORY, Mode::empty())
            .map_err(|error| TargetError::io("opening restore root of", path, error))?;
        Ok(Self {
            directory,
            path: path.to_owned(),
        })
    }

    /// The root's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Finds the directory of `target`, which is relative to the root or begins with the root's path.
    ///
    /// # Errors
    /// [`TargetError::Outside`] for `..`, links, or another absolute path; [`TargetError::Io`] when the directory
    /// does not exist or cannot be opened.
    pub fn resolve(&self, target: &Path) -> Result<TargetPlace, TargetError> {
        let outside = |reason| TargetError::Outside {
            root: self.path.clone(),
            path: target.to_owned(),
            reason,
        };
        let relative = if target.is_absolute() {
            target
                .strip_prefix(&self.path)
                .map_err(|_elsewhere| outside("another absolute path"))?
        } else {
            target
        };
        if relative
            .components()
            .any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
        {
            return Err(outside("`..` in the path"));
        }
        let leaf = leaf(relative)?.to_owned();
        let path = self.path.join(relative);
        // Plain names only: `.` is none.
        let parent: PathBuf = relative
            .parent()
            .into_iter()
            .flat_map(Path::components)
            .filter(|part| matches!(part, Component::Normal(_)))
            .collect();
        let opened = if parent.as_os_str().is_empty() {
            self.directory.try_clone()
        } else {
            open_dir_beneath(self.directory.as_fd(), &parent)
        };
        let directory = opened.map_err(|error| match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::LOOP) => outside("a symbolic link in the path"),
            Some(Errno::XDEV) => outside("the path leaves it"),
            _ => TargetError::io("opening the directory of", &path, error),
        })?;
        Ok(TargetPlace {
            directory,
            leaf,
            path,
        })
    }
}

fn leaf(path: &Path) -> Result<&OsStr, TargetError> {
    let text = path.as_os_str().as_encoded_bytes();
    match path.file_name() {
        Some(leaf) if !text.ends_with(b"/") && !text.ends_with(b"/.") => Ok(leaf),
        _ => Err(TargetError::Unsuitable {
            path: path.to_owned(),
            reason: "expected a file name at its end".to_owned(),
        }),
    }
}
