//! Where things are in this checkout.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow};

/// The checkout and its build directory.
pub(crate) struct Repo {
    root: PathBuf,
    target: PathBuf,
}

impl Repo {
    /// The checkout this program was started from: `cargo run` says so in the environment, which stays
    /// right when several checkouts share one target directory.
    pub(crate) fn find() -> Result<Self> {
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir
            .ancestors()
            .nth(2)
            .filter(|root| root.join("Cargo.lock").is_file())
            .ok_or_else(|| anyhow!("no Cargo.lock two folders above {}", manifest_dir.display()))?
            .to_path_buf();
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(dir) => std::path::absolute(PathBuf::from(dir)).context("CARGO_TARGET_DIR")?,
            None => root.join("target"),
        };
        Ok(Self { root, target })
    }

    /// A path inside the checkout.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Cargo's build directory.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Scratch space of this program that survives between runs.
    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.target.join("xtask").join(name)
    }

    /// `cargo` in the root of the checkout, with the very cargo that runs us.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root);
        // Set for us by `cargo run`; what they say is about xtask, not about the package built next.
        for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME"] {
            command.env_remove(name);
        }
        command
    }

    /// Files known to git, relative to the root and still present.
    pub(crate) fn tracked_files(&self) -> Result<Vec<PathBuf>> {
        let output = Command::new("git")
            .args(["ls-files", "-z"])
            .current_dir(&self.root)
            .output()
            .context("git ls-files: could not start git")?;
        anyhow::ensure!(
            output.status.success(),
            "git ls-files in {}: {}",
            self.root.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        );
        let listing = String::from_utf8(output.stdout).context("a tracked file's name is not UTF-8")?;
        Ok(listing
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(PathBuf::from)
            .filter(|path| self.root.join(path).is_file())
            .collect())
    }
}
