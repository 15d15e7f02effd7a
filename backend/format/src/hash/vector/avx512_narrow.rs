//! Eight lanes with AVX-512's instructions: it rotates, and combines three vectors, in one. Three of them run at once
//! where two of the full width do, so few messages are done sooner.

use std::arch::x86_64::{__m256i, _mm256_ror_epi32, _mm256_srli_epi32, _mm256_ternarylogic_epi32};

use super::avx2::{add, load, splat, store, words};
use super::{K, State, block_at, compress};

compress!("avx2,avx512f,avx512vl", 8);

#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
fn choose(e: __m256i, f: __m256i, g: __m256i) -> __m256i {
    _mm256_ternarylogic_epi32::<0xca>(e, f, g)
}

#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
fn majority(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    _mm256_ternarylogic_epi32::<0xe8>(a, b, c)
}

#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
fn big_sigma0(x: __m256i) -> __m256i {
    xor(
        _mm256_ror_epi32::<2>(x),
        _mm256_ror_epi32::<13>(x),
        _mm256_ror_epi32::<22>(x),
    )
}

#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
fn big_sigma1(x: __m256i) -> __m256i {
    xor(
        _mm256_ror_epi32::<6>(x),
        _mm256_ror_epi32::<11>(x),
        _mm256_ror_epi32::<25>(x),
    )
}

#[target_feature(enable = "avx2,avx512f,avx512vl")]
#[inline]
fn small_sigma0(x: __m256i) -> __m256i {
    xor(
        _mm256_ror_epi32::<7>(x),
        _mm256_ror_epi32::<18>(x),
        _mm256_srli_epi32::<3>(x),
    )
}

#[target_feature(enable = "avx2,avx512f,avx512vl")]
#[inline]
fn small_sigma1(x: __m256i) -> __m256i {
    xor(
        _mm256_ror_epi32::<17>(x),
        _mm256_ror_epi32::<19>(x),
        _mm256_srli_epi32::<10>(x),
    )
}

#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
fn xor(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    _mm256_ternarylogic_epi32::<0x96>(a, b, c)
}
