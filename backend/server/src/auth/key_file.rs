//! Server secrets on disk: created once, 0600, never half written.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

/// A secret could not be read, parsed or created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file system said no.
    #[error("cannot {action} secret file {}: {source}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The file is there but is not what it should be.
    #[error("secret file {} is not a valid {expected}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        expected: &'static str,
    },
    /// OpenSSL refused to make or write a key.
    #[error("cannot create key for {}: {source}", path.display())]
    OpenSsl {
        /// The file that should have held the key.
        path: PathBuf,
        /// OpenSSL's reason.
        source: openssl::error::ErrorStack,
    },
}

/// Largest secret file that is read; a real one is a few hundred bytes.
const MAX_SECRET_LEN: u64 = 64 * 1024;

/// Reads `path`, or, when it does not exist, fills it with what `create` returns.
///
/// # Errors
/// When the file cannot be read or written, or is larger than 64 KiB.
pub fn load_or_create(
    path: &Path,
    create: impl FnOnce() -> Result<Zeroizing<Vec<u8>>, KeyError>,
) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    match fs::metadata(path) {
        Ok(meta) if meta.len() > MAX_SECRET_LEN => {
            return Err(KeyError::Invalid {
                path: path.into(),
                expected: "secret of at most 64 KiB",
            });
        }
        Ok(_) => {
            return fs::read(path).map(Zeroizing::new).map_err(|source| KeyError::Io {
                action: "read",
                path: path.into(),
                source,
            });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => {
            return Err(KeyError::Io {
                action: "look at",
                path: path.into(),
                source,
            });
        }
    }
    let secret = create()?;
    write_private(path, &secret)?;
    Ok(secret)
}

/// Writes `content` to `path` with mode 0600 through a temporary name, synced before the rename.
///
/// # Errors
/// When any step of the write fails; the final name then keeps its old content.
pub fn write_private(path: &Path, content: &[u8]) -> Result<(), KeyError> {
    let io = |action| {
        move |source| KeyError::Io {
            action,
            path: path.into(),
            source,
        }
    };
    // The parent of a bare name is the empty path, which nothing can be done with.
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(io("create the folder of"))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temp = parent.join(format!(".{name}.{}.tmp", uuid::Uuid::new_v4().simple()));
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temp)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temp, path))
        .and_then(|()| fs::File::open(parent)?.sync_all());
    if written.is_err() && fs::remove_file(&temp).is_err() {
        tracing::debug!(path = %temp.display(), "no temporary secret file to remove");
    }
    written.map_err(io("write"))
}
