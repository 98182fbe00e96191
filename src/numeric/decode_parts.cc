#include "numeric/decode_parts.h"

#include <cstring>
#include <numeric>

#include "base/check.h"

namespace scratchy {
namespace {


// Where a row of a form with one code stream a row begins.
struct RowPlace {
  uint64_t expert;
  uint64_t row;  // within the expert
};

RowPlace place_of(const QuantParts& p, uint64_t row) { return {row / p.rows, row % p.rows}; }

uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

// Code k is bits [k * bits, (k + 1) * bits) of the row's bytes, least significant first.
void unpack_stream(const std::byte* row, int bits, uint32_t count, uint8_t* codes) {
  const uint32_t mask = (1u << bits) - 1;
  for (uint32_t k = 0; k < count; ++k) {
    const uint64_t bit = uint64_t{k} * static_cast<uint64_t>(bits);
    const int shift = static_cast<int>(bit % 8);
    uint32_t window = static_cast<uint32_t>(row[bit / 8]);
    if (shift + bits > 8) window |= static_cast<uint32_t>(row[bit / 8 + 1]) << 8;
    codes[k] = static_cast<uint8_t>((window >> shift) & mask);
  }
}

// Words of bits, in rows of whole 32-bit words (MLX, compressed-tensors).
void stream_codes(const QuantParts& p, uint64_t row, uint8_t* codes) {
  const uint64_t row_bytes = 4 * ceil_div(uint64_t{p.cols} * static_cast<uint64_t>(p.bits), 32);
  unpack_stream(p.codes.bytes.data() + row * row_bytes, p.bits, p.cols, codes);
}

// Nibble of word column c that holds column 8c + j.
constexpr int kAwqNibble[8] = {0, 4, 1, 5, 2, 6, 3, 7};

void awq_codes(const QuantParts& p, uint64_t row, uint8_t* codes) {
  const auto [e, n] = place_of(p, row);
  const uint64_t words = p.rows / 8;
  const int shift = 4 * kAwqNibble[n % 8];
  for (uint32_t k = 0; k < p.cols; ++k) {
    codes[k] = static_cast<uint8_t>((p.codes.u32((e * p.cols + k) * words + n / 8) >> shift) & 15);
  }
}

void awq_groups(const QuantParts& p, uint64_t row, GroupValue* groups) {
  const auto [e, n] = place_of(p, row);
  const uint64_t count = p.cols / p.group_size;
  const int shift = 4 * kAwqNibble[n % 8];
  for (uint64_t g = 0; g < count; ++g) {
    const uint32_t zero = (p.zeros.u32((e * count + g) * (p.rows / 8) + n / 8) >> shift) & 15;
    groups[g] = {p.scales.f32((e * count + g) * p.rows + n), static_cast<float>(zero), 0.0f};
  }
}

void gptq_codes(const QuantParts& p, uint64_t row, uint8_t* codes) {
  const auto [e, n] = place_of(p, row);
  const uint32_t per_word = 32 / static_cast<uint32_t>(p.bits);
  const uint64_t word_rows = p.cols / per_word;
  const uint32_t mask = (1u << p.bits) - 1;
  for (uint64_t r = 0; r < word_rows; ++r) {
    uint32_t word = p.codes.u32((e * word_rows + r) * p.rows + n);
    for (uint32_t i = 0; i < per_word; ++i, word >>= p.bits) {
      codes[r * per_word + i] = static_cast<uint8_t>(word & mask);
    }
  }
}

// Symmetric files have zero point 2^(bits-1); version 1 stores the zero point less one.
void gptq_groups(const QuantParts& p, uint64_t row, GroupValue* groups) {
  const auto [e, n] = place_of(p, row);
  const uint64_t count = p.cols / p.group_size;
  const uint32_t per_word = 32 / static_cast<uint32_t>(p.bits);
  const uint32_t mask = (1u << p.bits) - 1;
  for (uint64_t g = 0; g < count; ++g) {
    uint32_t zero = 1u << (p.bits - 1);
    if (!p.zeros.empty()) {
      const uint32_t word = p.zeros.u32((e * count + g) * (p.rows / per_word) + n / per_word);
      zero = (word >> (static_cast<uint32_t>(p.bits) * (n % per_word))) & mask;
      if (p.form == QuantForm::kGptq) zero += 1;
    }
    groups[g] = {p.scales.f32((e * count + g) * p.rows + n), static_cast<float>(zero), 0.0f};
  }
}

// Codes and zero points are stored with offset 2^(bits-1). Zero points are one bit stream along the rows of each group.
void ct_groups(const QuantParts& p, uint64_t row, GroupValue* groups) {
  const auto [e, n] = place_of(p, row);
  const uint64_t count = ceil_div(p.cols, p.group_size);
  const uint64_t zero_rows = ceil_div(uint64_t{p.rows} * static_cast<uint64_t>(p.bits), 32);
  const uint64_t bit = n * static_cast<uint64_t>(p.bits);
  for (uint64_t g = 0; g < count; ++g) {
    uint32_t zero = 1u << (p.bits - 1);
    if (!p.zeros.empty()) {
      const uint64_t at = (e * zero_rows + bit / 32) * count + g;
      uint64_t window = p.zeros.u32(at);
      if (bit % 32 + static_cast<uint64_t>(p.bits) > 32) window |= uint64_t{p.zeros.u32(at + count)} << 32;
      zero = static_cast<uint32_t>(window >> (bit % 32)) & ((1u << p.bits) - 1);
    }
    groups[g] = {p.scales.f32(row * count + g), static_cast<float>(zero), 0.0f};
  }
}

// Nibbles over the flattened matrix, high one first.
void nf4_codes(const QuantParts& p, uint64_t row, uint8_t* codes) {
  const uint64_t first = row * p.cols;
  for (uint32_t k = 0; k < p.cols; ++k) {
    const uint32_t byte = static_cast<uint32_t>(p.codes.bytes[(first + k) / 2]);
    codes[k] = static_cast<uint8_t>((first + k) % 2 == 0 ? byte >> 4 : byte & 15);
  }
}

void nf4_groups(const QuantParts& p, uint64_t row, GroupValue* groups) {
  const uint32_t size = parts_group_size(p);
  for (uint32_t g = 0; g < p.cols / size; ++g) {
    groups[g] = {p.scales.f32((row * p.cols + uint64_t{g} * size) / p.group_size), 0.0f, 0.0f};
  }
}

// Low nibbles first, rows of whole bytes.
void fp4_codes(const QuantParts& p, uint64_t row, uint8_t* codes) {
  unpack_stream(p.codes.bytes.data() + row * (p.cols / 2), 4, p.cols, codes);
}

void nvfp4_groups(const QuantParts& p, uint64_t row, GroupValue* groups) {
  const uint64_t count = p.cols / 16;
  const float global = p.global.f32(p.global.count() == 1 ? 0 : place_of(p, row).expert);
  for (uint64_t g = 0; g < count; ++g) {
    const float scale = p.scales.f32(row * count + g);
    groups[g] = {p.form == QuantForm::kNvfp4 ? scale * global : scale / global, 0.0f, 0.0f};
  }
}

void mxfp4_groups(const QuantParts& p, uint64_t row, GroupValue* groups) {
  const uint64_t count = p.cols / 32;
  for (uint64_t g = 0; g < count; ++g) {
    groups[g] = {e8m0_to_f32(static_cast<uint8_t>(p.scales.bytes[row * count + g])), 0.0f, 0.0f};
  }
}

void fp8_groups(const QuantParts& p, uint64_t row, GroupValue* groups) {
  const auto [e, n] = place_of(p, row);
  const uint64_t count = ceil_div(p.cols, p.group_size);
  const uint64_t first = (e * ceil_div(p.rows, p.group_rows) + n / p.group_rows) * count;
  for (uint64_t g = 0; g < count; ++g) groups[g] = {p.scales.f32(first + g), 0.0f, 0.0f};
}

void mlx_groups(const QuantParts& p, uint64_t row, GroupValue* groups) {
  const uint64_t count = p.cols / p.group_size;
  for (uint64_t g = 0; g < count; ++g) {
    groups[g] = {p.scales.f32(row * count + g), 0.0f, p.offsets.f32(row * count + g)};
  }
}

// +s for 1 and -s for 0 is 2s * (bit - 0.5).
void scratch1_codes(const QuantParts& p, uint64_t row, uint8_t* codes) {
  const std::byte* bytes = p.codes.bytes.data() + row * ceil_div(p.cols, 8);
  for (uint32_t k = 0; k < p.cols; ++k) {
    const uint32_t bit = p.scratch.high_bit_first ? 7 - k % 8 : k % 8;
    codes[k] = static_cast<uint8_t>((static_cast<uint32_t>(bytes[k / 8]) >> bit) & 1);
  }
}

void scratch4_codes(const QuantParts& p, uint64_t row, uint8_t* codes) {
  const std::byte* bytes = p.codes.bytes.data() + row * ceil_div(p.cols, 2);
  const uint8_t flip = p.scratch.offset_8 ? 0 : 8;
  for (uint32_t k = 0; k < p.cols; ++k) {
    const bool low = (k % 2 == 0) == p.scratch.low_nibble_first;
    const uint32_t byte = static_cast<uint32_t>(bytes[k / 2]);
    codes[k] = static_cast<uint8_t>((low ? byte & 15 : byte >> 4) ^ flip);
  }
}

}  // namespace

uint32_t parts_group_size(const QuantParts& p) {
  if (block_weights(p.form) > 1) return block_group_size(p.form);
  if (p.form == QuantForm::kNf4) return std::gcd(p.group_size, p.cols);
  if (p.form == QuantForm::kNvfp4 || p.form == QuantForm::kNvfp4Ct) return 16;
  if (p.form == QuantForm::kMxfp4Split) return 32;
  if (p.form == QuantForm::kScratch1 || p.form == QuantForm::kScratch4) return p.cols;
  return p.group_size;
}

int parts_code_bits(const QuantParts& p) {
  if (block_weights(p.form) > 1) return block_code_bits(p.form);
  if (p.form == QuantForm::kScratch1) return 1;
  if (p.form == QuantForm::kFp8) return 8;
  return p.bits != 0 ? p.bits : 4;
}

void decode_parts_codes(const QuantParts& p, uint64_t row, uint8_t* codes) {
  switch (p.form) {
    case QuantForm::kQ4_0: case QuantForm::kQ4_1: case QuantForm::kQ5_0: case QuantForm::kQ5_1: case QuantForm::kQ8_0:
    case QuantForm::kQ2_K: case QuantForm::kQ3_K: case QuantForm::kQ4_K: case QuantForm::kQ5_K: case QuantForm::kQ6_K:
    case QuantForm::kIQ4_NL: case QuantForm::kMxfp4: {
      const uint32_t weights = static_cast<uint32_t>(block_weights(p.form));
      const uint64_t blocks = p.cols / weights;
      const std::byte* at = p.codes.bytes.data() + row * blocks * static_cast<uint64_t>(block_bytes(p.form));
      for (uint64_t b = 0; b < blocks; ++b, at += block_bytes(p.form)) decode_block_codes(p.form, at, codes + b * weights);
      return;
    }
    case QuantForm::kAwq: return awq_codes(p, row, codes);
    case QuantForm::kGptq: case QuantForm::kGptqV2: return gptq_codes(p, row, codes);
    case QuantForm::kCtInt: case QuantForm::kMlxAffine: return stream_codes(p, row, codes);
    case QuantForm::kNf4: return nf4_codes(p, row, codes);
    case QuantForm::kFp8: std::memcpy(codes, p.codes.bytes.data() + row * p.cols, p.cols); return;
    case QuantForm::kNvfp4: case QuantForm::kNvfp4Ct: case QuantForm::kMxfp4Split: return fp4_codes(p, row, codes);
    case QuantForm::kScratch1: return scratch1_codes(p, row, codes);
    case QuantForm::kScratch4: return scratch4_codes(p, row, codes);
    case QuantForm::kF32: case QuantForm::kF16: case QuantForm::kBF16: break;
  }
  SCRATCHY_UNREACHABLE("dense forms have no codes");
}

void decode_parts_groups(const QuantParts& p, uint64_t row, GroupValue* groups) {
  switch (p.form) {
    case QuantForm::kQ4_0: case QuantForm::kQ4_1: case QuantForm::kQ5_0: case QuantForm::kQ5_1: case QuantForm::kQ8_0:
    case QuantForm::kQ2_K: case QuantForm::kQ3_K: case QuantForm::kQ4_K: case QuantForm::kQ5_K: case QuantForm::kQ6_K:
    case QuantForm::kIQ4_NL: case QuantForm::kMxfp4: {
      const uint32_t weights = static_cast<uint32_t>(block_weights(p.form));
      const uint32_t per_block = weights / block_group_size(p.form);
      const uint64_t blocks = p.cols / weights;
      const std::byte* at = p.codes.bytes.data() + row * blocks * static_cast<uint64_t>(block_bytes(p.form));
      for (uint64_t b = 0; b < blocks; ++b, at += block_bytes(p.form)) decode_block_groups(p.form, at, groups + b * per_block);
      return;
    }
    case QuantForm::kAwq: return awq_groups(p, row, groups);
    case QuantForm::kGptq: case QuantForm::kGptqV2: return gptq_groups(p, row, groups);
    case QuantForm::kCtInt: return ct_groups(p, row, groups);
    case QuantForm::kMlxAffine: return mlx_groups(p, row, groups);
    case QuantForm::kNf4: return nf4_groups(p, row, groups);
    case QuantForm::kFp8: return fp8_groups(p, row, groups);
    case QuantForm::kNvfp4: case QuantForm::kNvfp4Ct: return nvfp4_groups(p, row, groups);
    case QuantForm::kMxfp4Split: return mxfp4_groups(p, row, groups);
    case QuantForm::kScratch1: groups[0] = {2.0f * p.scales.f32(row), 0.5f, 0.0f}; return;
    case QuantForm::kScratch4: groups[0] = {p.scales.f32(row), 8.0f, 0.0f}; return;
    case QuantForm::kF32: case QuantForm::kF16: case QuantForm::kBF16: break;
  }
  SCRATCHY_UNREACHABLE("dense forms have no groups");
}

void decode_dense_row(const QuantParts& p, uint64_t row, float* out) {
  if (p.transposed) {
    const auto [e, n] = place_of(p, row);
    for (uint32_t k = 0; k < p.cols; ++k) out[k] = p.codes.f32((e * p.cols + k) * p.rows + n);
    return;
  }
  const uint64_t row_bytes = p.cols * dtype_bytes(p.codes.dtype);
  widen_to_f32(p.codes.dtype, p.codes.bytes.subspan(row * row_bytes, row_bytes), {out, p.cols});
}

const float* parts_codebook(const QuantParts& p) {
  if (p.form == QuantForm::kIQ4_NL) return kIq4NlValues;
  if (p.form == QuantForm::kNf4) return p.codebook.data();
  if (p.form == QuantForm::kMxfp4 || p.form == QuantForm::kMxfp4Split) return kE2m1Values;
  if (p.form == QuantForm::kNvfp4 || p.form == QuantForm::kNvfp4Ct) return kE2m1Values;
  return nullptr;
}

}  // namespace scratchy
