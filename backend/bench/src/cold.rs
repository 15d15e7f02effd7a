//! Cold runs: before each sample the data's files leave the page cache, and it is checked that they did.
//!
//! Pages of the files are given up with `posix_fadvise`, which everybody may do; names and attributes stay known to the
//! kernel. `drop_caches` takes those of the whole machine, too, and needs root.

mod resident;

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise, fdatasync};

use crate::data::tree;
use crate::error::BenchError;

/// Takes everything: pages, names and attributes.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
/// Pages that were just read are on lists that the kernel empties now and then.
const ATTEMPTS: usize = 5;

/// The files that are to be cold.
#[derive(Debug, Clone)]
pub(crate) struct Cold {
    dir: PathBuf,
    files: Vec<PathBuf>,
    drop_caches: bool,
}

impl Cold {
    /// The files below `dir`; with `drop_caches` all caches of the machine. Blocking.
    ///
    /// # Errors
    /// [`BenchError::Cold`] when `drop_caches` is asked for and not permitted; [`BenchError::Io`].
    pub(crate) fn prepare(dir: &Path, drop_caches: bool) -> Result<Self, BenchError> {
        let cold = Self {
            dir: dir.to_owned(),
            files: tree::files(dir)?,
            drop_caches,
        };
        if drop_caches {
            let opened = File::options().write(true).open(DROP_CACHES);
            opened.map_err(|error| cold.refuse(format!("{DROP_CACHES}: {error}")))?;
        }
        Ok(cold)
    }

    /// What is done, for the run's record.
    pub(crate) fn method(&self) -> &'static str {
        if self.drop_caches {
            "drop_caches, then posix_fadvise on the data's files, checked with mincore"
        } else {
            "posix_fadvise on the data's files, checked with mincore"
        }
    }

    /// Empties the cache. Blocking.
    ///
    /// # Errors
    /// [`BenchError::Cold`] when pages stay, or the kernel does not tell.
    pub(crate) fn empty(&self) -> Result<(), BenchError> {
        if self.drop_caches {
            std::fs::write(DROP_CACHES, "3\n")
                .map_err(|error| self.refuse(format!("{DROP_CACHES}: {error}")))?;
        }
        let mut stay = Vec::new();
        for attempt in 0..ATTEMPTS {
            let files: Vec<&Path> = if attempt == 0 {
                self.files.iter().map(PathBuf::as_path).collect()
            } else {
                std::mem::take(&mut stay)
            };
            for path in files {
                if drop_pages(path)? > 0 {
                    stay.push(path);
                }
            }
            if stay.is_empty() {
                return Ok(());
            }
        }
        let first = stay
            .first()
            .map_or_else(String::new, |path| path.display().to_string());
        Err(self.refuse(format!(
            "{} files stay in the page cache, the first is {first}",
            stay.len()
        )))
    }

    fn refuse(&self, reason: String) -> BenchError {
        BenchError::Cold {
            dir: self.dir.clone(),
            reason,
        }
    }
}

/// Gives up the pages of a file; returns how many are still there.
fn drop_pages(path: &Path) -> Result<usize, BenchError> {
    let io = |error: rustix::io::Errno| BenchError::Io {
        path: path.to_owned(),
        source: error.into(),
    };
    let file = File::open(path).map_err(|source| BenchError::Io {
        path: path.to_owned(),
        source,
    })?;
    // Pages that are not on the disk yet cannot be given up.
    fdatasync(&file).map_err(io)?;
    fadvise(&file, 0, None, Advice::DontNeed).map_err(io)?;
    resident::pages(&file).map_err(|source| BenchError::Io {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// In the target directory: `/tmp` may be in memory, whose pages cannot go.
    #[test]
    fn pages_are_there_after_reading_and_gone_after_emptying() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR").to_owned() + "/../../target").unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        let path = dir.path().join("sub/data");
        std::fs::write(&path, vec![7; 1 << 20]).unwrap();
        std::fs::write(dir.path().join("empty"), "").unwrap();
        let mut file = File::open(&path).unwrap();
        file.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(resident::pages(&file).unwrap(), 256);

        let cold = Cold::prepare(dir.path(), false).unwrap();
        cold.empty().unwrap();
        assert_eq!(resident::pages(&file).unwrap(), 0);
        std::fs::remove_file(&path).unwrap();
        assert!(cold.empty().unwrap_err().to_string().contains("data"));
    }

    #[test]
    fn what_may_not_be_done_is_refused_with_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        match Cold::prepare(dir.path(), true) {
            Ok(cold) => assert!(cold.method().starts_with("drop_caches")),
            Err(error) => assert!(error.to_string().contains(DROP_CACHES), "{error}"),
        }
    }
}
