//! A sparse file that appears under its name only when it is complete.
//!
//! ```text
//! create: .NAME.fleethold-XXXX.part (O_EXCL) ─▶ pwrite in any order, holes left ─▶ commit: size, fsync, rename, fsync dir
//!                                           └──▶ drop or failure: unlink
//! ```
//!
//! From the moment the complete file, whose content is durable, has its name the restore has succeeded: nothing that
//! goes wrong afterwards (the directory cannot be synced, a second name cannot be removed) makes it a failure, for then
//! a failed restore would leave a file under the final name. It is a warning in the log.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, fsync, ftruncate, openat, renameat, renameat_with, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::{TargetError, TargetPlace};

/// Longest file name on Linux.
const NAME_MAX: usize = 255;

/// How to treat what is there already.
#[derive(Copy, Clone, Debug, Default)]
pub struct FileOptions {
    /// Replace an existing regular file, at the moment of completion.
    pub overwrite: bool,
}

/// A file being restored. See the module's picture.
#[derive(Debug)]
pub struct FileSink {
    place: TargetPlace,
    temporary: OsString,
    file: File,
    overwrite: bool,
    /// The temporary name exists no more: renamed or removed.
    settled: AtomicBool,
}

impl FileSink {
    /// Creates the temporary file beside `target` (any path the calling user can reach).
    ///
    /// # Errors
    /// As [`FileSink::create_in`].
    pub fn create(target: &Path, options: FileOptions) -> Result<Self, TargetError> {
        Self::create_in(TargetPlace::unconfined(target)?, options)
    }

    /// Creates the temporary file in an opened directory.
    ///
    /// # Errors
    /// [`TargetError::Exists`] when the target exists and `overwrite` is off, [`TargetError::Unsuitable`] when it is
    /// not a regular file, else [`TargetError::Io`] or [`TargetError::NoSpace`].
    pub fn create_in(place: TargetPlace, options: FileOptions) -> Result<Self, TargetError> {
        check_existing(&place, options.overwrite)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A taken name is as good as impossible; a few more tries cost nothing.
        let mut attempts = 8;
        loop {
            let temporary = temporary_name(&place.leaf);
            match openat(&place.directory, &temporary, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    return Ok(Self {
                        place,
                        temporary,
                        file: File::from(file),
                        overwrite: options.overwrite,
                        settled: AtomicBool::new(false),
                    });
                }
                Err(Errno::EXIST) if attempts > 0 => attempts -= 1,
                Err(error) => return Err(TargetError::io("creating", &place.path, error)),
            }
        }
    }

    /// The final path, for messages.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// Where the bytes are until completion, for messages.
    pub fn temporary_path(&self) -> PathBuf {
        self.place.path.with_file_name(&self.temporary)
    }

    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), TargetError> {
        self.file
            .write_all_at(bytes, offset)
            .map_err(|error| TargetError::io("writing", &self.place.path, error))
    }

    /// Gives the file its exact size; what was not written is a hole.
    pub(crate) fn set_size(&self, size: u64) -> Result<(), TargetError> {
        ftruncate(&self.file, size).map_err(|error| TargetError::io("sizing", &self.place.path, error))
    }

    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, TargetError> {
        self.file
            .read_at(buffer, offset)
            .map_err(|error| TargetError::io("reading back", &self.place.path, error))
    }

    /// Makes the content durable.
    pub(crate) fn sync(&self) -> Result<(), TargetError> {
        fsync(&self.file).map_err(|error| TargetError::io("syncing", &self.place.path, error))
    }

    /// Gives the complete file its name, durably where the system can. Fails with [`TargetError::Exists`] when the name
    /// was taken meanwhile and must not be overwritten; after a failure nothing of ours is under the name.
    pub(crate) fn publish(&self) -> Result<(), TargetError> {
        let path = &self.place.path;
        if self.overwrite {
            check_existing(&self.place, true)?;
            renameat(
                &self.place.directory,
                &self.temporary,
                &self.place.directory,
                &self.place.leaf,
            )
            .map_err(|error| TargetError::io("naming", path, error))?;
        } else {
            self.rename_to_free_name()?;
        }
        self.settled.store(true, Ordering::Release);
        if let Err(error) = fsync(&self.place.directory) {
            let error = io::Error::from(error);
            tracing::warn!(path = %path.display(), %error,
                "the restored file is complete, but its directory cannot be synced: a crash may take its name away");
        }
        Ok(())
    }

    /// Renames unless the name is taken, decided by the kernel in one step.
    fn rename_to_free_name(&self) -> Result<(), TargetError> {
        let (directory, path) = (&self.place.directory, &self.place.path);
        let renamed = renameat_with(
            directory,
            &self.temporary,
            directory,
            &self.place.leaf,
            RenameFlags::NOREPLACE,
        );
        match renamed {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(TargetError::Exists { path: path.clone() }),
            // Some network file systems know no such rename; a hard link refuses a taken name as well.
            Err(Errno::INVAL) => self.link_to_free_name(),
            Err(error) => Err(TargetError::io("naming", path, error)),
        }
    }

    fn link_to_free_name(&self) -> Result<(), TargetError> {
        let (directory, path) = (&self.place.directory, &self.place.path);
        let linked = rustix::fs::linkat(
            directory,
            &self.temporary,
            directory,
            &self.place.leaf,
            AtFlags::empty(),
        );
        match linked {
            Ok(()) => {
                self.remove_temporary();
                Ok(())
            }
            Err(Errno::EXIST) => Err(TargetError::Exists { path: path.clone() }),
            Err(error) => Err(TargetError::io("naming", path, error)),
        }
    }

    /// Removes the temporary file now, although writers may still hold the sink.
    pub(crate) fn discard(&self) {
        if !self.settled.swap(true, Ordering::AcqRel) {
            self.remove_temporary();
        }
    }

    fn remove_temporary(&self) {
        if let Err(error) = unlinkat(&self.place.directory, &self.temporary, AtFlags::empty()) {
            let error = io::Error::from(error);
            tracing::warn!(path = %self.temporary_path().display(), %error, "cannot remove a temporary file");
        }
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        self.discard();
    }
}

fn check_existing(place: &TargetPlace, overwrite: bool) -> Result<(), TargetError> {
    match statat(&place.directory, &place.leaf, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(TargetError::io("examining", &place.path, error)),
        Ok(_stat) if !overwrite => Err(TargetError::Exists {
            path: place.path.clone(),
        }),
        Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_file() => Ok(()),
        Ok(stat) => Err(TargetError::Unsuitable {
            path: place.path.clone(),
            reason: format!(
                "expected a regular file, found {:?}",
                FileType::from_raw_mode(stat.st_mode)
            ),
        }),
    }
}

/// `.NAME.fleethold-XXXX.part`, with NAME cut to fit.
fn temporary_name(leaf: &OsStr) -> OsString {
    // A fresh random state is the standard library's random number.
    let random = RandomState::new().hash_one(0_u8);
    let suffix = format!(".fleethold-{random:016x}.part");
    let keep = leaf.as_bytes().len().min(NAME_MAX - 1 - suffix.len());
    let mut name = OsString::from(".");
    name.push(OsStr::from_bytes(leaf.as_bytes().get(..keep).unwrap_or_default()));
    name.push(suffix);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that files can be made in, but that cannot be synced.
    fn unsyncable(directory: &Path) -> TargetPlace {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let place = TargetPlace {
            directory: rustix::fs::open(directory, flags, Mode::empty()).expect("a directory"),
            leaf: OsString::from("image"),
            path: directory.join("image"),
        };
        assert!(fsync(&place.directory).is_err());
        place
    }

    fn names(directory: &Path) -> Vec<OsString> {
        let entries = std::fs::read_dir(directory).expect("a directory");
        entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect()
    }

    #[test]
    fn a_complete_file_under_its_name_is_a_success() {
        for overwrite in [false, true] {
            let directory = tempfile::tempdir().expect("a directory");
            let options = FileOptions { overwrite };
            let sink = FileSink::create_in(unsyncable(directory.path()), options).expect("a file");
            sink.write_at(b"all of it", 0).expect("writing");
            sink.publish().expect("complete and named");
            sink.discard();
            assert_eq!(names(directory.path()), ["image"]);
        }
    }

    #[test]
    fn a_second_name_that_cannot_be_removed_is_no_failure() {
        let directory = tempfile::tempdir().expect("a directory");
        let sink = FileSink::create_in(unsyncable(directory.path()), FileOptions::default()).expect("a file");
        sink.link_to_free_name().expect("a name");
        assert_eq!(names(directory.path()), ["image"]);
        // As if another had removed it first.
        sink.remove_temporary();
        assert!(matches!(sink.link_to_free_name(), Err(TargetError::Io { .. })));
        assert_eq!(names(directory.path()), ["image"]);
    }
}
