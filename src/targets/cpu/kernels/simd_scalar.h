// simd.h in plain code: a vector is an array. It runs anywhere and is what the other two are compared with.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "numeric/dtype.h"

namespace scratchy::cpu {

inline constexpr const char* kSimdName = "scalar";
inline constexpr int kSimdRegisters = 1;

struct F32x16 {
  float v[16];
};
struct I32x16 {
  int32_t v[16];
};
struct B8x64 {
  uint8_t v[64];
};

// A vector whose lane i is f(i).
template <class Vector, class F>
Vector lanes(F f) {
  Vector out;
  for (int i = 0; i < static_cast<int>(sizeof(out.v) / sizeof(out.v[0])); ++i) out.v[i] = f(i);
  return out;
}

inline F32x16 f32_splat(float x) {
  return lanes<F32x16>([&](int) { return x; });
}
inline F32x16 f32_zero() { return f32_splat(0); }
inline F32x16 f32_load(const void* p) {
  F32x16 out;
  std::memcpy(out.v, p, sizeof(out.v));
  return out;
}
inline void f32_store(float* p, const F32x16& a) { std::memcpy(p, a.v, sizeof(a.v)); }
inline F32x16 f32_load_f16(const void* p) {
  uint16_t h[16];
  std::memcpy(h, p, sizeof(h));
  return lanes<F32x16>([&](int i) { return f16_to_f32(h[i]); });
}
inline F32x16 f32_load_bf16(const void* p) {
  uint16_t h[16];
  std::memcpy(h, p, sizeof(h));
  return lanes<F32x16>([&](int i) { return bf16_to_f32(h[i]); });
}
inline F32x16 add(const F32x16& a, const F32x16& b) {
  return lanes<F32x16>([&](int i) { return a.v[i] + b.v[i]; });
}
inline F32x16 mul(const F32x16& a, const F32x16& b) {
  return lanes<F32x16>([&](int i) { return a.v[i] * b.v[i]; });
}
inline F32x16 fma(const F32x16& a, const F32x16& b, const F32x16& c) {
  return lanes<F32x16>([&](int i) { return std::fma(a.v[i], b.v[i], c.v[i]); });
}
inline F32x16 negate(const F32x16& a) {
  return lanes<F32x16>([&](int i) { return -a.v[i]; });
}
inline F32x16 max_abs(const F32x16& a, const F32x16& b) {
  return lanes<F32x16>(
      [&](int i) { return std::fabs(b.v[i]) > std::fabs(a.v[i]) ? std::fabs(b.v[i]) : std::fabs(a.v[i]); });
}
inline float reduce_max(const F32x16& a) {
  float m = a.v[0];
  for (int i = 1; i < 16; ++i) m = m > a.v[i] ? m : a.v[i];
  return m;
}
inline F32x16 to_f32(const I32x16& a) {
  return lanes<F32x16>([&](int i) { return static_cast<float>(a.v[i]); });
}
inline F32x16 bits_as_f32(const I32x16& a) { return std::bit_cast<F32x16>(a); }
inline F32x16 lookup_f32(const F32x16& table, const I32x16& index) {
  return lanes<F32x16>([&](int i) { return table.v[index.v[i] & 15]; });
}

inline I32x16 i32_splat(int32_t x) {
  return lanes<I32x16>([&](int) { return x; });
}
inline I32x16 i32_zero() { return i32_splat(0); }
inline I32x16 i32_load_u8(const uint8_t* p) {
  return lanes<I32x16>([&](int i) { return static_cast<int32_t>(p[i]); });
}
inline I32x16 i32_load_i8(const uint8_t* p) {
  return lanes<I32x16>([&](int i) { return static_cast<int32_t>(static_cast<int8_t>(p[i])); });
}
inline I32x16 sub(const I32x16& a, const I32x16& b) {
  return lanes<I32x16>([&](int i) { return a.v[i] - b.v[i]; });
}
inline I32x16 add(const I32x16& a, const I32x16& b) {
  return lanes<I32x16>([&](int i) { return a.v[i] + b.v[i]; });
}
inline I32x16 bit_and(const I32x16& a, int32_t mask) {
  return lanes<I32x16>([&](int i) { return a.v[i] & mask; });
}
inline I32x16 bit_or(const I32x16& a, const I32x16& b) {
  return lanes<I32x16>([&](int i) { return a.v[i] | b.v[i]; });
}
template <int kBits>
I32x16 shift_left(const I32x16& a) {
  return lanes<I32x16>([&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) << kBits); });
}
template <int kBits>
I32x16 shift_right(const I32x16& a) {
  return lanes<I32x16>([&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) >> kBits); });
}
inline I32x16 round_to_i32(const F32x16& a) {
  // The default rounding mode: nearest, ties to even.
  return lanes<I32x16>([&](int i) { return static_cast<int32_t>(std::nearbyint(a.v[i])); });
}
inline int32_t reduce_add(const I32x16& a) {
  int32_t sum = 0;
  for (int i = 0; i < 16; ++i) sum += a.v[i];
  return sum;
}

inline B8x64 b8_load(const void* p) {
  B8x64 out;
  std::memcpy(out.v, p, sizeof(out.v));
  return out;
}
inline void b8_store(void* p, const B8x64& a) { std::memcpy(p, a.v, sizeof(a.v)); }
inline B8x64 b8_and(const B8x64& a, uint8_t mask) {
  return lanes<B8x64>([&](int i) { return static_cast<uint8_t>(a.v[i] & mask); });
}
inline B8x64 b8_or(const B8x64& a, const B8x64& b) {
  return lanes<B8x64>([&](int i) { return static_cast<uint8_t>(a.v[i] | b.v[i]); });
}
template <int kBits>
B8x64 b8_shift_right(const B8x64& a) {
  return lanes<B8x64>([&](int i) { return static_cast<uint8_t>(a.v[i] >> kBits); });
}
template <int kBits>
B8x64 b8_shift_left(const B8x64& a) {
  return lanes<B8x64>([&](int i) { return static_cast<uint8_t>(a.v[i] << kBits); });
}
inline B8x64 b8_lookup(const uint8_t* table, const B8x64& index) {
  return lanes<B8x64>([&](int i) { return table[index.v[i] & 15]; });
}
inline I32x16 as_i32(const B8x64& a) { return std::bit_cast<I32x16>(a); }

struct DotCodes {
  int16_t codes[32];
};
inline void store_codes(const I32x16& first, const I32x16& second, DotCodes* out) {
  for (int i = 0; i < 16; ++i) {
    out->codes[i] = static_cast<int16_t>(first.v[i]);
    out->codes[16 + i] = static_cast<int16_t>(second.v[i]);
  }
}
inline int32_t code_at(const DotCodes& codes, int k) { return codes.codes[k]; }

template <int kBits>
using DotWeights = B8x64;
template <int kBits>
B8x64 dot_weights(const B8x64& codes) {
  return codes;
}

template <int kBits, int kFirst, int kCount, int kPanels>
void dot_codes(const B8x64 (*w)[8], const DotCodes& x, const I32x16& start, I32x16* dot) {
  for (int p = 0; p < kPanels; ++p) {
    dot[p] = start;
    for (int j = kFirst; j < kFirst + kCount; ++j) {
      for (int i = 0; i < 64; ++i) dot[p].v[i / 4] += w[p][j].v[i] * x.codes[4 * j + i % 4];
    }
  }
}

inline F32x16 dot2_bf16(const F32x16& acc, const B8x64& w, const uint16_t* x) {
  const float even = bf16_to_f32(x[0]), odd = bf16_to_f32(x[1]);
  const I32x16 pairs = as_i32(w);
  return lanes<F32x16>([&](int i) {
    const uint32_t pair = static_cast<uint32_t>(pairs.v[i]);
    const float sum = std::fma(std::bit_cast<float>(pair & 0xffff0000u), odd, acc.v[i]);
    return std::fma(std::bit_cast<float>(pair << 16), even, sum);
  });
}

}  // namespace scratchy::cpu
