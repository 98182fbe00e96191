// simd.h over AVX-512 with VNNI: a vector is one register.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12 warns inside its own intrinsics (GCC bug 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace scratchy::cpu {

inline constexpr const char* kSimdName = "avx512-vnni";
inline constexpr int kSimdRegisters = 32;

struct F32x16 {
  __m512 v;
};
struct I32x16 {
  __m512i v;
};
struct B8x64 {
  __m512i v;
};

inline F32x16 f32_zero() { return {_mm512_setzero_ps()}; }
inline F32x16 f32_splat(float x) { return {_mm512_set1_ps(x)}; }
inline F32x16 f32_load(const void* p) { return {_mm512_loadu_ps(p)}; }
inline void f32_store(float* p, F32x16 a) { _mm512_storeu_ps(p, a.v); }
inline F32x16 f32_load_f16(const void* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
inline F32x16 f32_load_bf16(const void* p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}
inline F32x16 add(F32x16 a, F32x16 b) { return {_mm512_add_ps(a.v, b.v)}; }
inline F32x16 mul(F32x16 a, F32x16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline F32x16 negate(F32x16 a) {
  return {_mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a.v), _mm512_set1_epi32(INT32_MIN)))};
}
inline F32x16 max_abs(F32x16 a, F32x16 b) { return {_mm512_max_ps(_mm512_abs_ps(b.v), _mm512_abs_ps(a.v))}; }
inline float reduce_max(F32x16 a) { return _mm512_reduce_max_ps(a.v); }
inline F32x16 to_f32(I32x16 a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline F32x16 bits_as_f32(I32x16 a) { return {_mm512_castsi512_ps(a.v)}; }
inline F32x16 lookup_f32(F32x16 table, I32x16 index) { return {_mm512_permutexvar_ps(index.v, table.v)}; }

inline I32x16 i32_zero() { return {_mm512_setzero_si512()}; }
inline I32x16 i32_splat(int32_t x) { return {_mm512_set1_epi32(x)}; }
inline I32x16 i32_load_u8(const uint8_t* p) {
  return {_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
inline I32x16 i32_load_i8(const uint8_t* p) {
  return {_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
inline I32x16 sub(I32x16 a, I32x16 b) { return {_mm512_sub_epi32(a.v, b.v)}; }
inline I32x16 add(I32x16 a, I32x16 b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline I32x16 bit_and(I32x16 a, int32_t mask) { return {_mm512_and_si512(a.v, _mm512_set1_epi32(mask))}; }
inline I32x16 bit_or(I32x16 a, I32x16 b) { return {_mm512_or_si512(a.v, b.v)}; }
template <int kBits>
I32x16 shift_left(I32x16 a) {
  return {_mm512_slli_epi32(a.v, kBits)};
}
template <int kBits>
I32x16 shift_right(I32x16 a) {
  return {_mm512_srli_epi32(a.v, kBits)};
}
inline I32x16 round_to_i32(F32x16 a) { return {_mm512_cvtps_epi32(a.v)}; }
inline int32_t reduce_add(I32x16 a) { return _mm512_reduce_add_epi32(a.v); }

inline B8x64 b8_load(const void* p) { return {_mm512_loadu_si512(p)}; }
inline void b8_store(void* p, B8x64 a) { _mm512_storeu_si512(p, a.v); }
inline B8x64 b8_and(B8x64 a, uint8_t mask) {
  return {_mm512_and_si512(a.v, _mm512_set1_epi8(static_cast<char>(mask)))};
}
inline B8x64 b8_or(B8x64 a, B8x64 b) { return {_mm512_or_si512(a.v, b.v)}; }
// Shifts work on 16-bit pieces: bits cross from byte to byte, so a mask follows (or is known not to be needed).
template <int kBits>
B8x64 b8_shift_right(B8x64 a) {
  return {_mm512_srli_epi16(a.v, kBits)};
}
template <int kBits>
B8x64 b8_shift_left(B8x64 a) {
  return {_mm512_slli_epi16(a.v, kBits)};
}
inline B8x64 b8_lookup(const uint8_t* table, B8x64 index) {
  const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return {_mm512_shuffle_epi8(_mm512_broadcast_i32x4(entries), index.v)};
}
inline I32x16 as_i32(B8x64 a) { return {a.v}; }

// A code is two bytes, 128 * high + low: two dot products of bytes, the first moved up by 7 bits, are that of the code.
struct DotCodes {
  int8_t high[32], low[32];
};

// high = floor((code + 64) / 128), low in -64 .. 63; what is shifted is made positive first.
inline void store_half(I32x16 codes, int8_t* high, int8_t* low) {
  const I32x16 upper = sub(shift_right<7>(add(codes, i32_splat(128 * 128 + 64))), i32_splat(128));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(high), _mm512_cvtepi32_epi8(upper.v));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(low), _mm512_cvtepi32_epi8(sub(codes, shift_left<7>(upper)).v));
}
inline void store_codes(I32x16 first, I32x16 second, DotCodes* out) {
  store_half(first, out->high, out->low);
  store_half(second, out->high + 16, out->low + 16);
}
inline int32_t code_at(const DotCodes& codes, int k) { return 128 * codes.high[k] + codes.low[k]; }

template <int kBits>
using DotWeights = B8x64;
template <int kBits>
SCRATCHY_INLINE B8x64 dot_weights(B8x64 codes) {
  return codes;
}

template <int kFirst, int kCount, int kPanels>
SCRATCHY_INLINE void dot_bytes(const B8x64 (*w)[8], const int8_t* x, I32x16* sum) {
#pragma GCC unroll 8
  for (int j = kFirst; j < kFirst + kCount; ++j) {
    int32_t four;
    std::memcpy(&four, x + 4 * j, 4);
    const __m512i splat = _mm512_set1_epi32(four);
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) sum[p].v = _mm512_dpbusd_epi32(sum[p].v, w[p][j].v, splat);
  }
}

// One panel alone has too few products in flight to hide their latency: its halves are then separate chains.
template <int kBits, int kFirst, int kCount, int kPanels>
SCRATCHY_INLINE void dot_codes(const B8x64 (*w)[8], const DotCodes& x, I32x16 start, I32x16* dot) {
  for (int p = 0; p < kPanels; ++p) dot[p] = i32_zero();
  dot_bytes<kFirst, kCount, kPanels>(w, x.high, dot);
  if constexpr (kPanels == 1) {
    I32x16 low = start;
    dot_bytes<kFirst, kCount, 1>(w, x.low, &low);
    dot[0] = add(shift_left<7>(dot[0]), low);
  } else {
    for (int p = 0; p < kPanels; ++p) dot[p] = add(shift_left<7>(dot[p]), start);
    dot_bytes<kFirst, kCount, kPanels>(w, x.low, dot);
  }
}

// acc + low(w) * low(x) + high(w) * high(x) in every lane: w two bf16 a lane, x two bf16.
inline F32x16 dot2_bf16(F32x16 acc, B8x64 w, const uint16_t* x) {
  int32_t pair;
  std::memcpy(&pair, x, 4);
  const __m512i both = _mm512_set1_epi32(pair);
#if defined(__AVX512BF16__)
  return {_mm512_dpbf16_ps(acc.v, reinterpret_cast<__m512bh>(w.v), reinterpret_cast<__m512bh>(both))};
#else
  const __m512i high = _mm512_set1_epi32(static_cast<int32_t>(0xffff0000u));
  const __m512 odd = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_and_si512(w.v, high)),
                                     _mm512_castsi512_ps(_mm512_and_si512(both, high)), acc.v);
  return {_mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(w.v, 16)),
                          _mm512_castsi512_ps(_mm512_slli_epi32(both, 16)), odd)};
#endif
}

}  // namespace scratchy::cpu
