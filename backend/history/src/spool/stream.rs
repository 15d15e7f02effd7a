//! One sequence of records in numbered segment files: appended at the end, read and removed at the front.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::SpoolError;
use super::frame::{self, Frame};

/// A place between two records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    segment: u64,
    offset: u64,
    /// Rows up to here, in that segment.
    rows: u64,
}

/// Payloads, and where they end.
pub(super) type Records = (Vec<Vec<u8>>, Position);

#[derive(Debug)]
struct Segment {
    number: u64,
    path: PathBuf,
    /// Bytes of whole records.
    bytes: u64,
    rows: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Stream {
    dir: PathBuf,
    name: &'static str,
    segment_bytes: u64,
    segments: VecDeque<Segment>,
    /// Where the first segment is read on.
    read: Position,
    /// The last segment, open for appending.
    active: Option<File>,
    next_number: u64,
}

impl Stream {
    /// Opens what an earlier process left. Returns the stream and the number of places that did not read back.
    pub(super) fn open(
        dir: &Path,
        name: &'static str,
        segment_bytes: u64,
    ) -> Result<(Self, u64), SpoolError> {
        let mut found: Vec<(u64, PathBuf)> = std::fs::read_dir(dir)
            .map_err(SpoolError::io("list", dir))?
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let file_name = entry.file_name();
                let number = file_name
                    .to_str()?
                    .strip_prefix(name)?
                    .strip_prefix('-')?
                    .strip_suffix(".spool")?;
                Some((u64::from_str_radix(number, 16).ok()?, entry.path()))
            })
            .collect();
        found.sort();
        let next_number = found.last().map_or(0, |(number, _)| number + 1);
        let mut segments = VecDeque::new();
        let mut damaged = 0;
        for (number, path) in found {
            let (bytes, rows, whole) = scan(&path)?;
            if !whole {
                damaged += 1;
            }
            if bytes == 0 {
                std::fs::remove_file(&path).map_err(SpoolError::io("remove", &path))?;
            } else {
                segments.push_back(Segment {
                    number,
                    path,
                    bytes,
                    rows,
                });
            }
        }
        let read = Position {
            segment: 0,
            offset: 0,
            rows: 0,
        };
        let mut stream = Self {
            dir: dir.to_owned(),
            name,
            segment_bytes,
            segments,
            read,
            active: None,
            next_number,
        };
        stream.rewind();
        Ok((stream, damaged))
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Rows that were not acknowledged yet.
    pub(super) fn rows(&self) -> u64 {
        self.segments.iter().map(|segment| segment.rows).sum::<u64>() - self.read.rows
    }

    /// Adds a record; with `sync` it is on the disk when this returns. After an error the stream is as it was.
    pub(super) fn append(&mut self, framed: &[u8], weight: u32, sync: bool) -> Result<(), SpoolError> {
        let len = framed.len() as u64;
        let full = self
            .segments
            .back()
            .is_none_or(|last| last.bytes + len > self.segment_bytes);
        if full || self.active.is_none() {
            self.start_segment()?;
        }
        let (Some(file), Some(last)) = (&mut self.active, self.segments.back_mut()) else {
            return Err(SpoolError::Stopped);
        };
        let written = file
            .write_all(framed)
            .and_then(|()| if sync { file.sync_data() } else { Ok(()) });
        if let Err(source) = written {
            let error = SpoolError::Io {
                action: "append to",
                path: last.path.clone(),
                source,
            };
            // Half a record must not stand before the next one. If it cannot be cut off, the next one starts a segment.
            if file.set_len(last.bytes).is_err() {
                self.active = None;
            }
            return Err(error);
        }
        last.bytes += len;
        last.rows += u64::from(weight);
        Ok(())
    }

    fn start_segment(&mut self) -> Result<(), SpoolError> {
        self.sync()?;
        let number = self.next_number;
        let path = self.dir.join(format!("{}-{number:016x}.spool", self.name));
        let file = File::options()
            .append(true)
            .create_new(true)
            .open(&path)
            .map_err(SpoolError::io("create", &path))?;
        File::open(&self.dir)
            .and_then(|dir| dir.sync_all())
            .map_err(SpoolError::io("sync", &self.dir))?;
        self.next_number += 1;
        self.active = Some(file);
        self.segments.push_back(Segment {
            number,
            path,
            bytes: 0,
            rows: 0,
        });
        if self.segments.len() == 1 {
            self.rewind();
        }
        Ok(())
    }

    /// Has everything on the disk.
    pub(super) fn sync(&mut self) -> Result<(), SpoolError> {
        match (&self.active, self.segments.back()) {
            (Some(file), Some(last)) => file.sync_data().map_err(SpoolError::io("sync", &last.path)),
            _ => Ok(()),
        }
    }

    /// The next records, about `max_bytes` of them, and where they end. They stay until [`Stream::acknowledge`].
    pub(super) fn read(&mut self, max_bytes: usize) -> Result<Option<Records>, SpoolError> {
        if self
            .segments
            .front()
            .is_some_and(|first| first.bytes <= self.read.offset)
        {
            // It has arrived, and could not be removed then.
            self.drop_first()?;
        }
        let Some(first) = self.segments.front() else {
            return Ok(None);
        };
        // A segment is small, and `bytes` is our own count, not one from the disk.
        let mut content = std::fs::read(&first.path).map_err(SpoolError::io("read", &first.path))?;
        content.truncate(usize::try_from(first.bytes).unwrap_or(usize::MAX));
        let mut end = self.read;
        let mut payloads = Vec::new();
        let mut taken = 0;
        while taken < max_bytes {
            let rest = usize::try_from(end.offset)
                .ok()
                .and_then(|at| content.get(at..))
                .unwrap_or_default();
            match frame::decode(rest) {
                Frame::Whole { weight, payload, len } => {
                    payloads.push(payload.to_vec());
                    taken += len;
                    end.offset += len as u64;
                    end.rows += u64::from(weight);
                }
                Frame::End => break,
                Frame::Torn | Frame::Damaged => {
                    return Err(SpoolError::BadFile {
                        path: first.path.clone(),
                        found: format!("no record at byte {}", end.offset),
                        expected: "the record that was written",
                    });
                }
            }
        }
        Ok((!payloads.is_empty()).then_some((payloads, end)))
    }

    /// Forgets what was read. Does nothing if the segment was dropped meanwhile.
    pub(super) fn acknowledge(&mut self, end: Position) -> Result<(), SpoolError> {
        if self
            .segments
            .front()
            .is_none_or(|first| first.number != end.segment)
        {
            return Ok(());
        }
        self.read = end;
        if self
            .segments
            .front()
            .is_some_and(|first| first.bytes <= end.offset)
        {
            self.drop_first()?;
        }
        Ok(())
    }

    /// Removes the first segment; returns the rows in it that nobody had acknowledged, `None` if there is no segment.
    pub(super) fn drop_first(&mut self) -> Result<Option<u64>, SpoolError> {
        let Some(first) = self.segments.front() else {
            return Ok(None);
        };
        std::fs::remove_file(&first.path).map_err(SpoolError::io("remove", &first.path))?;
        let lost = first.rows - self.read.rows;
        self.segments.pop_front();
        if self.segments.is_empty() {
            self.active = None;
        }
        self.rewind();
        Ok(Some(lost))
    }

    fn rewind(&mut self) {
        let segment = self.segments.front().map_or(0, |first| first.number);
        self.read = Position {
            segment,
            offset: 0,
            rows: 0,
        };
    }
}

/// Counts the whole records of a segment and cuts off what follows them. Answers bytes, rows, and whether that was no
/// more than a record torn by a crash.
fn scan(path: &Path) -> Result<(u64, u64, bool), SpoolError> {
    let content = std::fs::read(path).map_err(SpoolError::io("read", path))?;
    let (mut offset, mut rows) = (0, 0);
    let stopped_at = loop {
        match frame::decode(content.get(offset..).unwrap_or_default()) {
            Frame::Whole { weight, len, .. } => {
                offset += len;
                rows += u64::from(weight);
            }
            other => break other,
        }
    };
    let whole = stopped_at != Frame::Damaged;
    if !whole {
        let copy = path.with_extension("damaged");
        std::fs::copy(path, &copy).map_err(SpoolError::io("copy", path))?;
        tracing::error!(file = %path.display(), offset, copy = %copy.display(), "spool segment is damaged: the rest of it is lost");
    }
    if offset < content.len() {
        tracing::warn!(file = %path.display(), offset, len = content.len(), "cutting off what does not read back");
        File::options()
            .write(true)
            .open(path)
            .and_then(|file| file.set_len(offset as u64).and_then(|()| file.sync_all()))
            .map_err(SpoolError::io("truncate", path))?;
    }
    Ok((offset as u64, rows, whole))
}
