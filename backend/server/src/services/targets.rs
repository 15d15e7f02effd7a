//! Where restores may write: files under the configured roots, configured block devices, or nowhere.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fleethold_api_types::{RestoreTarget, TargetKind};
use fleethold_restore::{
    DeviceOptions, DeviceSink, FileOptions, FileSink, RestoreRoot, Sink, TargetError, TargetPlace,
};

use super::error::{ErrorKind, ServiceError, ServiceResult};
use crate::text::is_odd;

/// What two restores must not write to at once, whatever names they gave it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TargetId {
    /// A name in a directory.
    File {
        /// Device number of the directory's file system.
        device: u64,
        /// Inode of the directory.
        directory: u64,
        /// The name.
        name: OsString,
    },
    /// A block device, by its number.
    Device(u64),
    /// Whatever cannot be looked at, by its path.
    Path(PathBuf),
}

/// No name that a person gives holds control characters or changes the direction of the text around it; in logs, lists
/// and the database they do harm.
fn refuse_odd_characters(path: &str) -> ServiceResult<()> {
    match path.chars().find(|c| is_odd(*c)) {
        None => Ok(()),
        Some(found) => {
            let text = format!(
                "target.path: expected no control characters, found U+{:04X}",
                u32::from(found)
            );
            Err(ServiceError::unprocessable("target-unsuitable", text))
        }
    }
}

fn check_existing(path: &Path, overwrite: bool) -> ServiceResult<()> {
    let unsuitable = |reason: String| {
        let text = format!("target {}: {reason}", path.display());
        Err(ServiceError::unprocessable("target-unsuitable", text))
    };
    match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => unsuitable(error.to_string()),
        Ok(_) if !overwrite => Err(TargetError::Exists {
            path: path.to_owned(),
        }
        .into()),
        Ok(found) if found.is_file() => Ok(()),
        Ok(found) => {
            let found = match found.file_type() {
                kind if kind.is_dir() => "a directory",
                kind if kind.is_symlink() => "a link",
                _ => "a device, pipe or socket",
            };
            unsuitable(format!("expected a regular file, found {found}"))
        }
    }
}

/// The places that may be written to.
pub struct Targets {
    roots: Vec<RestoreRoot>,
    devices: Vec<PathBuf>,
}

impl Targets {
    /// Opens the restore roots, making missing ones. Blocks.
    ///
    /// # Errors
    /// When a root cannot be made or opened.
    pub fn open(roots: &[PathBuf], devices: &[PathBuf]) -> anyhow::Result<Self> {
        use anyhow::Context as _;
        let roots = roots
            .iter()
            .map(|root| {
                std::fs::create_dir_all(root)
                    .with_context(|| format!("cannot make the restore root {}", root.display()))?;
                Ok(RestoreRoot::open(root)?)
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self {
            roots,
            devices: devices.to_vec(),
        })
    }

    /// Paths of the roots.
    #[must_use]
    pub fn roots(&self) -> Vec<String> {
        self.roots
            .iter()
            .map(|root| root.path().display().to_string())
            .collect()
    }

    /// Paths of the devices.
    #[must_use]
    pub fn devices(&self) -> Vec<String> {
        self.devices
            .iter()
            .map(|device| device.display().to_string())
            .collect()
    }

    /// Checks a target and returns it with its path as resolved; writes nothing. Blocks.
    ///
    /// # Errors
    /// When the target is outside the roots, exists, or is not what its kind says.
    pub fn check(&self, target: &RestoreTarget) -> ServiceResult<RestoreTarget> {
        let path = match (target.kind, &target.path) {
            (TargetKind::Null, None) => None,
            (TargetKind::Null, Some(_)) => {
                return Err(ServiceError::unprocessable(
                    "target-unsuitable",
                    "a null target has no path",
                ));
            }
            (TargetKind::File, Some(path)) => {
                refuse_odd_characters(path)?;
                let place = self.place(Path::new(path))?;
                // Decided once more, without a race, when the job creates its file.
                check_existing(place.path(), target.overwrite)?;
                // Without `.` and repeated slashes: one place has one name in lists and messages.
                let path: PathBuf = place.path().components().collect();
                Some(path.display().to_string())
            }
            (TargetKind::Device, Some(path)) => Some(self.device(Path::new(path))?.display().to_string()),
            (kind, None) => {
                let text = format!("a target of kind {kind:?} needs a path").to_lowercase();
                return Err(ServiceError::unprocessable("target-unsuitable", text));
            }
        };
        Ok(RestoreTarget {
            path,
            ..target.clone()
        })
    }

    /// Which place a checked target is; nowhere is none. Blocks.
    #[must_use]
    pub fn identify(&self, target: &RestoreTarget) -> Option<TargetId> {
        let path = Path::new(target.path.as_deref()?);
        let found = match target.kind {
            TargetKind::Null => return None,
            TargetKind::Device => path.metadata().ok().map(|meta| TargetId::Device(meta.rdev())),
            TargetKind::File => path
                .parent()
                .zip(path.file_name())
                .and_then(|(parent, name)| Some((parent.metadata().ok()?, name)))
                .map(|(parent, name)| TargetId::File {
                    device: parent.dev(),
                    directory: parent.ino(),
                    name: name.to_owned(),
                }),
        };
        Some(found.unwrap_or_else(|| TargetId::Path(path.to_owned())))
    }

    /// Opens a checked target for writing. Blocks. Also returns the unfinished file's path, when there is one.
    ///
    /// # Errors
    /// When it cannot be opened, or exists by now.
    pub fn open_sink(&self, target: &RestoreTarget) -> ServiceResult<(Sink, Option<PathBuf>)> {
        let path = target.path.as_deref().map(Path::new);
        match (target.kind, path) {
            (TargetKind::File, Some(path)) => {
                let options = FileOptions {
                    overwrite: target.overwrite,
                };
                let sink = FileSink::create_in(self.place(path)?, options)?;
                let unfinished = sink.temporary_path();
                Ok((Sink::File(sink), Some(unfinished)))
            }
            (TargetKind::Device, Some(path)) => {
                let options = DeviceOptions {
                    target_is_zero: target.is_zero,
                };
                Ok((Sink::Device(DeviceSink::open(self.device(path)?, options)?), None))
            }
            _ => Ok((Sink::Null, None)),
        }
    }

    /// Removes the unfinished file that a dead process left, if it still lies inside a root under a temporary name.
    ///
    /// # Errors
    /// When it is elsewhere or cannot be removed.
    pub fn remove_unfinished(&self, path: &Path) -> ServiceResult<()> {
        let temporary = path.file_name().is_some_and(|name| {
            name.to_string_lossy().starts_with('.') && name.to_string_lossy().ends_with(".part")
        });
        if !temporary {
            return Err(ServiceError::internal(format!(
                "{} is not an unfinished file",
                path.display()
            )));
        }
        let place = self.place(path)?;
        match std::fs::remove_file(place.path()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(ServiceError::internal(format!(
                "cannot remove {}: {error}",
                path.display()
            ))),
        }
    }

    fn place(&self, path: &Path) -> ServiceResult<TargetPlace> {
        let mut refused = None;
        for root in &self.roots {
            // A relative path belongs to the first root; an absolute one to the root it lies in.
            if path.is_absolute() && !path.starts_with(root.path()) {
                continue;
            }
            match root.resolve(path) {
                Ok(place) => return Ok(place),
                Err(error) => refused = refused.or(Some(error)),
            }
            if path.is_relative() {
                break;
            }
        }
        Err(refused.map_or_else(
            || {
                let text = format!(
                    "target {} is in none of the restore roots {}",
                    path.display(),
                    self.roots().join(", ")
                );
                ServiceError::new(ErrorKind::Forbidden, "target-outside-root", text)
            },
            ServiceError::from,
        ))
    }

    fn device(&self, path: &Path) -> ServiceResult<&Path> {
        self.devices
            .iter()
            .find(|device| device.as_path() == path)
            .map(PathBuf::as_path)
            .ok_or_else(|| {
                let text = format!(
                    "device {} was not allowed when the server started",
                    path.display()
                );
                ServiceError::new(ErrorKind::Forbidden, "device-not-allowed", text)
            })
    }
}
