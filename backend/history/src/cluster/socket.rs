//! The folder of the cluster's socket: mode 0700, since whoever reaches the socket is trusted.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::error::ClusterError;
use super::service_user::ServiceUser;

/// The port in the socket's name; no network port is opened.
pub(crate) const PORT: u16 = 5432;
/// `sun_path` without its closing zero.
const MAX_SOCKET_PATH: usize = 107;

/// Chooses and makes the folder: `<home>/sock`, or a folder in `/tmp` when that name is too long for a socket. The
/// latter is noted in `<home>/socket-dir`, so that the next start uses it again instead of leaving one more behind.
pub(crate) fn prepare(home: &Path, user: &ServiceUser) -> Result<PathBuf, ClusterError> {
    let inside = home.join("sock");
    if check_length(&inside).is_ok() {
        user.own_dir(&inside)?;
        return Ok(inside);
    }
    let note = home.join("socket-dir");
    if let Ok(noted) = std::fs::read_to_string(&note) {
        let noted = PathBuf::from(noted.trim_end());
        if is_private(&noted, user) && check_length(&noted).is_ok() {
            return Ok(noted);
        }
    }
    let short = PathBuf::from(format!(
        "/tmp/fleethold-{:08x}",
        uuid::Uuid::new_v4().as_fields().0
    ));
    check_length(&short)?;
    // Not `own_dir` at once: a folder that is there already is somebody else's.
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&short)
        .map_err(ClusterError::io("create", &short))?;
    user.own_dir(&short)?;
    std::fs::write(&note, short.as_os_str().as_bytes()).map_err(ClusterError::io("write", &note))?;
    Ok(short)
}

/// The folder that a running server's socket lies in: one of those that [`prepare`] would choose, and private.
pub(crate) fn find(home: &Path, user: &ServiceUser) -> Option<PathBuf> {
    let inside = home.join("sock");
    let noted = std::fs::read_to_string(home.join("socket-dir")).ok();
    [Some(inside), noted.map(|noted| PathBuf::from(noted.trim_end()))]
        .into_iter()
        .flatten()
        .find(|dir| is_private(dir, user) && dir.join(format!(".s.PGSQL.{PORT}")).exists())
}

/// Removes a folder that `prepare` made outside of the state directory, after the server has gone.
pub(crate) fn clean(home: &Path, dir: &Path) {
    if !dir.starts_with(home)
        && let Err(error) = std::fs::remove_dir(dir)
    {
        tracing::debug!(dir = %dir.display(), %error, "socket folder stays");
    }
}

/// Whether only the service user (and root) can enter `dir`.
pub(crate) fn is_private(dir: &Path, user: &ServiceUser) -> bool {
    dir.symlink_metadata().is_ok_and(|meta| {
        meta.is_dir() && meta.uid() == user.uid && meta.mode() & 0o077 == 0 && dir.is_absolute()
    })
}

fn check_length(dir: &Path) -> Result<(), ClusterError> {
    let path = dir.join(format!(".s.PGSQL.{PORT}"));
    let len = path.as_os_str().len();
    if len > MAX_SOCKET_PATH {
        return Err(ClusterError::SocketPathTooLong {
            path,
            len,
            max: MAX_SOCKET_PATH,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_path_of_107_bytes_is_the_longest() {
        let dir = |len: usize| PathBuf::from(format!("/{}", "x".repeat(len - 1)));
        assert!(check_length(&dir(107 - "/.s.PGSQL.5432".len())).is_ok());
        let error = check_length(&dir(108 - "/.s.PGSQL.5432".len())).unwrap_err();
        assert!(
            matches!(
                error,
                ClusterError::SocketPathTooLong {
                    len: 108,
                    max: 107,
                    ..
                }
            ),
            "{error}"
        );
    }
}
