// Vectors of f32 for the attention and cache kernels: AVX-512, AVX2 + FMA + F16C, or plain C++.
//
// Which one is chosen by the flags of the compilation, here and nowhere else. All three offer the same free functions
// on `Vec`, kLanes f32 wide. A kernel written on them sums in an order its own loops fix, so results do not depend on
// threads or blocking; between the three they may differ in the last bits (kLanes, fused or separate multiply-add).
// Stored cache elements (f32, f16, bf16, int8) are widened on load by `load_kv`.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__) && defined(__F16C__))
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 reports the deliberately undefined operands inside its own AVX-512 headers (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

#define SCRATCHY_INLINE inline __attribute__((always_inline))
#define SCRATCHY_INLINE_LAMBDA __attribute__((always_inline))

namespace scratchy::cpu {

struct KvF16 {
  uint16_t bits;
};
struct KvBf16 {
  uint16_t bits;
};

// f(integral_constant<int, 0>) .. f(integral_constant<int, N - 1>): a loop whose index is a constant, so that arrays
// indexed by it live in registers.
template <int N, typename F>
SCRATCHY_INLINE void unroll(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) SCRATCHY_INLINE_LAMBDA { (f(std::integral_constant<int, I>{}), ...); }
  (std::make_integer_sequence<int, N>{});
}

SCRATCHY_INLINE float bits_to_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
SCRATCHY_INLINE uint32_t float_to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// --- scalar conversions, used by every variant for single elements ---------------------------------------------------

SCRATCHY_INLINE float to_f32(float x) { return x; }
SCRATCHY_INLINE float to_f32(KvBf16 x) { return bits_to_float(static_cast<uint32_t>(x.bits) << 16); }
SCRATCHY_INLINE float to_f32(int8_t x) { return static_cast<float>(x); }
inline float to_f32(KvF16 x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000) << 16;
  const uint32_t magnitude = x.bits & 0x7fff;
  if (magnitude >= 0x7c00) return bits_to_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  // The f16 exponent and fraction placed in f32 read as value * 2^-112, subnormals too; the product is exact.
  return bits_to_float(float_to_bits(bits_to_float(magnitude << 13) * 0x1p112f) | sign);
}

// Nearest even; values beyond the f16 range become +-65504, so a cache never gains an infinity. NaN stays NaN.
#if defined(__F16C__)
inline KvF16 to_f16(float x) {
  x = x > 65504.0f ? 65504.0f : x;
  x = x < -65504.0f ? -65504.0f : x;
  return {static_cast<uint16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT))};
}
#else
inline KvF16 to_f16(float x) {
  if (x != x) return {0x7e00};
  const uint16_t sign = static_cast<uint16_t>(float_to_bits(x) >> 16 & 0x8000);
  const float magnitude = std::fabs(x);
  if (magnitude >= 65504.0f) return {static_cast<uint16_t>(sign | 0x7bff)};
  if (magnitude < 0x1p-14f) {
    // Subnormal: adding 0.5 leaves multiples of 2^-24 in the fraction.
    return {static_cast<uint16_t>(sign | (float_to_bits(magnitude + 0.5f) - float_to_bits(0.5f)))};
  }
  uint32_t bits = float_to_bits(magnitude);
  bits += 0xfff + (bits >> 13 & 1);
  return {static_cast<uint16_t>(sign | ((bits >> 13) - (112u << 10)))};
}
#endif

inline KvBf16 to_bf16(float x) {
  if (x != x) return {0x7fc0};
  const uint32_t bits = float_to_bits(x);
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

#if defined(__AVX512F__)

inline constexpr int kLanes = 16;
inline constexpr int kVectorRegisters = 32;
using Vec = __m512;

SCRATCHY_INLINE Vec vzero() { return _mm512_setzero_ps(); }
SCRATCHY_INLINE Vec vset(float x) { return _mm512_set1_ps(x); }
SCRATCHY_INLINE Vec vload(const float* p) { return _mm512_loadu_ps(p); }
SCRATCHY_INLINE void vstore(float* p, Vec x) { _mm512_storeu_ps(p, x); }
SCRATCHY_INLINE Vec vadd(Vec a, Vec b) { return _mm512_add_ps(a, b); }
SCRATCHY_INLINE Vec vsub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
SCRATCHY_INLINE Vec vmul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
SCRATCHY_INLINE Vec vdiv(Vec a, Vec b) { return _mm512_div_ps(a, b); }
// a * b + c
SCRATCHY_INLINE Vec vfma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
// Of a NaN and a number: b.
SCRATCHY_INLINE Vec vmax(Vec a, Vec b) { return _mm512_max_ps(a, b); }
SCRATCHY_INLINE Vec vmin(Vec a, Vec b) { return _mm512_min_ps(a, b); }
SCRATCHY_INLINE Vec vround(Vec x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
// 2^n of whole n in [-127, 127]; 0 at -127.
SCRATCHY_INLINE Vec vpow2(Vec n) {
  const __m512i biased = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
  return _mm512_castsi512_ps(_mm512_slli_epi32(biased, 23));
}
// x in lanes [begin, end), otherwise fill. 0 <= begin <= end <= kLanes.
SCRATCHY_INLINE Vec vselect_range(Vec x, int begin, int end, Vec fill) {
  const auto mask = static_cast<__mmask16>((1u << end) - (1u << begin));
  return _mm512_mask_mov_ps(fill, mask, x);
}
SCRATCHY_INLINE float vreduce_max(Vec x) { return _mm512_reduce_max_ps(x); }
SCRATCHY_INLINE float vreduce_add(Vec x) { return _mm512_reduce_add_ps(x); }
SCRATCHY_INLINE float vfirst(Vec x) { return _mm512_cvtss_f32(x); }

SCRATCHY_INLINE Vec load_kv(const float* p) { return _mm512_loadu_ps(p); }
SCRATCHY_INLINE Vec load_kv(const KvF16* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
SCRATCHY_INLINE Vec load_kv(const KvBf16* p) {
  const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}
SCRATCHY_INLINE Vec load_kv(const int8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
// Into the L2: requests into the L1 of Zen 4 occupy its few miss registers, 15 GB/s a thread instead of 21.
SCRATCHY_INLINE void prefetch_l2(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1); }

#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

inline constexpr int kLanes = 8;
inline constexpr int kVectorRegisters = 16;
using Vec = __m256;

SCRATCHY_INLINE Vec vzero() { return _mm256_setzero_ps(); }
SCRATCHY_INLINE Vec vset(float x) { return _mm256_set1_ps(x); }
SCRATCHY_INLINE Vec vload(const float* p) { return _mm256_loadu_ps(p); }
SCRATCHY_INLINE void vstore(float* p, Vec x) { _mm256_storeu_ps(p, x); }
SCRATCHY_INLINE Vec vadd(Vec a, Vec b) { return _mm256_add_ps(a, b); }
SCRATCHY_INLINE Vec vsub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
SCRATCHY_INLINE Vec vmul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
SCRATCHY_INLINE Vec vdiv(Vec a, Vec b) { return _mm256_div_ps(a, b); }
// a * b + c
SCRATCHY_INLINE Vec vfma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
// Of a NaN and a number: b.
SCRATCHY_INLINE Vec vmax(Vec a, Vec b) { return _mm256_max_ps(a, b); }
SCRATCHY_INLINE Vec vmin(Vec a, Vec b) { return _mm256_min_ps(a, b); }
SCRATCHY_INLINE Vec vround(Vec x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
// 2^n of whole n in [-127, 127]; 0 at -127.
SCRATCHY_INLINE Vec vpow2(Vec n) {
  const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}
// x in lanes [begin, end), otherwise fill. 0 <= begin <= end <= kLanes.
SCRATCHY_INLINE Vec vselect_range(Vec x, int begin, int end, Vec fill) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i below_end = _mm256_cmpgt_epi32(_mm256_set1_epi32(end), lane);
  const __m256i below_begin = _mm256_cmpgt_epi32(_mm256_set1_epi32(begin), lane);
  return _mm256_blendv_ps(fill, x, _mm256_castsi256_ps(_mm256_andnot_si256(below_begin, below_end)));
}
SCRATCHY_INLINE float vreduce_max(Vec x) {
  __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = _mm_max_ps(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(_mm_max_ss(y, _mm_movehdup_ps(y)));
}
SCRATCHY_INLINE float vreduce_add(Vec x) {
  __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = _mm_add_ps(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
}
SCRATCHY_INLINE float vfirst(Vec x) { return _mm256_cvtss_f32(x); }

SCRATCHY_INLINE Vec load_kv(const float* p) { return _mm256_loadu_ps(p); }
SCRATCHY_INLINE Vec load_kv(const KvF16* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
SCRATCHY_INLINE Vec load_kv(const KvBf16* p) {
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}
SCRATCHY_INLINE Vec load_kv(const int8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
// Into the L2: requests into the L1 of Zen 4 occupy its few miss registers, 15 GB/s a thread instead of 21.
SCRATCHY_INLINE void prefetch_l2(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1); }

#else

inline constexpr int kLanes = 4;
inline constexpr int kVectorRegisters = 16;
struct Vec {
  float lane[kLanes];
};

template <typename F>
SCRATCHY_INLINE Vec vmap(F&& f) {
  Vec r;
  for (int i = 0; i < kLanes; ++i) r.lane[i] = f(i);
  return r;
}
SCRATCHY_INLINE Vec vset(float x) { return {x, x, x, x}; }
SCRATCHY_INLINE Vec vzero() { return vset(0); }
SCRATCHY_INLINE Vec vload(const float* p) { return {p[0], p[1], p[2], p[3]}; }
SCRATCHY_INLINE void vstore(float* p, Vec x) { std::memcpy(p, x.lane, sizeof x.lane); }
SCRATCHY_INLINE Vec vadd(Vec a, Vec b) {
  return vmap([&](int i) { return a.lane[i] + b.lane[i]; });
}
SCRATCHY_INLINE Vec vsub(Vec a, Vec b) {
  return vmap([&](int i) { return a.lane[i] - b.lane[i]; });
}
SCRATCHY_INLINE Vec vmul(Vec a, Vec b) {
  return vmap([&](int i) { return a.lane[i] * b.lane[i]; });
}
SCRATCHY_INLINE Vec vdiv(Vec a, Vec b) {
  return vmap([&](int i) { return a.lane[i] / b.lane[i]; });
}
// a * b + c, rounded twice: a fused multiply-add without the instruction is a library call.
SCRATCHY_INLINE Vec vfma(Vec a, Vec b, Vec c) { return vadd(vmul(a, b), c); }
// Of a NaN and a number: b.
SCRATCHY_INLINE Vec vmax(Vec a, Vec b) {
  return vmap([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
SCRATCHY_INLINE Vec vmin(Vec a, Vec b) {
  return vmap([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
// |x| < 2^22: adding 1.5 * 2^23 leaves whole numbers, nearest even.
SCRATCHY_INLINE Vec vround(Vec x) {
  return vmap([&](int i) { return (x.lane[i] + 0x1.8p23f) - 0x1.8p23f; });
}
// 2^n of whole n in [-127, 127]; 0 at -127. NaN gives 1.
SCRATCHY_INLINE Vec vpow2(Vec n) {
  return vmap([&](int i) {
    const float x = n.lane[i] == n.lane[i] ? n.lane[i] : 0.0f;
    return bits_to_float(static_cast<uint32_t>(static_cast<int32_t>(x) + 127) << 23);
  });
}
// x in lanes [begin, end), otherwise fill. 0 <= begin <= end <= kLanes.
SCRATCHY_INLINE Vec vselect_range(Vec x, int begin, int end, Vec fill) {
  return vmap([&](int i) { return i >= begin && i < end ? x.lane[i] : fill.lane[i]; });
}
SCRATCHY_INLINE float vreduce_max(Vec x) {
  const float low = x.lane[0] > x.lane[1] ? x.lane[0] : x.lane[1];
  const float high = x.lane[2] > x.lane[3] ? x.lane[2] : x.lane[3];
  return low > high ? low : high;
}
SCRATCHY_INLINE float vreduce_add(Vec x) { return (x.lane[0] + x.lane[2]) + (x.lane[1] + x.lane[3]); }
SCRATCHY_INLINE float vfirst(Vec x) { return x.lane[0]; }

template <typename E>
SCRATCHY_INLINE Vec load_kv(const E* p) {
  return {to_f32(p[0]), to_f32(p[1]), to_f32(p[2]), to_f32(p[3])};
}
SCRATCHY_INLINE void prefetch_l2(const void* p) { __builtin_prefetch(p, 0, 2); }

#endif

// --- elementary functions --------------------------------------------------------------------------------------------

// f * q(f) = 2^f - 1 for |f| <= 1/2, q of degree 5 through the Chebyshev points; relative error of 1 + f q: 5.3e-9.
SCRATCHY_INLINE Vec vexp2_fraction(Vec f) {
  Vec q = vset(0.0001545316295f);
  q = vfma(q, f, vset(0.001339086336f));
  q = vfma(q, f, vset(0.009618082557f));
  q = vfma(q, f, vset(0.05550357114f));
  q = vfma(q, f, vset(0.2402265076f));
  q = vfma(q, f, vset(0.693147188f));
  return vmul(q, f);
}

// 2^x for x <= 127. Relative error below 1.3e-7 for x >= -126; 0 below -126.5; exactly 1 at 0. NaN stays NaN.
SCRATCHY_INLINE Vec vexp2(Vec x) {
  x = vmax(vset(-127.0f), x);
  const Vec n = vround(x);
  return vmul(vadd(vset(1.0f), vexp2_fraction(vsub(x, n))), vpow2(n));
}
SCRATCHY_INLINE float exp2_f32(float x) { return vfirst(vexp2(vset(x))); }

// tanh(x) = e / (e + 2) with e = e^2x - 1, which keeps small x exact. Relative error below 6e-7.
SCRATCHY_INLINE Vec vtanh(Vec x) {
  const Vec y = vmin(vset(60.0f), vmax(vset(-60.0f), vmul(x, vset(2.885390082f))));
  const Vec n = vround(y);
  const Vec power = vpow2(n);
  const Vec e = vfma(vexp2_fraction(vsub(y, n)), power, vsub(power, vset(1.0f)));
  return vdiv(e, vadd(e, vset(2.0f)));
}

}  // namespace scratchy::cpu
