// Activation rows: q16 codes, scales and sums, and the padding of odd widths.
#include <gtest/gtest.h>

#include "targets/cpu/kernels/act.h"
#include "targets/cpu/kernels/gemm_test_data.h"

namespace scratchy::cpu {
namespace {

int code(const Q16Block& block, int k) { return code_at(block.codes, k); }

TEST(Act, q16_codes_are_the_nearest_and_their_sums_are_stored) {
  const int I = 70;
  const std::vector<float> x = random_rows(1, I, 1);
  std::vector<Q16Block> row(static_cast<size_t>(blocks_of(I)));
  quantize_row_q16(x.data(), I, row.data());
  for (int b = 0; b < blocks_of(I); ++b) {
    const Q16Block& block = row[static_cast<size_t>(b)];
    int sum = 0, low = 0;
    float largest = 0;
    for (int k = 0; k < kBlock; ++k) {
      const float v = b * kBlock + k < I ? x[static_cast<size_t>(b * kBlock + k)] : 0.0f;
      largest = std::max(largest, std::fabs(v));
      EXPECT_LE(std::fabs(v - block.scale * static_cast<float>(code(block, k))), block.scale * 0.50001f);
      sum += code(block, k);
      low += k < 16 ? code(block, k) : 0;
    }
    EXPECT_EQ(block.scale, largest / 16256.0f);
    EXPECT_EQ(block.neg_sum, -sum);
    EXPECT_EQ(block.neg_sum_first, -low);
    EXPECT_EQ(block.scale_sum, block.scale * static_cast<float>(sum));
  }
  for (int k = I - 2 * kBlock; k < kBlock; ++k) EXPECT_EQ(code(row[2], k), 0);
}

TEST(Act, q16_rounds_ties_to_even) {
  float x[kBlock] = {16256.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -16255.5f, 63.0f, 64.0f, -64.0f, -65.0f};
  Q16Block block;
  quantize_block_q16(x, &block);
  const int expected[] = {16256, 0, 2, 2, 0, -2, -16256, 63, 64, -64, -65};
  for (int k = 0; k < 11; ++k) EXPECT_EQ(code(block, k), expected[k]) << k;
}

TEST(Act, q16_of_zeros_and_of_denormals_is_zero) {
  float x[kBlock] = {1e-40f, -1e-38f};
  Q16Block block;
  quantize_block_q16(x, &block);
  EXPECT_EQ(block.scale, 0.0f);
  for (int k = 0; k < kBlock; ++k) EXPECT_EQ(code(block, k), 0);
}

TEST(Act, q16_has_no_mean_error) {
  double bias = 0, size = 0;
  for (int seed = 0; seed < 200; ++seed) {
    const std::vector<float> x = random_rows(1, kBlock, static_cast<uint64_t>(seed));
    Q16Block block;
    quantize_block_q16(x.data(), &block);
    for (int k = 0; k < kBlock; ++k) {
      bias += (block.scale * static_cast<float>(code(block, k)) - x[static_cast<size_t>(k)]) / block.scale;
      size += 1;
    }
  }
  // Errors are uniform in +-1/2: the mean of n has the deviation 1 / sqrt(12 n); four of them.
  EXPECT_LE(std::fabs(bias / size), 4 / std::sqrt(12 * size));
}

TEST(Act, bf16_rows_round_like_the_reference) {
  const std::vector<float> x = random_rows(1, 37, 2);
  const std::vector<std::byte> row = act_rows<Act::kBF16>(x, 1, 37);
  ASSERT_EQ(row.size(), 128u);
  const uint16_t* out = reinterpret_cast<const uint16_t*>(row.data());
  for (int k = 0; k < 64; ++k) EXPECT_EQ(out[k], k < 37 ? f32_to_bf16(x[static_cast<size_t>(k)]) : 0);
}

}  // namespace
}  // namespace scratchy::cpu
