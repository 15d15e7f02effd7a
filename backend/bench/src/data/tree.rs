//! All files below a directory: their common hash, and their list.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::hex;
use crate::error::BenchError;

/// Where a text says where it lies: the text differs from place to place, the data do not.
const PLACE: &str = "/data";

/// Every regular file below `dir`, by path.
pub(crate) fn files(dir: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        let io = |source| BenchError::Io {
            path: dir.clone(),
            source,
        };
        for entry in std::fs::read_dir(&dir).map_err(io)? {
            let entry = entry.map_err(io)?;
            let kind = entry.file_type().map_err(io)?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// SHA-256 over path, length and content of every file below `dir`, in the order of the paths, as 64 hex digits. Where
/// a configuration names `dir` itself, `/data` counts instead.
pub(super) fn sha256(dir: &Path, cancel: &CancellationToken) -> Result<String, BenchError> {
    let absolute = std::path::absolute(dir).map_err(|source| BenchError::Io {
        path: dir.to_owned(),
        source,
    })?;
    let absolute = absolute.to_string_lossy();
    let mut all = Sha256::new();
    for path in files(dir)? {
        if cancel.is_cancelled() {
            return Err(BenchError::Cancelled);
        }
        let mut bytes = std::fs::read(&path).map_err(|source| BenchError::Io {
            path: path.clone(),
            source,
        })?;
        if path.extension().is_some_and(|extension| extension == "cfg") {
            bytes = String::from_utf8_lossy(&bytes)
                .replace(&*absolute, PLACE)
                .into_bytes();
        }
        let relative = path.strip_prefix(dir).unwrap_or(&path);
        all.update(relative.as_os_str().as_encoded_bytes());
        all.update([0]);
        all.update((bytes.len() as u64).to_le_bytes());
        all.update(&bytes);
    }
    Ok(hex(&all.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_of_paths_and_contents_wherever_they_lie() {
        let make = |text: &str| {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir(dir.path().join("a")).unwrap();
            std::fs::write(dir.path().join("a/one"), text).unwrap();
            let config = format!("path {}/a\n", dir.path().display());
            std::fs::write(dir.path().join("x.cfg"), config).unwrap();
            dir
        };
        let (one, same, other) = (make("1"), make("1"), make("2"));
        let hash = |dir: &tempfile::TempDir| sha256(dir.path(), &CancellationToken::new()).unwrap();
        assert_eq!(hash(&one), hash(&same));
        assert_ne!(hash(&one), hash(&other));
        std::fs::rename(one.path().join("a/one"), one.path().join("a/two")).unwrap();
        assert_ne!(hash(&one), hash(&same));
    }
}
