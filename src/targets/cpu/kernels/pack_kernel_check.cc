// Packed weights: sizes, what is refused, and the compact scales of K-quants.
#include <gtest/gtest.h>

#include "targets/cpu/kernels/gemm_test_data.h"
#include "targets/cpu/kernels/pack_panel.h"

namespace scratchy::cpu {
namespace {

TEST(Pack, bytes_are_those_of_the_source_form) {
  // Bits a weight times weights, by the published block sizes.
  EXPECT_EQ(packed_bytes(PackForm::kQ4_0, 576, 576), 576u * 576 / 32 * 18);
  EXPECT_EQ(packed_bytes(PackForm::kQ4_1, 576, 576), 576u * 576 / 32 * 20);
  EXPECT_EQ(packed_bytes(PackForm::kQ5_0, 576, 576), 576u * 576 / 32 * 22);
  EXPECT_EQ(packed_bytes(PackForm::kQ8_0, 576, 576), 576u * 576 / 32 * 34);
  EXPECT_EQ(packed_bytes(PackForm::kQ2_K, 512, 256), 512u * 84);
  EXPECT_EQ(packed_bytes(PackForm::kQ3_K, 512, 256), 512u * 110);
  EXPECT_EQ(packed_bytes(PackForm::kQ4_K, 512, 256), 512u * 144);
  EXPECT_EQ(packed_bytes(PackForm::kQ5_K, 512, 256), 512u * 176);
  EXPECT_EQ(packed_bytes(PackForm::kQ6_K, 512, 256), 512u * 210);
  EXPECT_EQ(packed_bytes(PackForm::kBF16, 32, 64), 32u * 64 * 2);
  EXPECT_EQ(packed_bytes(PackForm::kU1Row, 512, 256), 512u * (32 + 8));
  EXPECT_EQ(packed_bytes(PackForm::kU4G128F16Zero, 512, 256), 512u * 2 * (64 + 3));
}

TEST(Pack, outputs_are_padded_to_panels_and_columns_to_blocks) {
  EXPECT_EQ(packed_bytes(PackForm::kF32, 17, 33), 32u * 64 * 4);
  EXPECT_EQ(packed_bytes(PackForm::kU4G128F32, 16, 160), 16u * (2 * 8 + 5 * 16));
}

TEST(Pack, every_form_has_a_name_that_parses_back) {
  for (int i = 0; i < kPackFormCount; ++i) {
    const PackForm form = static_cast<PackForm>(i);
    EXPECT_EQ(parse_pack_form(pack_form_name(form)), form);
  }
  EXPECT_EQ(parse_pack_form("q9"), std::nullopt);
}

// Whether one panel of random weights of `form`, changed by `spoil`, still packs.
template <class F>
bool packs(PackForm form, int I, F spoil) {
  TestMatrix m = random_matrix(form, 16, I, 1);
  spoil(&m);
  std::vector<std::byte> out(panel_bytes(form, I));
  return pack_panel(form, panel_source(m, 0), I, out.data());
}

TEST(Pack, values_that_do_not_fit_the_form_are_refused) {
  const auto nothing = [](TestMatrix*) {};
  const auto odd_scale = [](TestMatrix* m) { m->scales[3] = 1.0f / 3; };
  const auto odd_offset = [](TestMatrix* m) { m->offsets[2] += 0x1p-13f; };
  const auto odd_value = [](TestMatrix* m) { m->values[7] = 1.0f / 3; };
  EXPECT_TRUE(packs(PackForm::kQ4_0, 64, nothing));
  EXPECT_FALSE(packs(PackForm::kQ4_0, 64, odd_scale));
  EXPECT_FALSE(packs(PackForm::kQ4_0, 64, odd_offset));
  EXPECT_FALSE(packs(PackForm::kQ8_0, 64, odd_offset));
  EXPECT_FALSE(packs(PackForm::kU4G32F16Zero, 64, odd_offset));
  EXPECT_FALSE(packs(PackForm::kU4G64BF16, 64, odd_scale));
  EXPECT_TRUE(packs(PackForm::kU4G64F32, 64, odd_scale));
  EXPECT_FALSE(packs(PackForm::kBF16, 64, odd_value));
  EXPECT_FALSE(packs(PackForm::kF16, 64, odd_value));
  EXPECT_FALSE(packs(PackForm::kQ4_K, 256, odd_scale));
  EXPECT_FALSE(packs(PackForm::kQ6_K, 256, [](TestMatrix* m) { m->offsets[1] += 1; }));
}

TEST(Pack, k_quants_refuse_rows_that_are_not_whole_super_blocks) {
  EXPECT_FALSE(packs(PackForm::kQ4_K, 288, [](TestMatrix* m) { m->scales.resize(1000), m->offsets.resize(1000); }));
}

TEST(Pack, factored_scales_give_the_products_back) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    const float d = f16_to_f32(static_cast<uint16_t>(random.below(0x7c00) | random.below(2) << 15));
    float products[16], found;
    int n[16];
    for (float& p : products) p = d * static_cast<float>(random.below(256) - 128);
    ASSERT_TRUE(pack::factor_scales(products, 16, -128, 127, &found, n)) << d;
    for (int i = 0; i < 16; ++i) ASSERT_EQ(found * static_cast<float>(n[i]), products[i]);
  }
}

TEST(Pack, factor_scales_refuses_what_has_no_common_f16) {
  const float irrational[] = {0.1f, 0.7f};
  const float infinite[] = {INFINITY};
  float d;
  int n[16];
  EXPECT_FALSE(pack::factor_scales(irrational, 2, 0, 63, &d, n));
  EXPECT_FALSE(pack::factor_scales(infinite, 1, 0, 63, &d, n));
}

}  // namespace
}  // namespace scratchy::cpu
