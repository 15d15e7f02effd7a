//! A block device, taken exclusively.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, FileType, Mode, OFlags, SeekFrom, fallocate, fstat, fsync, open, seek};
use rustix::io::Errno;

use super::TargetError;

/// Zeros written at once where the device cannot zero by itself.
const ZEROS: &[u8] = &[0; 64 << 10];

/// What is known about the device.
#[derive(Copy, Clone, Debug, Default)]
pub struct DeviceOptions {
    /// The device reads as zeros everywhere (fresh thin volume): zeros are skipped.
    pub target_is_zero: bool,
}

/// A block device being overwritten from its start.
#[derive(Debug)]
pub struct DeviceSink {
    file: File,
    path: PathBuf,
    size: u64,
    target_is_zero: bool,
}

impl DeviceSink {
    /// Opens the device exclusively: the kernel refuses one that is mounted, or in use by swap, RAID or device mapper.
    ///
    /// # Errors
    /// [`TargetError::Unsuitable`] when it is no block device, in use, or its size is unknown.
    pub fn open(path: &Path, options: DeviceOptions) -> Result<Self, TargetError> {
        let unsuitable = |reason: String| TargetError::Unsuitable {
            path: path.to_owned(),
            reason,
        };
        let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = open(path, flags, Mode::empty()).map_err(|error| match error {
            Errno::BUSY => {
                unsuitable("expected a free device, found it mounted or otherwise in use".to_owned())
            }
            Errno::ISDIR => unsuitable("expected a block device, found a directory".to_owned()),
            other => TargetError::io("opening", path, other),
        })?;
        let stat = fstat(&file).map_err(|error| TargetError::io("examining", path, error))?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if !kind.is_block_device() {
            return Err(unsuitable(format!("expected a block device, found {kind:?}")));
        }
        let size =
            seek(&file, SeekFrom::End(0)).map_err(|error| TargetError::io("measuring", path, error))?;
        Ok(Self {
            file: File::from(file),
            path: path.to_owned(),
            size,
            target_is_zero: options.target_is_zero,
        })
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses an archive that does not fit.
    pub(crate) fn check_size(&self, bytes: u64) -> Result<(), TargetError> {
        if bytes <= self.size {
            return Ok(());
        }
        let reason = format!("expected at least {bytes} bytes, the device has {}", self.size);
        Err(TargetError::Unsuitable {
            path: self.path.clone(),
            reason,
        })
    }

    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), TargetError> {
        self.file
            .write_all_at(bytes, offset)
            .map_err(|error| TargetError::io("writing", &self.path, error))
    }

    /// Whether zeros have to be written.
    pub(crate) fn needs_zeros(&self) -> bool {
        !self.target_is_zero
    }

    /// Zeroes a range: by the device itself when it can, else by writing.
    pub(crate) fn zero(&self, offset: u64, len: u64) -> Result<(), TargetError> {
        // On a block device punching a hole means "read as zeros from now on", or an error.
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if fallocate(&self.file, punch, offset, len).is_ok() {
            return Ok(());
        }
        // Not supported, or not aligned to its blocks; a real fault shows in the write.
        let end = offset.saturating_add(len);
        let mut at = offset;
        while at < end {
            let piece = usize::try_from(end - at).unwrap_or(usize::MAX).min(ZEROS.len());
            self.write_at(ZEROS.get(..piece).unwrap_or(ZEROS), at)?;
            at += piece as u64;
        }
        Ok(())
    }

    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, TargetError> {
        self.file
            .read_at(buffer, offset)
            .map_err(|error| TargetError::io("reading back", &self.path, error))
    }

    /// Makes the content durable.
    pub(crate) fn sync(&self) -> Result<(), TargetError> {
        fsync(&self.file).map_err(|error| TargetError::io("syncing", &self.path, error))
    }
}
