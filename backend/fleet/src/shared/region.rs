//! Memory that several processes see, as atomic words.

#![expect(
    unsafe_code,
    reason = "mapping memory and looking at it as atomics; every access is checked against the length of the mapping"
)]

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// A mapping, gone when dropped.
#[derive(Debug)]
pub(super) struct Region {
    base: NonNull<u8>,
    /// In bytes, at least [`WORD`] and a multiple of it.
    length: usize,
}

// SAFETY: the memory is only ever reached as `AtomicU64`, and stays mapped as long as the value lives.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

/// Bytes of a word.
const WORD: usize = size_of::<AtomicU64>();

impl Region {
    /// The first `length` bytes of a file that has them; what is written is seen by all who map it.
    pub(super) fn of_file(file: &File, length: usize) -> io::Result<Self> {
        let length = rounded(length);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses. A file that is cut later makes accesses fail with
        // SIGBUS, not with wrong values; nothing cuts it but an administrator.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                protection,
                MapFlags::SHARED,
                file,
                0,
            )
        }?;
        Self::new(base, length)
    }

    /// Zeros that nobody else sees. Memory is taken where something is written.
    pub(super) fn private(length: usize) -> io::Result<Self> {
        let length = rounded(length);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), length, protection, MapFlags::PRIVATE) }?;
        Self::new(base, length)
    }

    fn new(base: *mut std::ffi::c_void, length: usize) -> io::Result<Self> {
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at address zero"))?;
        Ok(Self { base, length })
    }

    /// The word at a byte offset, which is a multiple of [`WORD`] within the mapping.
    pub(super) fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(
            offset.is_multiple_of(WORD) && offset + WORD <= self.length,
            "{offset}"
        );
        // A wrong offset is a bug of ours; it must not become an access outside.
        let offset = offset.min(self.length - WORD) & !(WORD - 1);
        // SAFETY: within the mapping by the line above, aligned as the mapping begins with a page; other processes reach
        // it as an atomic, too.
        unsafe { AtomicU64::from_ptr(self.base.add(offset).as_ptr().cast()) }
    }

    /// The bytes from an offset on, a word at a time: `N` and the offset are multiples of [`WORD`].
    pub(super) fn bytes<const N: usize>(&self, offset: usize) -> [u8; N] {
        let mut bytes = [0; N];
        for (number, chunk) in bytes.chunks_exact_mut(WORD).enumerate() {
            let word = self.word(offset + number * WORD).load(Ordering::SeqCst);
            chunk.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// Writes bytes a word at a time: their number and the offset are multiples of [`WORD`].
    pub(super) fn write(&self, offset: usize, bytes: &[u8]) {
        let (words, _) = bytes.as_chunks::<WORD>();
        for (number, word) in words.iter().enumerate() {
            self.word(offset + number * WORD)
                .store(u64::from_ne_bytes(*word), Ordering::SeqCst);
        }
    }
}

fn rounded(length: usize) -> usize {
    length.max(WORD).next_multiple_of(WORD)
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: mapped in `of_file` or `private` with this length, and no reference outlives the value.
        if let Err(error) = unsafe { munmap(self.base.as_ptr().cast(), self.length) } {
            tracing::warn!(%error, "cannot unmap the shared generation");
        }
    }
}
