// Every block type against worked examples: bytes b[i] = (37 i + 11) mod 256 with d = 0.25 and m or dmin = 0.125.
#include "numeric/gguf_blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "numeric/quant_matrix.h"
#include "numeric/quantize.h"

namespace scratchy {
namespace {

struct Example {
  QuantForm form;
  size_t d_at;
  int m_at;  // -1: none
  std::vector<std::pair<int, float>> values;
  double sum;
};

std::vector<std::byte> example_block(const Example& example) {
  std::vector<std::byte> block(static_cast<size_t>(block_bytes(example.form)));
  for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>((37 * i + 11) % 256);
  block[example.d_at] = std::byte{0x00};
  block[example.d_at + 1] = std::byte{0x34};
  if (example.m_at >= 0) {
    block[static_cast<size_t>(example.m_at)] = std::byte{0x00};
    block[static_cast<size_t>(example.m_at) + 1] = std::byte{0x30};
  }
  return block;
}

QuantMatrix one_row(QuantForm form, const std::vector<std::byte>& bytes) {
  QuantParts parts;
  parts.form = form;
  parts.rows = 1;
  parts.cols = static_cast<uint32_t>(bytes.size() / static_cast<size_t>(block_bytes(form)) *
                                     static_cast<size_t>(block_weights(form)));
  parts.codes = {bytes, DType::kU8};
  return QuantMatrix::make(parts).value();
}

const std::vector<Example>& examples() {
  using F = QuantForm;
  static const std::vector<Example> list = {
      {F::kQ4_0, 0, -1, {{0, -0.75f}, {1, 0.5f}, {15, -2}, {16, -0.75f}, {31, 0}}, -5.25},
      {F::kQ4_1, 0, 2, {{0, 3.875f}, {1, 1.125f}, {15, 2.625f}, {16, 2.375f}, {31, 3.125f}}, 65.25},
      {F::kQ5_0, 0, -1, {{0, 2.25f}, {1, -0.5f}, {15, -3}, {16, 3.5f}, {31, 0.25f}}, 3.75},
      {F::kQ5_1, 0, 2, {{0, 4.875f}, {1, 6.125f}, {15, 7.625f}, {16, 4.875f}, {31, 1.375f}}, 130.25},
      {F::kQ8_0, 0, -1, {{0, 21.25f}, {1, 30.5f}, {15, -32}, {16, -22.75f}, {31, -12}}, -44},
      {F::kIQ4_NL, 0, -1, {{0, -8.75f}, {1, 6.25f}, {15, -31.75f}, {16, -8.75f}, {31, 0.25f}}, -64.25},
      {F::kQ2_K, 80, 82, {{0, 8.25f}, {1, 0}, {16, -0.375f}, {32, 1.875f}, {64, 2.625f}, {127, 10.5f}, {128, 1.875f},
                          {200, 2}, {255, 1.125f}}, 514.75},
      {F::kQ3_K, 108, -1, {{0, 20.25f}, {1, -27}, {16, -24}, {31, 16}, {32, -5.5f}, {64, 8.5f}, {127, 18}, {128, 0.5f},
                           {200, 6.25f}, {255, 10.5f}}, 239.5},
      {F::kQ4_K, 0, 2, {{0, 78.875f}, {1, -6.375f}, {31, 40.125f}, {32, 2}, {64, 105.125f}, {127, 20.25f}, {128, 105.75f},
                        {200, 34.625f}, {255, 12.125f}}, 13610},
      {F::kQ5_K, 0, 2, {{0, 202.875f}, {1, -6.375f}, {31, 40.125f}, {32, 28}, {64, 105.125f}, {127, -0.75f},
                        {128, 261.75f}, {200, 34.625f}, {255, 27.125f}}, 29054},
      {F::kQ6_K, 208, -1, {{0, -357.75f}, {1, 424}, {16, -108}, {31, -24}, {32, 57.75f}, {64, -760}, {127, 375},
                           {128, -87.75f}, {200, 272.25f}, {255, -15}}, 1153},
  };
  return list;
}

TEST(GgufBlocks, DequantiseTheWorkedExamples) {
  for (const Example& example : examples()) {
    const auto block = example_block(example);
    const QuantMatrix matrix = one_row(example.form, block);
    std::vector<float> row(matrix.cols());
    matrix.dequantize_row(0, row.data());
    for (const auto& [index, value] : example.values) {
      EXPECT_EQ(row[static_cast<size_t>(index)], value) << quant_form_name(example.form) << " at " << index;
    }
    double sum = 0;
    for (const float value : row) sum += value;
    EXPECT_EQ(sum, example.sum) << quant_form_name(example.form);
  }
}

TEST(GgufBlocks, TheIntegerViewGivesTheSameValues) {
  for (const Example& example : examples()) {
    const auto block = example_block(example);
    const QuantMatrix matrix = one_row(example.form, block);
    std::vector<float> row(matrix.cols()), scale(matrix.group_count()), offset(matrix.group_count());
    std::vector<uint8_t> codes(matrix.cols());
    matrix.dequantize_row(0, row.data());
    matrix.decode_codes(0, codes.data());
    matrix.decode_groups(0, scale.data(), offset.data());
    for (size_t k = 0; k < row.size(); ++k) {
      const size_t g = k / matrix.group_size();
      const float value = matrix.affine() ? scale[g] * codes[k] + offset[g] : scale[g] * matrix.codebook()[codes[k]];
      EXPECT_LT(codes[k], 1 << matrix.code_bits());
      EXPECT_EQ(row[k], value) << quant_form_name(example.form) << " at " << k;
    }
  }
}

std::string quantised_hex(QuantForm form) {
  std::vector<float> x(32);
  for (int i = 0; i < 32; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i - 10) / 8.0f;
  std::vector<std::byte> out;
  quantize_gguf_row(form, x, out);
  std::string hex;
  for (const std::byte byte : out) {
    char two[4];
    std::snprintf(two, sizeof two, "%02x ", static_cast<unsigned>(byte));
    hex += two;
  }
  hex.pop_back();
  return hex;
}

TEST(QuantizeGgufRow, WritesTheWorkedExamples) {
  EXPECT_EQ(quantised_hex(QuantForm::kQ4_0), "40 b5 6c 5b 5b 5b 4a 4a 3a 39 39 28 28 28 17 17 06 06");
  EXPECT_EQ(quantised_hex(QuantForm::kQ4_1), "22 34 00 bd 80 80 91 91 a2 a2 b3 b3 c4 c4 d5 d5 e6 e6 f7 f7");
  EXPECT_EQ(quantised_hex(QuantForm::kQ5_0), "40 b1 ff 07 00 00 b8 b7 a6 95 85 84 73 62 52 51 40 3f 2e 2e 1d 0c");
  EXPECT_EQ(quantised_hex(QuantForm::kQ5_1),
            "00 30 00 bd 00 00 ff ff 00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff");
  const std::string q8 = quantised_hex(QuantForm::kQ8_0);
  EXPECT_TRUE(q8.starts_with("4b 25 c4 ca d0 d6 dc e2")) << q8;
  EXPECT_TRUE(q8.ends_with("73 79 7f")) << q8;
}

}  // namespace
}  // namespace scratchy
