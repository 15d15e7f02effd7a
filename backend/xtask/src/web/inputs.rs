//! What the page is built from, as one digest: equal digest, nothing to do.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::repo::Repo;

/// Files and folders that decide what ends up in `frontend/dist`.
const INPUTS: [&str; 10] = [
    "Cargo.lock",
    "Cargo.toml",
    "rust-toolchain.toml",
    "backend/api-types",
    "backend/xtask/src/web.rs",
    "backend/xtask/src/web",
    "e2e/package-lock.json",
    "frontend/Cargo.toml",
    "frontend/src",
    "frontend/static",
];

/// Digest of all inputs: path, length and content of each file, in the order of their paths.
pub(crate) fn digest(repo: &Repo) -> Result<String> {
    let mut files = Vec::new();
    for input in INPUTS {
        collect(&repo.path(input), &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    for path in files {
        let content = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let name = path.strip_prefix(repo.path("")).unwrap_or(&path);
        hash.update(name.as_os_str().as_encoded_bytes());
        hash.update([0]);
        hash.update((content.len() as u64).to_le_bytes());
        hash.update(&content);
    }
    Ok(hex::encode(hash.finalize()))
}

/// SHA-256 of one file as hex.
pub(crate) fn file_digest(path: &Path) -> Result<String> {
    let content = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(hex::encode(Sha256::digest(content)))
}

/// Every file below `path`, or `path` itself.
pub(crate) fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    for entry in path
        .read_dir()
        .with_context(|| format!("listing {}", path.display()))?
    {
        collect(
            &entry
                .with_context(|| format!("listing {}", path.display()))?
                .path(),
            files,
        )?;
    }
    Ok(())
}
