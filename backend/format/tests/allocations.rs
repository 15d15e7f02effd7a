//! Decoding chunks allocates nothing once the buffers have grown.
#![expect(unsafe_code, reason = "an allocator that counts can only be written so")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use fleethold_format::blob::{BlobDecoder, BlobEncoder, EncodeOptions};
use fleethold_format::crypt::{CryptKey, CryptMode};
use fleethold_format::digest::ChunkDigest;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static LIVE_BYTES: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, counting the calls of each thread.
struct Counting;

// SAFETY: every call is passed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        LIVE_BYTES.with(|live| live.set(live.get() + layout.size() as i64));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.with(|live| live.set(live.get() - layout.size() as i64));
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
    let before = ALLOCATIONS.get();
    let mut out = vec![0; plain.len()];
    assert!(ALLOCATIONS.get() > before, "the counter works");
    let mut round = || {
        // Decoding leaves nothing of the stored chunk.
        let mut stored = chunks.clone();
        let before = ALLOCATIONS.get();
        for (raw, digest, mode) in &mut stored {
            decoder
                .decode_chunk_in_place(raw, digest, *mode, Some(&key), &mut out)
                .unwrap();
        }
        ALLOCATIONS.get() - before
    };
    // The first round may make contexts.
    round();
    assert_eq!(round(), 0);
}

/// Encrypted and compressed: what is decrypted has to be somewhere until it is decompressed.
#[test]
fn a_decoder_keeps_no_data_between_two_chunks() {
    let key = CryptKey::new([9; 32]).unwrap();
    // Compresses a little: two bits of each byte are always the same.
    let mut state = 1_u32;
    let plain: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 26) as u8
    })
    .take(16 << 20)
    .collect();
    let options = EncodeOptions {
        compress: true,
        key: Some(&key),
    };
    let raw = BlobEncoder::new().encode(&plain, options).unwrap();
    assert!((8 << 20..15 << 20).contains(&raw.len()), "{}", raw.len());
    let digest = ChunkDigest::of_keyed(&plain, &key);
    let (mut stored, mut out) = (raw.clone(), vec![0; plain.len()]);
    let mut decoder = BlobDecoder::new();
    let before = LIVE_BYTES.get();
    decoder
        .decode_chunk_in_place(&mut stored, &digest, CryptMode::Encrypt, Some(&key), &mut out)
        .unwrap();
    assert!(out == plain);
    let blob = decoder.decode_blob(&raw, None, Some(&key), 16 << 20).unwrap();
    assert!(blob == plain);
    drop(blob);
    let kept = LIVE_BYTES.get() - before;
    assert!(kept < 1 << 20, "{kept} bytes");
}
