#include "numeric/gguf_blocks.h"

#include "base/check.h"
#include "numeric/dtype.h"

namespace scratchy {

const float kIq4NlValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
const float kE2m1Values[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

namespace {

// Bytes of a block by offset.
class Block {
 public:
  explicit Block(const std::byte* at) : at_(at) {}
  uint32_t u8(size_t offset) const { return static_cast<uint32_t>(at_[offset]); }
  int i8(size_t offset) const { return static_cast<int8_t>(at_[offset]); }
  uint32_t u32(size_t offset) const {
    return u8(offset) | u8(offset + 1) << 8 | u8(offset + 2) << 16 | u8(offset + 3) << 24;
  }
  float f16(size_t offset) const { return f16_to_f32(static_cast<uint16_t>(u8(offset) | u8(offset + 1) << 8)); }

 private:
  const std::byte* at_;
};

// Value i of 32 is the low (i < 16) or high nibble of byte i % 16.
uint32_t nibble_of_32(const Block& b, size_t qs, int i) { return (b.u8(qs + i % 16) >> 4 * (i / 16)) & 15; }

void codes_of_32(const Block& b, size_t qs, uint8_t* codes) {
  for (int i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(nibble_of_32(b, qs, i));
}

void codes_of_32_with_fifth_bit(const Block& b, size_t qh_at, size_t qs, uint8_t* codes) {
  const uint32_t qh = b.u32(qh_at);
  for (int i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(nibble_of_32(b, qs, i) | ((qh >> i) & 1) << 4);
}

// Two-bit value i of 256 in 64 bytes.
uint32_t two_bits_of_256(const Block& b, size_t qs, int i) {
  return (b.u8(qs + 32 * (i / 128) + i % 32) >> 2 * ((i / 32) % 4)) & 3;
}

// Four-bit value i of 256 in 128 bytes, as Q4_K and Q5_K order them.
uint32_t nibble_of_256(const Block& b, size_t qs, int i) {
  return (b.u8(qs + 32 * (i / 64) + i % 32) >> 4 * ((i / 32) % 2)) & 15;
}

uint32_t q6_k_code(const Block& b, int i) {
  const int half = i / 128;
  const int r = i % 128;
  const uint32_t low = (b.u8(64 * half + r % 64) >> 4 * (r / 64)) & 15;
  const uint32_t high = (b.u8(128 + 32 * half + r % 32) >> 2 * (r / 32)) & 3;
  return low | high << 4;
}

// Six-bit scale j of 16.
int q3_k_scale(const Block& b, size_t at, int j) {
  const uint32_t low = (b.u8(at + j % 8) >> 4 * (j / 8)) & 15;
  const uint32_t high = (b.u8(at + 8 + j % 4) >> 2 * (j / 4)) & 3;
  return static_cast<int>(low | high << 4);
}

// Six-bit scale and minimum j of 8, as Q4_K and Q5_K pack them in 12 bytes.
void k_scale_and_minimum(const Block& b, size_t at, int j, float* scale, float* minimum) {
  if (j < 4) {
    *scale = static_cast<float>(b.u8(at + j) & 63);
    *minimum = static_cast<float>(b.u8(at + j + 4) & 63);
  } else {
    *scale = static_cast<float>((b.u8(at + j + 4) & 15) | (b.u8(at + j - 4) >> 6) << 4);
    *minimum = static_cast<float>((b.u8(at + j + 4) >> 4) | (b.u8(at + j) >> 6) << 4);
  }
}

void k_groups(const Block& b, GroupValue* groups) {
  const float d = b.f16(0);
  const float dmin = b.f16(2);
  for (int j = 0; j < 8; ++j) {
    float scale = 0, minimum = 0;
    k_scale_and_minimum(b, 4, j, &scale, &minimum);
    groups[j] = {d * scale, 0.0f, -(dmin * minimum)};
  }
}

[[noreturn]] void not_a_block_form(QuantForm form) { SCRATCHY_UNREACHABLE(std::string(quant_form_name(form))); }

}  // namespace

uint32_t block_group_size(QuantForm form) {
  const bool sixteen = form == QuantForm::kQ2_K || form == QuantForm::kQ3_K || form == QuantForm::kQ6_K;
  return sixteen ? 16 : 32;
}

int block_code_bits(QuantForm form) {
  switch (form) {
    case QuantForm::kQ2_K: return 2;
    case QuantForm::kQ3_K: return 3;
    case QuantForm::kQ4_0: case QuantForm::kQ4_1: case QuantForm::kQ4_K: case QuantForm::kIQ4_NL:
    case QuantForm::kMxfp4: return 4;
    case QuantForm::kQ5_0: case QuantForm::kQ5_1: case QuantForm::kQ5_K: return 5;
    case QuantForm::kQ6_K: return 6;
    case QuantForm::kQ8_0: return 8;
    case QuantForm::kF32: case QuantForm::kF16: case QuantForm::kBF16: case QuantForm::kAwq: case QuantForm::kGptq:
    case QuantForm::kGptqV2: case QuantForm::kCtInt: case QuantForm::kNf4: case QuantForm::kFp8: case QuantForm::kNvfp4:
    case QuantForm::kNvfp4Ct: case QuantForm::kMxfp4Split: case QuantForm::kMlxAffine: case QuantForm::kScratch1:
    case QuantForm::kScratch4: break;
  }
  not_a_block_form(form);
}

void decode_block_codes(QuantForm form, const std::byte* block, uint8_t* codes) {
  const Block b(block);
  switch (form) {
    case QuantForm::kQ4_0: case QuantForm::kIQ4_NL: return codes_of_32(b, 2, codes);
    case QuantForm::kMxfp4: return codes_of_32(b, 1, codes);
    case QuantForm::kQ4_1: return codes_of_32(b, 4, codes);
    case QuantForm::kQ5_0: return codes_of_32_with_fifth_bit(b, 2, 6, codes);
    case QuantForm::kQ5_1: return codes_of_32_with_fifth_bit(b, 4, 8, codes);
    case QuantForm::kQ8_0:
      for (int i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(b.i8(2 + i) + 128);
      return;
    case QuantForm::kQ2_K:
      for (int i = 0; i < 256; ++i) codes[i] = static_cast<uint8_t>(two_bits_of_256(b, 16, i));
      return;
    case QuantForm::kQ3_K:
      for (int i = 0; i < 256; ++i) {
        codes[i] = static_cast<uint8_t>(two_bits_of_256(b, 32, i) | ((b.u8(i % 32) >> i / 32) & 1) << 2);
      }
      return;
    case QuantForm::kQ4_K:
      for (int i = 0; i < 256; ++i) codes[i] = static_cast<uint8_t>(nibble_of_256(b, 16, i));
      return;
    case QuantForm::kQ5_K:
      for (int i = 0; i < 256; ++i) {
        codes[i] = static_cast<uint8_t>(nibble_of_256(b, 48, i) | ((b.u8(16 + i % 32) >> i / 32) & 1) << 4);
      }
      return;
    case QuantForm::kQ6_K:
      for (int i = 0; i < 256; ++i) codes[i] = static_cast<uint8_t>(q6_k_code(b, i));
      return;
    case QuantForm::kF32: case QuantForm::kF16: case QuantForm::kBF16: case QuantForm::kAwq: case QuantForm::kGptq:
    case QuantForm::kGptqV2: case QuantForm::kCtInt: case QuantForm::kNf4: case QuantForm::kFp8: case QuantForm::kNvfp4:
    case QuantForm::kNvfp4Ct: case QuantForm::kMxfp4Split: case QuantForm::kMlxAffine: case QuantForm::kScratch1:
    case QuantForm::kScratch4: break;
  }
  not_a_block_form(form);
}

void decode_block_groups(QuantForm form, const std::byte* block, GroupValue* groups) {
  const Block b(block);
  switch (form) {
    case QuantForm::kQ4_0: groups[0] = {b.f16(0), 8.0f, 0.0f}; return;
    case QuantForm::kQ5_0: groups[0] = {b.f16(0), 16.0f, 0.0f}; return;
    case QuantForm::kQ8_0: groups[0] = {b.f16(0), 128.0f, 0.0f}; return;
    case QuantForm::kQ4_1: case QuantForm::kQ5_1: groups[0] = {b.f16(0), 0.0f, b.f16(2)}; return;
    case QuantForm::kIQ4_NL: groups[0] = {b.f16(0), 0.0f, 0.0f}; return;
    case QuantForm::kMxfp4: groups[0] = {e8m0_to_f32(static_cast<uint8_t>(b.u8(0))), 0.0f, 0.0f}; return;
    case QuantForm::kQ2_K:
      for (int j = 0; j < 16; ++j) {
        const uint32_t packed = b.u8(j);
        groups[j] = {b.f16(80) * static_cast<float>(packed & 15), 0.0f, -(b.f16(82) * static_cast<float>(packed >> 4))};
      }
      return;
    case QuantForm::kQ3_K:
      for (int j = 0; j < 16; ++j) groups[j] = {b.f16(108) * static_cast<float>(q3_k_scale(b, 96, j) - 32), 4.0f, 0.0f};
      return;
    case QuantForm::kQ4_K: case QuantForm::kQ5_K: return k_groups(b, groups);
    case QuantForm::kQ6_K:
      for (int j = 0; j < 16; ++j) groups[j] = {b.f16(208) * static_cast<float>(b.i8(192 + j)), 32.0f, 0.0f};
      return;
    case QuantForm::kF32: case QuantForm::kF16: case QuantForm::kBF16: case QuantForm::kAwq: case QuantForm::kGptq:
    case QuantForm::kGptqV2: case QuantForm::kCtInt: case QuantForm::kNf4: case QuantForm::kFp8: case QuantForm::kNvfp4:
    case QuantForm::kNvfp4Ct: case QuantForm::kMxfp4Split: case QuantForm::kMlxAffine: case QuantForm::kScratch1:
    case QuantForm::kScratch4: break;
  }
  not_a_block_form(form);
}

}  // namespace scratchy
