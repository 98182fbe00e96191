// Matrix products of dense and GGUF forms against the truth, and against themselves in other batches.
#include <gtest/gtest.h>

#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/gemm_test_data.h"

namespace scratchy::cpu {
namespace {

#define GEMM_TEST(form, act) \
  TEST(Gemm, form##_times_##act##_is_exact_to_rounding_in_any_batch) { check_form<PackForm::form, Act::act>(); }

GEMM_TEST(kF32, kF32)
GEMM_TEST(kF16, kF32)
GEMM_TEST(kBF16, kF32)
GEMM_TEST(kBF16, kBF16)
GEMM_TEST(kQ4_0, kF32)
GEMM_TEST(kQ4_0, kQ16)
GEMM_TEST(kQ4_1, kF32)
GEMM_TEST(kQ4_1, kQ16)
GEMM_TEST(kQ5_0, kF32)
GEMM_TEST(kQ5_0, kQ16)
GEMM_TEST(kQ5_1, kF32)
GEMM_TEST(kQ5_1, kQ16)
GEMM_TEST(kQ8_0, kF32)
GEMM_TEST(kQ8_0, kQ16)
GEMM_TEST(kQ2_K, kF32)
GEMM_TEST(kQ2_K, kQ16)
GEMM_TEST(kQ3_K, kF32)
GEMM_TEST(kQ3_K, kQ16)
GEMM_TEST(kQ4_K, kF32)
GEMM_TEST(kQ4_K, kQ16)
GEMM_TEST(kQ5_K, kF32)
GEMM_TEST(kQ5_K, kQ16)
GEMM_TEST(kQ6_K, kF32)
GEMM_TEST(kQ6_K, kQ16)
GEMM_TEST(kIQ4_NL, kF32)
GEMM_TEST(kIQ4_NL, kQ16)

TEST(Gemm, row_indices_pick_and_place_rows) {
  const int O = 24, I = 64;
  const TestMatrix m = random_matrix(PackForm::kQ4_0, O, I, 3);
  const std::vector<std::byte> packed = pack_matrix(m);
  const std::vector<std::byte> x = act_rows<Act::kQ16>(random_rows(6, I, 4), 6, I);
  const std::vector<float> all = product<PackForm::kQ4_0, Act::kQ16>(m, packed, x.data(), 6);
  const int32_t from[] = {5, 0, 3}, to[] = {1, 4, 0};
  std::vector<float> y(5 * O, 7.0f);
  gemm<PackForm::kQ4_0, Act::kQ16>(x.data(), RowIndex{from}, packed.data(), {3, I, O}, {0, 2}, y.data(), RowIndex{to},
                                  O);
  for (int t = 0; t < 3; ++t) {
    for (int o = 0; o < O; ++o)
      EXPECT_EQ(y[static_cast<size_t>(to[t] * O + o)], all[static_cast<size_t>(from[t] * O + o)]);
  }
  EXPECT_EQ(y[2 * O], 7.0f) << "rows that are not named stay";
}

TEST(Gemm, adding_store_adds_to_what_is_there_and_stays_inside_the_row) {
  const int O = 20, I = 37;
  const TestMatrix m = random_matrix(PackForm::kF32, O, I, 3);
  const std::vector<std::byte> packed = pack_matrix(m);
  const std::vector<std::byte> x = act_rows<Act::kF32>(random_rows(2, I, 4), 2, I);
  const std::vector<float> plain = product<PackForm::kF32, Act::kF32>(m, packed, x.data(), 2);
  std::vector<float> y(2 * (O + 1), 0.5f);
  gemm<PackForm::kF32, Act::kF32, Store::kAdd>(x.data(), packed.data(), {2, I, O}, {0, 2}, y.data(), O + 1);
  for (int t = 0; t < 2; ++t) {
    for (int o = 0; o < O; ++o)
      EXPECT_EQ(y[static_cast<size_t>(t * (O + 1) + o)], 0.5f + plain[static_cast<size_t>(t * O + o)]);
    EXPECT_EQ(y[static_cast<size_t>(t * (O + 1) + O)], 0.5f);
  }
}

// FNV-1a over the bits of a product.
template <PackForm kForm, Act kAct>
void mix(uint64_t* hash) {
  const TestMatrix m = random_matrix(kForm, 24, 512, 9);
  const std::vector<std::byte> x = act_rows<kAct>(random_rows(5, 512, 8), 5, 512);
  for (const float v : product<kForm, kAct>(m, pack_matrix(m), x.data(), 5)) {
    uint32_t bits;
    std::memcpy(&bits, &v, 4);
    *hash = (*hash ^ bits) * 0x100000001b3u;
  }
}

// The same constant stands for plain code, AVX2 and AVX-512.
TEST(Gemm, every_instruction_set_gives_the_same_bits) {
  uint64_t hash = 0xcbf29ce484222325u;
  mix<PackForm::kF32, Act::kF32>(&hash);
  mix<PackForm::kBF16, Act::kF32>(&hash);
  mix<PackForm::kQ4_0, Act::kF32>(&hash);
  mix<PackForm::kQ4_0, Act::kQ16>(&hash);
  mix<PackForm::kQ4_1, Act::kQ16>(&hash);
  mix<PackForm::kQ8_0, Act::kQ16>(&hash);
  mix<PackForm::kQ6_K, Act::kQ16>(&hash);
  EXPECT_EQ(hash, 2177218171709367067u) << kSimdName;
}

}  // namespace
}  // namespace scratchy::cpu
