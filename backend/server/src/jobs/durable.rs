//! Small files that are the old or the new one after a crash, never half of each.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// Replaces `path` by `content`: temporary name, sync, rename, sync of the folder.
///
/// # Errors
/// When any step fails; `path` then holds its old content.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    write(path, content, true)
}

/// As [`replace`] without waiting for the folder: a crash may lose this state, not mix it with another.
///
/// # Errors
/// When any step fails; `path` then holds its old content.
pub fn replace_lazily(path: &Path, content: &[u8]) -> io::Result<()> {
    write(path, content, false)
}

fn write(path: &Path, content: &[u8], sync: bool) -> io::Result<()> {
    let mut temp = path.as_os_str().to_owned();
    temp.push(".tmp");
    let mut file = fs::File::create(&temp)?;
    file.write_all(content)?;
    // Always: a name whose bytes never reached the disk would replace the good file by an empty one.
    file.sync_data()?;
    fs::rename(&temp, path)?;
    if sync && let Some(folder) = path.parent() {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}
