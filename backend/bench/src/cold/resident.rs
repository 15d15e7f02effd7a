//! Which pages of a file are in memory: `mincore` on a mapping that nobody reads from.
#![expect(
    unsafe_code,
    reason = "mincore and the mapping it asks about have no safe interface; nothing behind the mapping is ever read"
)]

use std::fs::File;
use std::io;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Pages of the file that are in the page cache.
///
/// # Errors
/// When the file cannot be mapped. A kernel that does not tell says of every page that it is there.
pub(super) fn pages(file: &File) -> io::Result<usize> {
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    if length == 0 {
        return Ok(0);
    }
    let page = rustix::param::page_size();
    let mut found = vec![0_u8; length.div_ceil(page)];
    // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing of ours.
    let start = unsafe {
        mmap(
            std::ptr::null_mut(),
            length,
            ProtFlags::READ,
            MapFlags::SHARED,
            file,
            0,
        )
    }?;
    // SAFETY: `start` is the mapping's first page, `length` its length, and `found` has a byte for each page of it.
    let answer = unsafe { libc::mincore(start, length, found.as_mut_ptr()) };
    let answer = if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    };
    // SAFETY: the mapping is ours alone, and no reference into it exists.
    unsafe { munmap(start, length) }?;
    answer?;
    // Only the lowest bit means something.
    Ok(found.iter().filter(|byte| *byte & 1 == 1).count())
}
