//! What the C library's allocator does with large buffers.

#![expect(unsafe_code, reason = "mallopt and malloc_trim have no safe wrapper")]

/// Buffers from this size on are given back to the system when they are freed: 256 KiB. Chunk buffers are larger, and
/// kept by the restore engine's own pool as long as its budget allows.
const MMAP_FROM: libc::c_int = 256 << 10;

/// Pins the threshold, which else grows to the size of the first large buffer that is freed; chunks then come from
/// arenas that keep the memory of the past, and a process may hold a multiple of its budget.
pub fn give_large_buffers_back() {
    // SAFETY: called first thing in `main`, while there is one thread; mallopt only sets a number in the allocator.
    let set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_FROM) };
    debug_assert_eq!(set, 1, "glibc accepts any threshold up to half a heap");
}

/// Gives the memory of small buffers back that were freed: the C library keeps what lies between buffers that live on,
/// and after a file of a million values was read that is hundreds of megabytes. Takes the processor for some
/// milliseconds, and each arena's lock in turn.
pub fn give_free_memory_back() {
    // SAFETY: malloc_trim takes a number and locks what it works on; it touches no memory that is in use.
    unsafe { libc::malloc_trim(0) };
}
