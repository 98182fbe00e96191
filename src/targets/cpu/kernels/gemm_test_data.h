// Test only: random matrices of every pack form, their truth in double, and the checks every form x activation passes.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "numeric/dtype.h"
#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/pack_panel.h"

namespace scratchy::cpu {

// splitmix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
  // In [-1, 1), multiples of 2^-20.
  float unit() { return static_cast<float>(below(1 << 21) - (1 << 20)) * 0x1p-20f; }

 private:
  uint64_t state_;
};

// A matrix [O, I] as a source would give it.
struct TestMatrix {
  PackForm form;
  int O, I, groups;
  std::vector<float> values, scales, offsets, codebook;
  std::vector<uint8_t> codes;

  const PackTraits& traits() const { return traits_of(form); }
  int group_of(int k) const { return traits().group == 0 ? 0 : k / traits().group; }
  double scale(int o, int k) const { return scales[static_cast<size_t>(o * groups + group_of(k))]; }
  double offset(int o, int k) const { return offsets[static_cast<size_t>(o * groups + group_of(k))]; }
  int code(int o, int k) const {
    return codes[static_cast<size_t>(o) * static_cast<size_t>(I) + static_cast<size_t>(k)];
  }

  // The weight, exactly.
  double weight(int o, int k) const {
    if (is_dense(traits())) return values[static_cast<size_t>(o) * static_cast<size_t>(I) + static_cast<size_t>(k)];
    switch (traits().coding) {
      case Coding::kTableIq4Nl:
        return scale(o, k) * (kIq4NlTable[code(o, k)] - 128);
      case Coding::kTableE2m1:
        return scale(o, k) * e2m1_to_f32(static_cast<uint8_t>(code(o, k)));
      case Coding::kCodebook:
        return scale(o, k) * codebook[static_cast<size_t>(code(o, k))];
      case Coding::kFp8:
        return scale(o, k) * e4m3_to_f32(static_cast<uint8_t>(code(o, k)));
      case Coding::kInteger:
      case Coding::kDenseF32:
      case Coding::kDenseF16:
      case Coding::kDenseBF16:
        break;
    }
    return scale(o, k) * code(o, k) + offset(o, k);
  }
};

inline float random_scale(Scale scale, Random* random) {
  const float value = random->unit() * 0.02f;
  if (scale == Scale::kBF16) return bf16_to_f32(f32_to_bf16(value));
  return scale == Scale::kF32 ? value : f16_to_f32(f32_to_f16(value));
}

// The compact integers of one super-block's scales (or mins).
inline void random_super(const PackTraits& form, bool mins, Random* random, float* out) {
  const float d =
      std::fabs(random_scale(Scale::kF16, random)) * (form.scale == Scale::kSuper8 && random->below(2) ? -1.0f : 1.0f);
  for (int g = 0; g < groups_per_header(form); ++g) {
    int n = random->below(form.scale == Scale::kSuper4 ? 16 : 64);
    if (form.offset == Offset::kMiddle) n = form.scale == Scale::kSuper8 ? random->below(256) - 128 : n - 32;
    out[g] = d * static_cast<float>(mins ? -n : n);
  }
}

inline TestMatrix random_matrix(PackForm form, int O, int I, uint64_t seed) {
  Random random(seed);
  const PackTraits& traits = traits_of(form);
  TestMatrix m{form, O, I, traits.group == 0 ? 1 : (I + traits.group - 1) / traits.group, {}, {}, {}, {}, {}};
  const size_t count = static_cast<size_t>(O) * static_cast<size_t>(I);
  if (is_dense(traits)) {
    for (size_t i = 0; i < count; ++i) {
      const float v = random.unit();
      m.values.push_back(traits.coding == Coding::kDenseF16    ? f16_to_f32(f32_to_f16(v))
                         : traits.coding == Coding::kDenseBF16 ? bf16_to_f32(f32_to_bf16(v))
                                                               : v);
    }
    return m;
  }
  for (size_t i = 0; i < count; ++i) {
    const uint8_t code = static_cast<uint8_t>(random.below(1 << traits.bits));
    m.codes.push_back(traits.coding == Coding::kFp8 && (code & 127) == 127 ? uint8_t{126} : code);
  }
  m.codebook.resize(16);
  for (float& entry : m.codebook) entry = random.unit();
  const size_t groups = static_cast<size_t>(O * m.groups);
  m.scales.resize(groups);
  m.offsets.resize(groups);
  if (is_super(traits)) {
    for (size_t g = 0; g < groups; g += static_cast<size_t>(groups_per_header(traits))) {
      random_super(traits, false, &random, &m.scales[g]);
      if (traits.offset == Offset::kPaired) random_super(traits, true, &random, &m.offsets[g]);
    }
  }
  for (size_t g = 0; g < groups; ++g) {
    if (!is_super(traits)) m.scales[g] = random_scale(traits.scale, &random);
    if (!is_super(traits) && traits.offset == Offset::kPaired) m.offsets[g] = random_scale(traits.scale, &random);
    if (traits.offset == Offset::kZero)
      m.offsets[g] = -m.scales[g] * static_cast<float>(random.below(1 << traits.bits));
    if (traits.offset == Offset::kMiddle) m.offsets[g] = -m.scales[g] * static_cast<float>(1 << (traits.bits - 1));
  }
  return m;
}

inline PanelSource panel_source(const TestMatrix& m, int panel) {
  PanelSource source;
  source.rows = std::min(kPanel, m.O - panel * kPanel);
  source.codebook = m.codebook.data();
  for (int lane = 0; lane < source.rows; ++lane) {
    const size_t row = static_cast<size_t>(panel * kPanel + lane);
    const size_t at = row * static_cast<size_t>(m.I), group = row * static_cast<size_t>(m.groups);
    source.values[lane] = m.values.data() + (m.values.empty() ? 0 : at);
    source.codes[lane] = m.codes.data() + (m.codes.empty() ? 0 : at);
    source.scales[lane] = m.scales.data() + (m.scales.empty() ? 0 : group);
    source.offsets[lane] = m.offsets.data() + (m.offsets.empty() ? 0 : group);
  }
  return source;
}

inline std::vector<std::byte> pack_matrix(const TestMatrix& m) {
  std::vector<std::byte> out(packed_bytes(m.form, m.O, m.I));
  for (int p = 0; p < panels_of(m.O); ++p) {
    EXPECT_TRUE(
        pack_panel(m.form, panel_source(m, p), m.I, out.data() + static_cast<size_t>(p) * panel_bytes(m.form, m.I)))
        << pack_form_name(m.form) << " refuses panel " << p;
  }
  return out;
}

inline std::vector<float> random_rows(int T, int I, uint64_t seed) {
  Random random(seed);
  std::vector<float> x(static_cast<size_t>(T) * static_cast<size_t>(I));
  for (float& v : x) v = random.unit() * (random.below(16) == 0 ? 8.0f : 1.0f);
  return x;
}

template <Act kAct>
std::vector<std::byte> act_rows(const std::vector<float>& x, int T, int I) {
  std::vector<std::byte> rows(static_cast<size_t>(T) * act_row_bytes(kAct, I));
  for (int t = 0; t < T; ++t) {
    write_act_row<kAct>(x.data() + static_cast<size_t>(t) * static_cast<size_t>(I), I,
                        rows.data() + static_cast<size_t>(t) * act_row_bytes(kAct, I));
  }
  return rows;
}

// A sum in double beside the sum of the magnitudes that were added, which its rounding error is a fraction of.
struct Truth {
  double sum = 0;
  double magnitude = 0;
  void add(double term) {
    sum += term;
    magnitude += std::fabs(term);
  }
};

// Activation k of a row, as the kernel reads it.
template <Act kAct>
double activation(const std::byte* row, int k) {
  if constexpr (kAct == Act::kQ16) {
    const Q16Block& block = reinterpret_cast<const Q16Block*>(row)[k / kBlock];
    return static_cast<double>(block.scale) * code_at(block.codes, k % kBlock);
  } else if constexpr (kAct == Act::kBF16) {
    return bf16_to_f32(reinterpret_cast<const uint16_t*>(row)[k]);
  } else {
    return reinterpret_cast<const float*>(row)[k];
  }
}

template <Act kAct>
Truth truth(const TestMatrix& m, const std::byte* row, int o) {
  Truth out;
  if constexpr (kAct == Act::kQ16) {
    // The kernel adds one term for the integers of a group and one for its offset.
    const bool offsets = has_offset(m.traits());
    const int run = m.traits().group == 16 ? 16 : kBlock;
    for (int first = 0; first < m.I; first += run) {
      double codes = 0, offset = 0;
      for (int k = first; k < std::min(m.I, first + run); ++k) {
        const double x = activation<kAct>(row, k);
        const double part = offsets ? m.offset(o, k) * x : 0;
        offset += part;
        codes += m.weight(o, k) * x - part;
      }
      out.add(codes);
      out.add(offset);
    }
  } else {
    for (int k = 0; k < m.I; ++k) out.add(m.weight(o, k) * activation<kAct>(row, k));
  }
  return out;
}

// Rounding steps on the way to one output, each at most 2^-24 of the magnitude: a multiply-add a group or column of a
// block's chain, one a block, and the few that make a weight or a scale.
template <Act kAct>
double rounding_bound(const TestMatrix& m) {
  const int blocks = blocks_of(m.I);
  const int steps = kAct == Act::kQ16 ? 4 * blocks + 4 : kBlock + blocks + 4;
  return steps * 0x1p-24;
}

template <PackForm kForm, Act kAct>
std::vector<float> product(const TestMatrix& m, const std::vector<std::byte>& packed, const std::byte* x, int T) {
  std::vector<float> y(static_cast<size_t>(T) * static_cast<size_t>(m.O), -1e30f);
  gemm<kForm, kAct>(x, packed.data(), {T, m.I, m.O}, {0, panels_of(m.O)}, y.data(), static_cast<size_t>(m.O));
  return y;
}

// Every output is within the rounding bound of the truth.
template <PackForm kForm, Act kAct>
void check_truth(int O, int I, int T) {
  const TestMatrix m = random_matrix(kForm, O, I, static_cast<uint64_t>(I) * 31 + static_cast<uint64_t>(kForm));
  const std::vector<std::byte> packed = pack_matrix(m);
  const std::vector<std::byte> x = act_rows<kAct>(random_rows(T, I, 5), T, I);
  const std::vector<float> y = product<kForm, kAct>(m, packed, x.data(), T);
  for (int t = 0; t < T; ++t) {
    for (int o = 0; o < O; ++o) {
      const Truth expected = truth<kAct>(m, x.data() + static_cast<size_t>(t) * act_row_bytes(kAct, I), o);
      const double error = std::fabs(y[static_cast<size_t>(t * O + o)] - expected.sum);
      ASSERT_LE(error, rounding_bound<kAct>(m) * expected.magnitude)
          << pack_form_name(kForm) << " I " << I << " token " << t << " output " << o << " expected " << expected.sum;
    }
  }
}

// Token t of a batch of T, computed in shares of panels, has the bits it has alone.
template <PackForm kForm, Act kAct>
void check_same_bits(int O, int I) {
  const int most = 64;
  const TestMatrix m = random_matrix(kForm, O, I, 77);
  const std::vector<std::byte> packed = pack_matrix(m);
  const std::vector<std::byte> x = act_rows<kAct>(random_rows(most, I, 6), most, I);
  std::vector<float> alone;
  for (int t = 0; t < most; ++t) {
    const std::vector<float> y =
        product<kForm, kAct>(m, packed, x.data() + static_cast<size_t>(t) * act_row_bytes(kAct, I), 1);
    alone.insert(alone.end(), y.begin(), y.end());
  }
  for (const int T : {1, 2, 3, 4, 5, 6, 7, 8, 9, 33, 64}) {
    std::vector<float> y(static_cast<size_t>(T * O));
    for (int panel = 0; panel < panels_of(O); ++panel) {
      gemm<kForm, kAct>(x.data(), packed.data(), {T, I, O}, {panel, panel + 1}, y.data(), static_cast<size_t>(O));
    }
    ASSERT_EQ(std::memcmp(y.data(), alone.data(), y.size() * sizeof(float)), 0) << pack_form_name(kForm) << " T " << T;
  }
}

template <PackForm kForm, Act kAct>
void check_form() {
  constexpr bool kSuper = is_super(traits_of(kForm));
  check_truth<kForm, kAct>(40, kSuper ? 256 : 37, 3);
  check_truth<kForm, kAct>(16, kSuper ? 512 : 48, 5);
  check_truth<kForm, kAct>(24, kSuper ? 768 : 160, 18);
  check_truth<kForm, kAct>(17, kSuper ? 1536 : 3420, 2);
  check_same_bits<kForm, kAct>(40, kSuper ? 256 : 160);
}

}  // namespace scratchy::cpu
