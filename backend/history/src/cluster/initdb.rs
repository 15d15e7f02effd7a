//! Making the data directory: in `data.new`, renamed when it is whole.

use std::path::Path;

use rustix::process::Signal;

use super::binaries::Binaries;
use super::error::ClusterError;
use super::pdeathsig::die_with_parent;
use super::service_user::ServiceUser;

/// The superuser of the cluster, and the only one.
pub(crate) const SUPERUSER: &str = "fleethold";

/// Makes `<home>/data` unless it exists. Blocks for about a second.
pub(super) fn ensure(home: &Path, binaries: &Binaries, user: &ServiceUser) -> Result<(), ClusterError> {
    let data = home.join("data");
    if data.exists() {
        return Ok(());
    }
    let unfinished = home.join("data.new");
    if unfinished.exists() {
        std::fs::remove_dir_all(&unfinished).map_err(ClusterError::io("remove", &unfinished))?;
    }
    user.own_dir(&unfinished)?;
    let program = binaries.bin.join("initdb");
    let mut command = user.command(&program, home);
    command
        .arg("-D")
        .arg(&unfinished)
        .args(["-U", SUPERUSER, "--auth-local=trust", "--auth-host=reject"])
        .args(["--encoding=UTF8", "--no-locale", "--data-checksums"]);
    die_with_parent(&mut command, Signal::KILL);
    let output = command.output().map_err(ClusterError::io("run", &program))?;
    if !output.status.success() {
        let text = [output.stdout, output.stderr].concat();
        return Err(ClusterError::Failed {
            program: program.display().to_string(),
            status: output.status.to_string(),
            output: super::process::tail(&String::from_utf8_lossy(&text)),
        });
    }
    std::fs::rename(&unfinished, &data).map_err(ClusterError::io("rename to", &data))?;
    std::fs::File::open(home)
        .and_then(|dir| dir.sync_all())
        .map_err(ClusterError::io("sync", home))
}
