// simd.h over AVX2, FMA and F16C: a vector is two registers.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace scratchy::cpu {

inline constexpr const char* kSimdName = "avx2";
inline constexpr int kSimdRegisters = 16;

struct F32x16 {
  __m256 a, b;
};
struct I32x16 {
  __m256i a, b;
};
struct B8x64 {
  __m256i a, b;
};

inline F32x16 f32_zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline F32x16 f32_splat(float x) {
  const __m256 v = _mm256_set1_ps(x);
  return {v, v};
}
inline F32x16 f32_load(const void* p) {
  const float* f = static_cast<const float*>(p);
  return {_mm256_loadu_ps(f), _mm256_loadu_ps(f + 8)};
}
inline void f32_store(float* p, F32x16 x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
inline F32x16 f32_load_f16(const void* p) {
  const __m128i* h = static_cast<const __m128i*>(p);
  return {_mm256_cvtph_ps(_mm_loadu_si128(h)), _mm256_cvtph_ps(_mm_loadu_si128(h + 1))};
}
inline F32x16 f32_load_bf16(const void* p) {
  const __m128i* h = static_cast<const __m128i*>(p);
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(h)), 16)),
          _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(h + 1)), 16))};
}
inline F32x16 add(F32x16 x, F32x16 y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
inline F32x16 mul(F32x16 x, F32x16 y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
inline F32x16 fma(F32x16 x, F32x16 y, F32x16 z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
inline F32x16 negate(F32x16 x) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_xor_ps(x.a, sign), _mm256_xor_ps(x.b, sign)};
}
inline F32x16 max_abs(F32x16 x, F32x16 y) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_max_ps(_mm256_andnot_ps(sign, y.a), _mm256_andnot_ps(sign, x.a)),
          _mm256_max_ps(_mm256_andnot_ps(sign, y.b), _mm256_andnot_ps(sign, x.b))};
}
inline float reduce_max(F32x16 x) {
  const __m256 m = _mm256_max_ps(x.a, x.b);
  __m128 q = _mm_max_ps(_mm256_castps256_ps128(m), _mm256_extractf128_ps(m, 1));
  q = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}
inline F32x16 to_f32(I32x16 x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
inline F32x16 bits_as_f32(I32x16 x) { return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)}; }
inline F32x16 lookup_f32(F32x16 table, I32x16 index) {
  const auto half = [&](__m256i i) {
    const __m256 upper = _mm256_castsi256_ps(_mm256_slli_epi32(i, 28));  // bit 3 becomes the sign: which half
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(table.a, i), _mm256_permutevar8x32_ps(table.b, i), upper);
  };
  return {half(index.a), half(index.b)};
}

inline I32x16 i32_zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
inline I32x16 i32_splat(int32_t x) {
  const __m256i v = _mm256_set1_epi32(x);
  return {v, v};
}
inline I32x16 i32_load_u8(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
}
inline I32x16 i32_load_i8(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_cvtepi8_epi32(bytes), _mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))};
}
inline I32x16 sub(I32x16 x, I32x16 y) { return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)}; }
inline I32x16 add(I32x16 x, I32x16 y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
inline I32x16 bit_and(I32x16 x, int32_t mask) {
  const __m256i m = _mm256_set1_epi32(mask);
  return {_mm256_and_si256(x.a, m), _mm256_and_si256(x.b, m)};
}
inline I32x16 bit_or(I32x16 x, I32x16 y) { return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)}; }
template <int kBits>
I32x16 shift_left(I32x16 x) {
  return {_mm256_slli_epi32(x.a, kBits), _mm256_slli_epi32(x.b, kBits)};
}
template <int kBits>
I32x16 shift_right(I32x16 x) {
  return {_mm256_srli_epi32(x.a, kBits), _mm256_srli_epi32(x.b, kBits)};
}
inline I32x16 round_to_i32(F32x16 x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
inline int32_t reduce_add(I32x16 x) {
  const __m256i s = _mm256_add_epi32(x.a, x.b);
  __m128i q = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
  q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(q, _mm_shuffle_epi32(q, 0xb1)));
}

inline B8x64 b8_load(const void* p) {
  const __m256i* v = static_cast<const __m256i*>(p);
  return {_mm256_loadu_si256(v), _mm256_loadu_si256(v + 1)};
}
inline void b8_store(void* p, B8x64 x) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), x.a);
  _mm256_storeu_si256(static_cast<__m256i*>(p) + 1, x.b);
}
inline B8x64 b8_and(B8x64 x, uint8_t mask) {
  const __m256i m = _mm256_set1_epi8(static_cast<char>(mask));
  return {_mm256_and_si256(x.a, m), _mm256_and_si256(x.b, m)};
}
inline B8x64 b8_or(B8x64 x, B8x64 y) { return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)}; }
template <int kBits>
B8x64 b8_shift_right(B8x64 x) {
  return {_mm256_srli_epi16(x.a, kBits), _mm256_srli_epi16(x.b, kBits)};
}
template <int kBits>
B8x64 b8_shift_left(B8x64 x) {
  return {_mm256_slli_epi16(x.a, kBits), _mm256_slli_epi16(x.b, kBits)};
}
inline B8x64 b8_lookup(const uint8_t* table, B8x64 index) {
  const __m256i t = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  return {_mm256_shuffle_epi8(t, index.a), _mm256_shuffle_epi8(t, index.b)};
}
inline I32x16 as_i32(B8x64 x) { return {x.a, x.b}; }

// A code is kept twice. Codes of weights of up to 6 bits multiply its two bytes, 128 * high + low; 8-bit ones would saturate
// and multiply it as 16 bits, of each four columns 0 and 2 before 1 and 3.
struct DotCodes {
  int16_t codes[32];
  int8_t high[32], low[32];
};

inline __m256i pack_words(I32x16 x) { return _mm256_permute4x64_epi64(_mm256_packs_epi32(x.a, x.b), 0xd8); }
inline void store_half(I32x16 codes, int16_t* out, int8_t* high, int8_t* low) {
  const __m256i words = pack_words(codes);
  const __m256i order = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_shuffle_epi8(words, order));
  // high = floor((code + 64) / 128), low in -64 .. 63.
  const __m256i upper = _mm256_srai_epi16(_mm256_add_epi16(words, _mm256_set1_epi16(64)), 7);
  const __m256i lower = _mm256_sub_epi16(words, _mm256_slli_epi16(upper, 7));
  const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(upper, lower), 0xd8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(high), _mm256_castsi256_si128(bytes));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(low), _mm256_extracti128_si256(bytes, 1));
}
inline void store_codes(I32x16 first, I32x16 second, DotCodes* out) {
  store_half(first, out->codes, out->high, out->low);
  store_half(second, out->codes + 16, out->high + 16, out->low + 16);
}
inline int32_t code_at(const DotCodes& codes, int k) { return 128 * codes.high[k] + codes.low[k]; }

inline __m256i splat4(const void* x) {
  int32_t four;
  std::memcpy(&four, x, 4);
  return _mm256_set1_epi32(four);
}

// Weights of up to 6 bits: bytes. 254 * (2^bits - 1) a step lets 8 steps of 4 bits, 4 of 5 or 2 of 6 be added in 16 bits.
template <int kBits>
struct DotWeights {
  B8x64 codes;
};
template <int kBits>
SCRATCHY_INLINE DotWeights<kBits> dot_weights(B8x64 codes) {
  return {codes};
}

template <int kBits, int kFirst, int kCount>
SCRATCHY_INLINE I32x16 dot_bytes(const DotWeights<kBits>* w, const int8_t* x, I32x16 sum) {
  constexpr int kFit = kBits <= 4 ? 8 : kBits == 5 ? 4 : 2;
  constexpr int kRun = kFit < kCount ? kFit : kCount;
  const __m256i ones = _mm256_set1_epi16(1);
#pragma GCC unroll 8
  for (int j = kFirst; j < kFirst + kCount; j += kRun) {
    __m256i four = splat4(x + 4 * j);
    __m256i a = _mm256_maddubs_epi16(w[j].codes.a, four);
    __m256i b = _mm256_maddubs_epi16(w[j].codes.b, four);
#pragma GCC unroll 8
    for (int i = 1; i < kRun; ++i) {
      four = splat4(x + 4 * (j + i));
      a = _mm256_add_epi16(a, _mm256_maddubs_epi16(w[j + i].codes.a, four));
      b = _mm256_add_epi16(b, _mm256_maddubs_epi16(w[j + i].codes.b, four));
    }
    sum.a = _mm256_add_epi32(sum.a, _mm256_madd_epi16(a, ones));
    sum.b = _mm256_add_epi32(sum.b, _mm256_madd_epi16(b, ones));
  }
  return sum;
}

template <int kBits, int kFirst, int kCount>
SCRATCHY_INLINE I32x16 dot_panel(const DotWeights<kBits>* w, const DotCodes& x, I32x16 start) {
  const I32x16 high = dot_bytes<kBits, kFirst, kCount>(w, x.high, i32_zero());
  return dot_bytes<kBits, kFirst, kCount>(w, x.low, add(shift_left<7>(high), start));
}

// 8 bits: pairs of 16 bits, columns 0 and 2, 1 and 3, of the outputs in a and in b.
template <>
struct DotWeights<8> {
  __m256i even_a, odd_a, even_b, odd_b;
};
template <>
SCRATCHY_INLINE DotWeights<8> dot_weights<8>(B8x64 codes) {
  const __m256i low = _mm256_set1_epi16(0xff);
  return {_mm256_and_si256(codes.a, low), _mm256_srli_epi16(codes.a, 8), _mm256_and_si256(codes.b, low), _mm256_srli_epi16(codes.b, 8)};
}

template <int, int kFirst, int kCount>
SCRATCHY_INLINE I32x16 dot_panel(const DotWeights<8>* w, const DotCodes& x, I32x16 sum) {
#pragma GCC unroll 8
  for (int j = kFirst; j < kFirst + kCount; ++j) {
    const __m256i even = splat4(x.codes + 4 * j), odd = splat4(x.codes + 4 * j + 2);
    sum.a = _mm256_add_epi32(sum.a, _mm256_madd_epi16(w[j].even_a, even));
    sum.b = _mm256_add_epi32(sum.b, _mm256_madd_epi16(w[j].even_b, even));
    sum.a = _mm256_add_epi32(sum.a, _mm256_madd_epi16(w[j].odd_a, odd));
    sum.b = _mm256_add_epi32(sum.b, _mm256_madd_epi16(w[j].odd_b, odd));
  }
  return sum;
}

template <int kBits, int kFirst, int kCount, int kPanels>
SCRATCHY_INLINE void dot_codes(const DotWeights<kBits> (*w)[8], const DotCodes& x, I32x16 start, I32x16* dot) {
  for (int p = 0; p < kPanels; ++p) dot[p] = dot_panel<kBits, kFirst, kCount>(w[p], x, start);
}

inline F32x16 dot2_bf16(F32x16 acc, B8x64 w, const uint16_t* x) {
  int32_t pair;
  std::memcpy(&pair, x, 4);
  const __m256i both = _mm256_set1_epi32(pair);
  const __m256i mask = _mm256_set1_epi32(static_cast<int32_t>(0xffff0000u));
  const __m256 even = _mm256_castsi256_ps(_mm256_slli_epi32(both, 16));
  const __m256 odd = _mm256_castsi256_ps(_mm256_and_si256(both, mask));
  const auto half = [&](__m256 sum, __m256i v) {
    sum = _mm256_fmadd_ps(_mm256_castsi256_ps(_mm256_and_si256(v, mask)), odd, sum);
    return _mm256_fmadd_ps(_mm256_castsi256_ps(_mm256_slli_epi32(v, 16)), even, sum);
  };
  return {half(acc.a, w.a), half(acc.b, w.b)};
}

}  // namespace scratchy::cpu
