//! `make install`: the binary, the unit, an example configuration. Written for packagers: DESTDIR and PREFIX.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::repo::Repo;

/// Where to install.
#[derive(Args)]
pub(crate) struct InstallArgs {
    /// Put before every path; for packages and images
    #[arg(long, env = "DESTDIR", default_value = "/")]
    destdir: PathBuf,
    /// The root of `bin/` and `lib/`
    #[arg(long, env = "PREFIX", default_value = "/usr/local")]
    prefix: PathBuf,
}

/// Builds the release binary if need be and copies everything into place.
///
/// The settings of an earlier installation are never touched; the example among the documents is always the newest.
pub(crate) fn run(repo: &Repo, args: &InstallArgs) -> Result<()> {
    let binary = crate::demo::build(repo)?;
    let place = |path: &Path| args.destdir.join(path.strip_prefix("/").unwrap_or(path));
    let bin = args.prefix.join("bin/fleethold");

    copy(&binary, &place(&bin), 0o755)?;
    let unit = repo.path("backend/server/packaging/fleethold.service");
    let text = std::fs::read_to_string(&unit).with_context(|| format!("reading {}", unit.display()))?;
    let text = text.replace("/usr/local/bin/fleethold", &bin.display().to_string());
    write(
        &place(&args.prefix.join("lib/systemd/system/fleethold.service")),
        text.as_bytes(),
        0o644,
    )?;
    let settings = repo.path("backend/server/packaging/fleethold.toml");
    copy(
        &settings,
        &place(&args.prefix.join("share/doc/fleethold/fleethold.toml")),
        0o644,
    )?;
    let own = place(Path::new("/var/lib/fleethold/etc/fleethold.toml"));
    if own.exists() {
        println!("kept      {}", own.display());
    } else {
        copy(&settings, &own, 0o640)?;
    }
    for licence in ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT"] {
        copy(
            &repo.path(licence),
            &place(&args.prefix.join("share/doc/fleethold").join(licence)),
            0o644,
        )?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    let content = std::fs::read(from).with_context(|| format!("reading {}", from.display()))?;
    write(to, &content, mode)
}

/// Beside it first, then renamed: a running binary is replaced, never written into.
fn write(to: &Path, content: &[u8], mode: u32) -> Result<()> {
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("creating {}", parent.display()))?;
    }
    let mut fresh = to.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    std::fs::write(&fresh, content).with_context(|| format!("writing {}", fresh.display()))?;
    std::fs::set_permissions(&fresh, Permissions::from_mode(mode))
        .with_context(|| format!("setting the mode of {}", fresh.display()))?;
    std::fs::rename(&fresh, to)
        .with_context(|| format!("renaming {} to {}", fresh.display(), to.display()))?;
    println!("installed {}", to.display());
    Ok(())
}
