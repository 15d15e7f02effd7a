//! Sixteen lanes in the registers of AVX-512.

use std::arch::x86_64::{
    __m512i, _mm_setr_epi8, _mm512_add_epi32, _mm512_broadcast_i32x4, _mm512_loadu_si512, _mm512_ror_epi32,
    _mm512_set1_epi32, _mm512_shuffle_epi8, _mm512_shuffle_i32x4, _mm512_srli_epi32, _mm512_storeu_si512,
    _mm512_ternarylogic_epi32, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
    _mm512_unpacklo_epi64,
};

use super::{BLOCK, K, State, block_at, compress};

compress!("avx512f,avx512bw", 16);

#[target_feature(enable = "avx512f")]
fn load(state: &State<16>) -> [__m512i; 8] {
    // SAFETY: the address is that of 16 words, and needs no alignment.
    state.map(|words| unsafe { _mm512_loadu_si512(words.as_ptr().cast()) })
}

#[target_feature(enable = "avx512f")]
fn store(hash: [__m512i; 8], state: &mut State<16>) {
    for (words, vector) in state.iter_mut().zip(hash) {
        // SAFETY: the address is that of 16 words, and needs no alignment.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn words(blocks: &[&[u8; BLOCK]; 16]) -> [__m512i; 16] {
    // Turns the bytes of each word around.
    let order = _mm512_broadcast_i32x4(_mm_setr_epi8(
        3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
    ));
    transpose(blocks.map(|block| {
        // SAFETY: the address is that of 64 bytes, and needs no alignment.
        let words = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        _mm512_shuffle_epi8(words, order)
    }))
}

/// Makes rows of columns: first within the 128-bit quarters, two rows, then four; then across them.
#[target_feature(enable = "avx512f")]
#[inline]
fn transpose([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]: [__m512i; 16]) -> [__m512i; 16] {
    // Quarter q of vector v of one of these holds column 4q + v of its four rows.
    let [a, b, c, d] = transpose_quarters([a, b, c, d]);
    let [e, f, g, h] = transpose_quarters([e, f, g, h]);
    let [i, j, k, l] = transpose_quarters([i, j, k, l]);
    let [m, n, o, p] = transpose_quarters([m, n, o, p]);
    let [c0, c4, c8, c12] = gather_quarters([a, e, i, m]);
    let [c1, c5, c9, c13] = gather_quarters([b, f, j, n]);
    let [c2, c6, c10, c14] = gather_quarters([c, g, k, o]);
    let [c3, c7, c11, c15] = gather_quarters([d, h, l, p]);
    [
        c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15,
    ]
}

#[target_feature(enable = "avx512f")]
#[inline]
fn transpose_quarters([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (ab_low, ab_high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let (cd_low, cd_high) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab_low, cd_low),
        _mm512_unpackhi_epi64(ab_low, cd_low),
        _mm512_unpacklo_epi64(ab_high, cd_high),
        _mm512_unpackhi_epi64(ab_high, cd_high),
    ]
}

/// Vector q of the result is made of the quarters q.
#[target_feature(enable = "avx512f")]
#[inline]
fn gather_quarters([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    const EVEN: i32 = 0x88;
    const ODD: i32 = 0xdd;
    let (ab_even, ab_odd) = (
        _mm512_shuffle_i32x4::<EVEN>(a, b),
        _mm512_shuffle_i32x4::<ODD>(a, b),
    );
    let (cd_even, cd_odd) = (
        _mm512_shuffle_i32x4::<EVEN>(c, d),
        _mm512_shuffle_i32x4::<ODD>(c, d),
    );
    [
        _mm512_shuffle_i32x4::<EVEN>(ab_even, cd_even),
        _mm512_shuffle_i32x4::<EVEN>(ab_odd, cd_odd),
        _mm512_shuffle_i32x4::<ODD>(ab_even, cd_even),
        _mm512_shuffle_i32x4::<ODD>(ab_odd, cd_odd),
    ]
}

#[target_feature(enable = "avx512f")]
#[inline]
fn splat(word: u32) -> __m512i {
    _mm512_set1_epi32(word.cast_signed())
}

#[target_feature(enable = "avx512f")]
#[inline]
fn add(a: __m512i, b: __m512i) -> __m512i {
    _mm512_add_epi32(a, b)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn choose(e: __m512i, f: __m512i, g: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0xca>(e, f, g)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn majority(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0xe8>(a, b, c)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn big_sigma0(x: __m512i) -> __m512i {
    xor(
        _mm512_ror_epi32::<2>(x),
        _mm512_ror_epi32::<13>(x),
        _mm512_ror_epi32::<22>(x),
    )
}

#[target_feature(enable = "avx512f")]
#[inline]
fn big_sigma1(x: __m512i) -> __m512i {
    xor(
        _mm512_ror_epi32::<6>(x),
        _mm512_ror_epi32::<11>(x),
        _mm512_ror_epi32::<25>(x),
    )
}

#[target_feature(enable = "avx512f")]
#[inline]
fn small_sigma0(x: __m512i) -> __m512i {
    xor(
        _mm512_ror_epi32::<7>(x),
        _mm512_ror_epi32::<18>(x),
        _mm512_srli_epi32::<3>(x),
    )
}

#[target_feature(enable = "avx512f")]
#[inline]
fn small_sigma1(x: __m512i) -> __m512i {
    xor(
        _mm512_ror_epi32::<17>(x),
        _mm512_ror_epi32::<19>(x),
        _mm512_srli_epi32::<10>(x),
    )
}

#[target_feature(enable = "avx512f")]
#[inline]
fn xor(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0x96>(a, b, c)
}
