//! Decoding chunks allocates nothing once the buffers have grown.
#![expect(unsafe_code, reason = "an allocator that counts can only be written so")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use fleethold_format::blob::{BlobDecoder, BlobEncoder, EncodeOptions};
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::digest::ChunkDigest;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting the calls of each thread.
struct Counting;

// SAFETY: every call is passed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `System.alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn steady_state() {
    let key = CryptKey::new([9; 32]).unwrap();
    let plain: Vec<u8> = (0..1_u32 << 20).map(|i| (i / 100) as u8).collect();
    let mut chunks = Vec::new();
    for (compress, key) in [
        (false, None),
        (true, None),
        (false, Some(&key)),
        (true, Some(&key)),
    ] {
        let raw = BlobEncoder::new()
            .encode(&plain, EncodeOptions { compress, key })
            .unwrap();
        let mode = if key.is_some() {
            CryptMode::Encrypt
        } else {
            CryptMode::None
        };
        chunks.push((raw, ChunkDigest::of_maybe_keyed(&plain, key), mode));
    }
    let mut decoder = BlobDecoder::new();
    let mut out = vec![0; plain.len()];
    let mut round = || {
        let before = ALLOCATIONS.get();
        for (raw, digest, mode) in &chunks {
            decoder
                .decode_chunk(raw, digest, *mode, Some(&key), &mut out)
                .unwrap();
        }
        ALLOCATIONS.get() - before
    };
    assert!(
        round() > 0,
        "the first round makes the buffers: the counter works"
    );
    assert_eq!(round(), 0);
}
