//! An index on disk, read in windows: never mapped, never whole.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fleethold_format::digest::ChunkDigest;
use fleethold_format::hash::Sha256;
use fleethold_format::index::{
    DYNAMIC_ENTRY_LEN, DynamicEntry, DynamicHeader, FIXED_ENTRY_LEN, FixedHeader, INDEX_HEADER_LEN,
    IndexError,
};
use fleethold_format::manifest::ManifestFile;
use fleethold_format::names::ArchiveKind;

use crate::error::DatastoreError;

/// Entries read with one system call: 160 KiB of a dynamic index.
const WINDOW_ENTRIES: u64 = 4096;

/// One chunk of an archive.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// Name of the chunk.
    pub digest: ChunkDigest,
    /// Where its data starts in the archive, in bytes.
    pub offset: u64,
    /// Plain bytes: 1 to 16 MiB.
    pub len: u64,
}

#[derive(Debug)]
enum Header {
    Fixed(FixedHeader),
    Dynamic(DynamicHeader),
}

/// An open `.fidx` or `.didx` (FORMAT.md §5, §6). All methods block on the disk and may run in parallel.
#[derive(Debug)]
pub struct IndexFile {
    file: File,
    path: PathBuf,
    header: Header,
    size: u64,
    /// Size and checksum by the manifest.
    expected: Option<ManifestFile>,
}

impl IndexFile {
    /// Opens an index by path, without a manifest to compare with: for tools and tests.
    ///
    /// # Errors
    /// [`DatastoreError::Io`], [`DatastoreError::FileMissing`], [`DatastoreError::Index`],
    /// [`DatastoreError::NotAFile`] when the name says neither fixed nor dynamic.
    pub fn open(path: &Path) -> Result<Self, DatastoreError> {
        let missing = || DatastoreError::FileMissing {
            path: path.to_owned(),
        };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(missing());
        };
        let kind = match path.extension().and_then(|extension| extension.to_str()) {
            Some("fidx") => ArchiveKind::Fixed,
            Some("didx") => ArchiveKind::Dynamic,
            _ => {
                return Err(DatastoreError::NotAFile {
                    path: path.to_owned(),
                });
            }
        };
        let parent = if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        };
        let dir = crate::fs::Dir::open(parent).map_err(DatastoreError::io("open the directory", parent))?;
        let (file, len) = dir.file(Path::new(name))?.ok_or_else(missing)?;
        Self::from_file(file, len, path.to_owned(), kind, None)
    }

    /// Reads and checks the header; of a dynamic index also the last entry, whose end is the size.
    pub(crate) fn from_file(
        file: File,
        file_len: u64,
        path: PathBuf,
        kind: ArchiveKind,
        expected: Option<ManifestFile>,
    ) -> Result<Self, DatastoreError> {
        let failed = |source: IndexError| DatastoreError::Index {
            path: path.clone(),
            source,
        };
        if file_len < INDEX_HEADER_LEN as u64 {
            return Err(failed(IndexError::TooShort { actual: file_len }));
        }
        let mut bytes = [0; INDEX_HEADER_LEN];
        file.read_exact_at(&mut bytes, 0)
            .map_err(DatastoreError::io("read the header of", &path))?;
        let (header, size) = if kind == ArchiveKind::Dynamic {
            let header = DynamicHeader::parse(&bytes, file_len).map_err(failed)?;
            (Header::Dynamic(header), 0)
        } else {
            let header = FixedHeader::parse(&bytes, file_len).map_err(failed)?;
            let size = header.size;
            (Header::Fixed(header), size)
        };
        let mut index = Self {
            file,
            path,
            header,
            size,
            expected,
        };
        if let Header::Dynamic(header) = &index.header {
            index.size = index.dynamic_end(header.entry_count)?;
        }
        if let Some(expected) = &index.expected
            && expected.size != index.size
        {
            return Err(DatastoreError::Size {
                expected: expected.size,
                actual: index.size,
                path: index.path,
            });
        }
        Ok(index)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its entry in the manifest, when it was opened with one.
    pub fn expected(&self) -> Option<&ManifestFile> {
        self.expected.as_ref()
    }

    /// Fixed or dynamic.
    pub fn kind(&self) -> ArchiveKind {
        match self.header {
            Header::Fixed(_) => ArchiveKind::Fixed,
            Header::Dynamic(_) => ArchiveKind::Dynamic,
        }
    }

    /// Plain size of the archive in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Number of chunks; 0 for an empty dynamic index.
    pub fn chunk_count(&self) -> u64 {
        match &self.header {
            Header::Fixed(header) => header.chunk_count(),
            Header::Dynamic(header) => header.entry_count,
        }
    }

    /// Chunk size of a fixed index, in bytes.
    pub fn chunk_size(&self) -> Option<u64> {
        match &self.header {
            Header::Fixed(header) => Some(header.chunk_size),
            Header::Dynamic(_) => None,
        }
    }

    /// The checksum in the header. The reference ignores it: [`IndexFile::verify_csum`] computes it.
    pub fn header_csum(&self) -> [u8; 32] {
        match &self.header {
            Header::Fixed(header) => header.csum,
            Header::Dynamic(header) => header.csum,
        }
    }

    /// Identity of this index.
    pub fn uuid(&self) -> uuid::Uuid {
        match &self.header {
            Header::Fixed(header) => header.uuid,
            Header::Dynamic(header) => header.uuid,
        }
    }

    /// When it was made, in seconds since 1970.
    pub fn ctime(&self) -> i64 {
        match &self.header {
            Header::Fixed(header) => header.ctime,
            Header::Dynamic(header) => header.ctime,
        }
    }

    /// Plain length of chunk `entry`.
    ///
    /// # Errors
    /// [`DatastoreError::NoSuchEntry`], [`DatastoreError::Index`], [`DatastoreError::Io`].
    pub fn chunk_len(&self, entry: u64) -> Result<u64, DatastoreError> {
        self.check_entry(entry)?;
        match &self.header {
            Header::Fixed(header) => Ok(header.chunk_len(entry)),
            Header::Dynamic(_) => Ok(self.entry(entry)?.len),
        }
    }

    /// Name of chunk `entry`.
    ///
    /// # Errors
    /// As [`IndexFile::chunk_len`].
    pub fn digest_at(&self, entry: u64) -> Result<ChunkDigest, DatastoreError> {
        Ok(self.entry(entry)?.digest)
    }

    /// Chunk `entry`.
    ///
    /// # Errors
    /// As [`IndexFile::chunk_len`].
    pub fn entry(&self, entry: u64) -> Result<IndexEntry, DatastoreError> {
        self.check_entry(entry)?;
        let mut out = Vec::with_capacity(1);
        self.entries(entry..entry + 1, &mut out)?;
        out.pop().ok_or_else(|| self.no_such(entry))
    }

    /// Number of the chunk that holds byte `offset`; `None` at or behind the end.
    ///
    /// # Errors
    /// [`DatastoreError::Index`], [`DatastoreError::Io`].
    pub fn chunk_at(&self, offset: u64) -> Result<Option<u64>, DatastoreError> {
        if offset >= self.size {
            return Ok(None);
        }
        match &self.header {
            Header::Fixed(header) => Ok(offset.checked_div(header.chunk_size)),
            Header::Dynamic(header) => {
                let (mut low, mut high) = (0, header.entry_count);
                while low < high {
                    let middle = low + (high - low) / 2;
                    if self.dynamic_end(middle + 1)? <= offset {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                Ok(Some(low).filter(|found| *found < header.entry_count))
            }
        }
    }

    /// Appends the chunks of `range` to `out`. Callers choose windows: 4096 entries are one system call and
    /// 192 KiB of `out`.
    ///
    /// # Errors
    /// [`DatastoreError::NoSuchEntry`] for a range behind the end, [`DatastoreError::Index`] for entries that
    /// run backwards or are too long, [`DatastoreError::Io`].
    pub fn entries(&self, range: Range<u64>, out: &mut Vec<IndexEntry>) -> Result<(), DatastoreError> {
        if range.is_empty() {
            return Ok(());
        }
        self.check_entry(range.end - 1)?;
        match &self.header {
            Header::Fixed(header) => self.windows::<FIXED_ENTRY_LEN>(range, |number, bytes| {
                out.push(IndexEntry {
                    digest: ChunkDigest(*bytes),
                    offset: number.saturating_mul(header.chunk_size),
                    len: header.chunk_len(number),
                });
                Ok(())
            }),
            Header::Dynamic(_) => {
                let mut previous_end = self.dynamic_end(range.start)?;
                self.windows::<DYNAMIC_ENTRY_LEN>(range, |number, bytes| {
                    let entry = DynamicEntry::parse(bytes, number, previous_end)?;
                    out.push(IndexEntry {
                        digest: entry.digest,
                        offset: previous_end,
                        len: entry.end - previous_end,
                    });
                    previous_end = entry.end;
                    Ok(())
                })
            }
        }
    }

    /// Computes the checksum over all entries, checks that they are in order, and compares with the manifest.
    ///
    /// # Errors
    /// [`DatastoreError::Checksum`] when the manifest lists another one, [`DatastoreError::Index`],
    /// [`DatastoreError::Io`].
    pub fn verify_csum(&self) -> Result<[u8; 32], DatastoreError> {
        let mut hasher = Sha256::new();
        let all = 0..self.chunk_count();
        match &self.header {
            Header::Fixed(_) => self.windows::<FIXED_ENTRY_LEN>(all, |_, bytes| {
                hasher.update(bytes);
                Ok(())
            })?,
            Header::Dynamic(_) => {
                let mut previous_end = 0;
                self.windows::<DYNAMIC_ENTRY_LEN>(all, |number, bytes| {
                    hasher.update(bytes);
                    previous_end = DynamicEntry::parse(bytes, number, previous_end)?.end;
                    Ok(())
                })?;
            }
        }
        let actual: [u8; 32] = hasher.finalize();
        match &self.expected {
            Some(expected) if expected.csum != actual => Err(DatastoreError::Checksum {
                path: self.path.clone(),
                expected: hex::encode(expected.csum),
                actual: hex::encode(actual),
            }),
            _ => Ok(actual),
        }
    }

    /// Calls `each` with the bytes of every entry of `range`, which was checked.
    fn windows<const LEN: usize>(
        &self,
        range: Range<u64>,
        mut each: impl FnMut(u64, &[u8; LEN]) -> Result<(), IndexError>,
    ) -> Result<(), DatastoreError> {
        let mut window = Vec::new();
        let mut number = range.start;
        while number < range.end {
            let take = WINDOW_ENTRIES.min(range.end - number);
            // At most 4096 entries of 40 bytes.
            window.resize(usize::try_from(take).unwrap_or(0) * LEN, 0);
            let at = INDEX_HEADER_LEN as u64 + number * LEN as u64;
            self.file
                .read_exact_at(&mut window, at)
                .map_err(DatastoreError::io("read entries of", &self.path))?;
            for bytes in window.as_chunks::<LEN>().0 {
                each(number, bytes).map_err(|source| self.failed(source))?;
                number += 1;
            }
        }
        Ok(())
    }

    /// End of the first `count` entries of a dynamic index: 0 for none.
    fn dynamic_end(&self, count: u64) -> Result<u64, DatastoreError> {
        let Some(last) = count.checked_sub(1) else {
            return Ok(0);
        };
        let mut end = [0; 8];
        self.file
            .read_exact_at(
                &mut end,
                INDEX_HEADER_LEN as u64 + last * DYNAMIC_ENTRY_LEN as u64,
            )
            .map_err(DatastoreError::io("read entries of", &self.path))?;
        Ok(u64::from_le_bytes(end))
    }

    fn check_entry(&self, entry: u64) -> Result<(), DatastoreError> {
        if entry < self.chunk_count() {
            Ok(())
        } else {
            Err(self.no_such(entry))
        }
    }

    fn no_such(&self, entry: u64) -> DatastoreError {
        DatastoreError::NoSuchEntry {
            path: self.path.clone(),
            entry,
            entries: self.chunk_count(),
        }
    }

    fn failed(&self, source: IndexError) -> DatastoreError {
        DatastoreError::Index {
            path: self.path.clone(),
            source,
        }
    }
}
