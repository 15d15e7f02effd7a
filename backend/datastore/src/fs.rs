//! Opening files of a store that may be hostile: beneath a directory, no symbolic links, read-only.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, retry_on_intr};

use crate::error::DatastoreError;

/// Opens `path` relative to `dir`, for reading, without following a symbolic link at any level.
///
/// Access times stay as they are where the system allows it: reading leaves no trace. A pipe that stands where
/// a file should be cannot make us wait.
pub(crate) fn open_beneath(dir: BorrowedFd<'_>, path: &Path, directory: bool) -> io::Result<OwnedFd> {
    let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    // Of a directory NOFOLLOW would answer that a link is none, not that it is a link; `resolve` forbids it as well.
    flags |= if directory {
        OFlags::DIRECTORY
    } else {
        OFlags::NOFOLLOW
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let open2 = |flags| retry_on_intr(|| rustix::fs::openat2(dir, path, flags, Mode::empty(), resolve));
    // NOATIME is for owners; PERM and NOSYS are also what sandboxes answer that do not know openat2.
    let opened = match open2(flags | OFlags::NOATIME) {
        Err(Errno::PERM) => open2(flags),
        other => other,
    };
    match opened {
        Err(Errno::PERM | Errno::NOSYS) => walk(dir, path, flags),
        other => Ok(other?),
    }
}

/// A directory below `dir` by a path of plain names, without following a symbolic link at any level, also where the
/// system knows no `openat2`.
///
/// # Errors
/// `ELOOP` for a link, `EXDEV` for a path that could leave `dir`, else what the system answers.
pub fn open_dir_beneath(dir: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    open_beneath(dir, path, true)
}

/// [`open_beneath`] one component at a time.
fn walk(dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut components = path.components().peekable();
    let mut current: Option<OwnedFd> = None;
    while let Some(component) = components.next() {
        let std::path::Component::Normal(name) = component else {
            return Err(Errno::XDEV.into());
        };
        let mut flags = flags | OFlags::NOFOLLOW;
        if components.peek().is_some() {
            flags |= OFlags::DIRECTORY;
        }
        let at = current.as_ref().map_or(dir, AsFd::as_fd);
        let opened = retry_on_intr(|| rustix::fs::openat(at, name, flags, Mode::empty()));
        let opened = opened.map_err(|error| match error {
            // Who asks for a directory is not told that it is a link; openat2 does tell.
            Errno::NOTDIR if is_link(at, name) => Errno::LOOP,
            other => other,
        });
        current = Some(opened?);
    }
    current.ok_or_else(|| Errno::INVAL.into())
}

fn is_link(dir: BorrowedFd<'_>, name: &std::ffi::OsStr) -> bool {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_symlink())
}

/// Reads from the start until `len` bytes are in `buf`, or the end. Capacity must have been reserved.
pub(crate) fn read_up_to(fd: BorrowedFd<'_>, buf: &mut Vec<u8>, len: usize) -> io::Result<()> {
    while buf.len() < len {
        // Never grows the buffer: it has spare capacity as long as it is shorter than `len`.
        if retry_on_intr(|| rustix::io::read(fd, rustix::buffer::spare_capacity(buf)))? == 0 {
            break;
        }
    }
    Ok(())
}

/// An open directory and the path under which errors name it.
#[derive(Debug)]
pub(crate) struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

/// A name in a directory, with its type.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) is_dir: bool,
    pub(crate) is_file: bool,
}

impl Dir {
    /// Opens a directory named by the administrator: links above it are theirs to make.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        let fd = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?;
        Ok(Self {
            fd,
            path: path.to_owned(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(crate) fn into_fd(self) -> OwnedFd {
        self.fd
    }

    /// Another descriptor of the same directory.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            fd: self.fd.try_clone()?,
            path: self.path.clone(),
        })
    }

    /// A directory below; `None` when there is none. An empty path is this directory.
    pub(crate) fn dir(&self, path: &Path) -> Result<Option<Self>, DatastoreError> {
        if path.as_os_str().is_empty() {
            let same = self.try_clone();
            return Ok(Some(
                same.map_err(DatastoreError::io("duplicate the handle of", &self.path))?,
            ));
        }
        let full = self.path.join(path);
        match open_beneath(self.fd(), path, true) {
            Ok(fd) => Ok(Some(Self { fd, path: full })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(DatastoreError::io("open the directory", full)(error)),
        }
    }

    /// A regular file below with its length; `None` when there is none.
    pub(crate) fn file(&self, name: &Path) -> Result<Option<(File, u64)>, DatastoreError> {
        let full = self.path.join(name);
        let fd = match open_beneath(self.fd(), name, false) {
            Ok(fd) => fd,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // A link: it is never followed.
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                return Err(DatastoreError::NotAFile { path: full });
            }
            Err(error) => return Err(DatastoreError::io("open", full)(error)),
        };
        let file = File::from(fd);
        let metadata = file
            .metadata()
            .map_err(DatastoreError::io("read the length of", &full))?;
        if !metadata.is_file() {
            return Err(DatastoreError::NotAFile { path: full });
        }
        Ok(Some((file, metadata.len())))
    }

    /// The whole of a regular file of at most `max` bytes; `None` when there is none.
    pub(crate) fn read(&self, name: &Path, max: u64) -> Result<Option<Vec<u8>>, DatastoreError> {
        let Some((file, len)) = self.file(name)? else {
            return Ok(None);
        };
        let path = || self.path.join(name);
        let too_large = || DatastoreError::TooLarge {
            path: path(),
            expected_max: max,
            actual: len,
        };
        if len > max {
            return Err(too_large());
        }
        let len = usize::try_from(len).map_err(|_| too_large())?;
        let mut bytes = Vec::with_capacity(len);
        read_up_to(file.as_fd(), &mut bytes, len).map_err(DatastoreError::io("read", path()))?;
        if bytes.len() != len {
            return Err(DatastoreError::Changed {
                path: path(),
                expected: len as u64,
                actual: bytes.len() as u64,
            });
        }
        Ok(Some(bytes))
    }

    /// Length of a regular file; `None` when there is none, or something else stands there.
    pub(crate) fn file_len(&self, name: &str) -> Result<Option<u64>, DatastoreError> {
        match rustix::fs::statat(self.fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_file() => {
                Ok(Some(u64::try_from(stat.st_size).unwrap_or(0)))
            }
            Ok(_) | Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(DatastoreError::io("read the length of", self.path.join(name))(
                error.into(),
            )),
        }
    }

    /// Names in this directory, as the system orders them. No name of a datastore is anything but ASCII: others
    /// are not ours and left out.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, DatastoreError> {
        let failed = |error: Errno| DatastoreError::io("list", &self.path)(error.into());
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(self.fd()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if matches!(name, "." | "..") {
                continue;
            }
            let file_type = match entry.file_type() {
                FileType::Unknown => match rustix::fs::statat(self.fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(failed(error)),
                },
                known => known,
            };
            entries.push(Entry {
                name: name.to_owned(),
                is_dir: file_type.is_dir(),
                is_file: file_type.is_file(),
            });
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// With and without `openat2` the answers are the same.
    #[test]
    fn the_walk_answers_as_the_system_does() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("a/b")).unwrap();
        std::fs::write(root.path().join("a/file"), "").unwrap();
        symlink("b", root.path().join("a/link")).unwrap();
        symlink("a", root.path().join("up")).unwrap();
        let dir = Dir::open(root.path()).unwrap();
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
        for (path, expected) in [
            ("a/b", None),
            ("a/link", Some(Errno::LOOP)),
            ("up/b", Some(Errno::LOOP)),
            ("a/file", Some(Errno::NOTDIR)),
            ("a/none", Some(Errno::NOENT)),
            ("../etc", Some(Errno::XDEV)),
        ] {
            let path = Path::new(path);
            for found in [open_dir_beneath(dir.fd(), path), walk(dir.fd(), path, flags)] {
                let found = found.err().and_then(|error| error.raw_os_error());
                assert_eq!(found, expected.map(Errno::raw_os_error), "{}", path.display());
            }
        }
    }
}
