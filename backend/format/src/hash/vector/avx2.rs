//! Eight lanes in the registers of AVX2.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_loadu_si256, _mm256_or_si256,
    _mm256_permute2x128_si256, _mm256_set1_epi32, _mm256_setr_epi8, _mm256_shuffle_epi8, _mm256_slli_epi32,
    _mm256_srli_epi32, _mm256_storeu_si256, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64,
    _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _mm256_xor_si256,
};

use super::{BLOCK, K, State, block_at, compress};

compress!("avx2", 8);

#[target_feature(enable = "avx2")]
pub(super) fn load(state: &State<8>) -> [__m256i; 8] {
    // SAFETY: the address is that of 8 words, and needs no alignment.
    state.map(|words| unsafe { _mm256_loadu_si256(words.as_ptr().cast()) })
}

#[target_feature(enable = "avx2")]
pub(super) fn store(hash: [__m256i; 8], state: &mut State<8>) {
    for (words, vector) in state.iter_mut().zip(hash) {
        // SAFETY: the address is that of 8 words, and needs no alignment.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) };
    }
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn words(blocks: &[&[u8; BLOCK]; 8]) -> [__m256i; 16] {
    // SAFETY: the address is that of 64 bytes, of which 32 are read; it needs no alignment.
    let first = blocks.map(|block| unsafe { _mm256_loadu_si256(block.as_ptr().cast()) });
    // SAFETY: the address is that of the last 32 of 64 bytes, and needs no alignment.
    let second = blocks.map(|block| unsafe { _mm256_loadu_si256(block.as_ptr().add(32).cast()) });
    let [a, b, c, d, e, f, g, h] = transpose(first.map(|words| big_endian(words)));
    let [i, j, k, l, m, n, o, p] = transpose(second.map(|words| big_endian(words)));
    [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
}

/// Turns the bytes of each word around.
#[target_feature(enable = "avx2")]
#[inline]
fn big_endian(words: __m256i) -> __m256i {
    let order = _mm256_setr_epi8(
        3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, //
        3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
    );
    _mm256_shuffle_epi8(words, order)
}

/// Makes rows of columns: first within the 128-bit halves, two rows, then four; then across them.
#[target_feature(enable = "avx2")]
#[inline]
fn transpose([a, b, c, d, e, f, g, h]: [__m256i; 8]) -> [__m256i; 8] {
    let [a, b, c, d] = transpose_halves([a, b, c, d]);
    let [e, f, g, h] = transpose_halves([e, f, g, h]);
    [
        _mm256_permute2x128_si256::<0x20>(a, e),
        _mm256_permute2x128_si256::<0x20>(b, f),
        _mm256_permute2x128_si256::<0x20>(c, g),
        _mm256_permute2x128_si256::<0x20>(d, h),
        _mm256_permute2x128_si256::<0x31>(a, e),
        _mm256_permute2x128_si256::<0x31>(b, f),
        _mm256_permute2x128_si256::<0x31>(c, g),
        _mm256_permute2x128_si256::<0x31>(d, h),
    ]
}

#[target_feature(enable = "avx2")]
#[inline]
fn transpose_halves([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (ab_low, ab_high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    [
        _mm256_unpacklo_epi64(ab_low, cd_low),
        _mm256_unpackhi_epi64(ab_low, cd_low),
        _mm256_unpacklo_epi64(ab_high, cd_high),
        _mm256_unpackhi_epi64(ab_high, cd_high),
    ]
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn splat(word: u32) -> __m256i {
    _mm256_set1_epi32(word.cast_signed())
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn add(a: __m256i, b: __m256i) -> __m256i {
    _mm256_add_epi32(a, b)
}

#[target_feature(enable = "avx2")]
#[inline]
fn choose(e: __m256i, f: __m256i, g: __m256i) -> __m256i {
    _mm256_xor_si256(g, _mm256_and_si256(e, _mm256_xor_si256(f, g)))
}

#[target_feature(enable = "avx2")]
#[inline]
fn majority(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    let differ = _mm256_xor_si256(a, b);
    _mm256_xor_si256(_mm256_and_si256(a, b), _mm256_and_si256(c, differ))
}

#[target_feature(enable = "avx2")]
#[inline]
fn big_sigma0(x: __m256i) -> __m256i {
    xor(rotate::<2, 30>(x), rotate::<13, 19>(x), rotate::<22, 10>(x))
}

#[target_feature(enable = "avx2")]
#[inline]
fn big_sigma1(x: __m256i) -> __m256i {
    xor(rotate::<6, 26>(x), rotate::<11, 21>(x), rotate::<25, 7>(x))
}

#[target_feature(enable = "avx2")]
#[inline]
fn small_sigma0(x: __m256i) -> __m256i {
    xor(rotate::<7, 25>(x), rotate::<18, 14>(x), _mm256_srli_epi32::<3>(x))
}

#[target_feature(enable = "avx2")]
#[inline]
fn small_sigma1(x: __m256i) -> __m256i {
    xor(
        rotate::<17, 15>(x),
        rotate::<19, 13>(x),
        _mm256_srli_epi32::<10>(x),
    )
}

/// Rotates right by `R`; `L` is what is missing to 32.
#[target_feature(enable = "avx2")]
#[inline]
fn rotate<const R: i32, const L: i32>(x: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_srli_epi32::<R>(x), _mm256_slli_epi32::<L>(x))
}

#[target_feature(enable = "avx2")]
#[inline]
fn xor(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    _mm256_xor_si256(_mm256_xor_si256(a, b), c)
}
