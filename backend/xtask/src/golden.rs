//! The golden datastores, unpacked from the one archive that is in the repository.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::repo::Repo;
use crate::web::inputs::file_digest;

/// Says which archive an unpacked copy came from.
const STAMP: &str = ".golden-digest";

/// Unpacks `fixtures/golden.tar.zst` into `dir`; does nothing if that very archive is unpacked there already.
///
/// # Errors
/// If `dir` holds anything that was not unpacked by this function.
pub(crate) fn unpack(repo: &Repo, dir: &Path) -> Result<()> {
    let archive = repo.path("fixtures/golden.tar.zst");
    let digest = file_digest(&archive)?;
    match std::fs::read_to_string(dir.join(STAMP)) {
        Ok(found) if found == digest => return Ok(()),
        Ok(_) => std::fs::remove_dir_all(dir).with_context(|| format!("removing {}", dir.display()))?,
        Err(_) if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) => {
            bail!(
                "{} is not empty and was not unpacked by this command",
                dir.display()
            )
        }
        Err(_) => {}
    }
    println!("golden: unpacking into {}", dir.display());
    // Beside it first, so that a copy cut short is never taken for a whole one.
    let fresh = dir.with_extension("unpacking");
    if fresh.exists() {
        std::fs::remove_dir_all(&fresh).with_context(|| format!("removing {}", fresh.display()))?;
    }
    std::fs::create_dir_all(&fresh).with_context(|| format!("creating {}", fresh.display()))?;
    let file = File::open(&archive).with_context(|| format!("opening {}", archive.display()))?;
    let plain = zstd::Decoder::new(file).with_context(|| format!("reading {}", archive.display()))?;
    tar::Archive::new(plain)
        .unpack(&fresh)
        .with_context(|| format!("unpacking {} into {}", archive.display(), fresh.display()))?;
    std::fs::write(fresh.join(STAMP), digest).with_context(|| format!("writing {STAMP}"))?;
    std::fs::rename(&fresh, dir).with_context(|| format!("renaming {} to {}", fresh.display(), dir.display()))
}
