// The arithmetic of row programs: functions named as the graph's ops, written so that a loop over them vectorises, and
// sums in one fixed order.
//
// exp is a polynomial on [-ln 2 / 2, ln 2 / 2] after range reduction, within 2 ulp; sigmoid, silu, tanh and gelu are made
// of it. sin, cos, log, erf are the C library's: they run a few times a token. Everything is a pure function of one
// element or one row, so results do not depend on how rows are shared out.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace scratchy::cpu {

inline float minimum(float a, float b) { return a < b ? a : b; }
inline float maximum(float a, float b) { return a > b ? a : b; }

namespace math {

// e^x. Below -87.3 the result is 0 (true values there are under 1.2e-38), above 88.7 infinity.
inline float exp(float x) {
  constexpr float kLog2E = 1.44269504f, kRound = 12582912.0f;       // 1.5 * 2^23: adding it rounds to an integer
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // ln 2 in two parts, the first exact in 10 bits
  const float clamped = x > 88.8f ? 88.8f : x < -87.3f ? -87.3f : x;
  const float n = (clamped * kLog2E + kRound) - kRound;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  // Minimax coefficients of (e^r - 1 - r) / r^2 on the reduced range.
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float value = (p * (r * r) + r) + 1.0f;
  // 2^n in two factors, so that n = 128 does not overflow the exponent field.
  const auto half = static_cast<int32_t>(n) >> 1;
  const auto rest = static_cast<int32_t>(n) - half;
  const float a = std::bit_cast<float>((half + 127) << 23), b = std::bit_cast<float>((rest + 127) << 23);
  return x < -87.3f ? 0.0f : (value * a) * b;
}

inline float neg(float x) { return -x; }
inline float log(float x) { return std::log(x); }
inline float sqrt(float x) { return std::sqrt(x); }
inline float rsqrt(float x) { return 1.0f / std::sqrt(x); }
inline float sin(float x) { return std::sin(x); }
inline float cos(float x) { return std::cos(x); }
inline float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }
inline float softplus(float x) { return x > 20.0f ? x : std::log1p(std::exp(x)); }
inline float relu(float x) { return x > 0.0f ? x : 0.0f; }
inline float silu(float x) { return x / (1.0f + exp(-x)); }

// Below 0.25 the series (its next term is 62 x^9 / 2835, under 3e-8 of x); above, 1 - 2 / (e^2x + 1) loses under 2 bits.
inline float tanh(float x) {
  const float a = std::fabs(x);
  const float s = x * x;
  const float series = x * (1.0f + s * (-0.333333333f + s * (0.133333333f + s * (-0.0539682540f + s * 0.0218694885f))));
  const float large = 1.0f - 2.0f / (exp(2.0f * (a > 20.0f ? 20.0f : a)) + 1.0f);
  return a < 0.25f ? series : std::copysign(large, x);
}

inline float gelu(float x) {
  constexpr float kRoot2OverPi = 0.797884561f;
  return 0.5f * x * (1.0f + tanh(kRoot2OverPi * (x + 0.044715f * x * x * x)));
}
inline float gelu_erf(float x) { return 0.5f * x * (1.0f + std::erf(x * 0.707106781f)); }

}  // namespace math

// Sums are taken in 16 lanes (element i goes to lane i % 16), lanes added in a fixed tree: one vector register of
// AVX-512, two of AVX2, and the same bits on both.
inline constexpr int kSumLanes = 16;

template <int N, typename F>
inline float reduce_sum(F element) {
  float lanes[kSumLanes] = {};
  constexpr int kWhole = N / kSumLanes * kSumLanes;
  for (int i = 0; i < kWhole; i += kSumLanes) {
    for (int l = 0; l < kSumLanes; ++l) lanes[l] += element(i + l);
  }
  for (int i = kWhole; i < N; ++i) lanes[i - kWhole] += element(i);
  for (int width = kSumLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

template <int N, typename F>
inline float reduce_max(F element) {
  float largest = element(0);
  for (int i = 1; i < N; ++i) largest = maximum(largest, element(i));
  return largest;
}

// out[i] = e^(x_i - m) / (sum_j e^(x_j - m) + e^(sink - m)), m the largest of all; sink = -infinity for none.
template <int N, typename F>
inline void softmax(F element, float sink, float* out) {
  const float largest = maximum(reduce_max<N>(element), sink);
  for (int i = 0; i < N; ++i) out[i] = math::exp(element(i) - largest);
  const float total = reduce_sum<N>([&](int i) { return out[i]; }) + math::exp(sink - largest);
  for (int i = 0; i < N; ++i) out[i] = out[i] / total;
}

// The K largest of N, falling; equal values by rising index.
template <int N, int K, typename F>
inline void top_k(F element, float* values, int32_t* picks) {
  int count = 0;
  for (int i = 0; i < N; ++i) {
    const float x = element(i);
    if (count == K && !(x > values[K - 1])) continue;
    int at = count < K ? count++ : K - 1;
    for (; at > 0 && x > values[at - 1]; --at) {
      values[at] = values[at - 1];
      picks[at] = picks[at - 1];
    }
    values[at] = x;
    picks[at] = i;
  }
}

// 1 where top_k picks, else 0.
template <int N, int K, typename F>
inline void top_k_mask(F element, float* mask) {
  float values[K];
  int32_t picks[K];
  top_k<N, K>(element, values, picks);
  for (int i = 0; i < N; ++i) mask[i] = 0.0f;
  for (int j = 0; j < K; ++j) mask[picks[j]] = 1.0f;
}

}  // namespace scratchy::cpu
