//! `--to`: a file, a block device, stdout or nothing.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use fleethold_restore::{
    DeviceOptions, DeviceSink, FileOptions, FileSink, Sink, StreamReceiver, StreamSink, TargetError,
};

/// Pieces waiting for stdout; each is at most one chunk.
const STDOUT_PIECES: usize = 4;

/// What `--to` said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Stdout,
    Null,
    Path(PathBuf),
}

impl Target {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "-" => Ok(Self::Stdout),
            "null" => Ok(Self::Null),
            "" => Err("expected a path, - or null, found nothing".to_owned()),
            path => Ok(Self::Path(path.into())),
        }
    }
}

/// How to treat what is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct TargetOptions {
    pub(super) overwrite: bool,
    pub(super) target_is_zero: bool,
}

/// An opened target. `stdout` writes what the sink is given.
pub(super) struct OpenTarget {
    pub(super) sink: Sink,
    pub(super) stdout: Option<JoinHandle<std::io::Result<u64>>>,
}

/// Opens the target; of a file only the temporary name appears.
pub(super) fn open(target: &Target, options: TargetOptions) -> Result<OpenTarget, TargetError> {
    let sink = match target {
        Target::Null => Sink::Null,
        Target::Stdout => {
            let (sink, receiver) = StreamSink::channel(STDOUT_PIECES);
            let stdout = start_stdout(receiver).map_err(|source| TargetError::Io {
                action: "opening",
                path: "stdout".into(),
                source,
            })?;
            return Ok(OpenTarget {
                sink: Sink::Stream(sink),
                stdout: Some(stdout),
            });
        }
        Target::Path(path) if is_block_device(path) => Sink::Device(DeviceSink::open(
            path,
            DeviceOptions {
                target_is_zero: options.target_is_zero,
            },
        )?),
        // A mistyped device name must not fill the memory file system of /dev with an image.
        Target::Path(path) if path.parent() == Some(Path::new("/dev")) => {
            let reason = if path == Path::new("/dev/null") {
                "expected a block device; to read and check only, give --to null"
            } else {
                "expected a block device, found none"
            }
            .to_owned();
            return Err(TargetError::Unsuitable {
                path: path.clone(),
                reason,
            });
        }
        Target::Path(path) => Sink::File(FileSink::create(
            path,
            FileOptions {
                overwrite: options.overwrite,
            },
        )?),
    };
    Ok(OpenTarget { sink, stdout: None })
}

fn is_block_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device())
}

fn start_stdout(receiver: StreamReceiver) -> std::io::Result<JoinHandle<std::io::Result<u64>>> {
    // Not `Stdout` itself: that looks for line ends in every piece.
    let stdout = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    std::thread::Builder::new()
        .name("stdout".to_owned())
        .spawn(move || receiver.write_to(stdout))
}
