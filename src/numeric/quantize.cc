#include "numeric/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/check.h"
#include "numeric/dtype.h"

namespace scratchy {
namespace {

using Block32 = std::span<const float, 32>;

float inverse(float d) { return d != 0.0f ? 1.0f / d : 0.0f; }

void append_u16(uint16_t value, std::vector<std::byte>& out) {
  out.push_back(static_cast<std::byte>(value & 255));
  out.push_back(static_cast<std::byte>(value >> 8));
}

// Low nibbles hold values 0..15, high ones 16..31; the fifth bits, if any, come first as one word.
void append_codes(const std::array<uint8_t, 32>& codes, bool fifth_bits, std::vector<std::byte>& out) {
  if (fifth_bits) {
    uint32_t word = 0;
    for (int i = 0; i < 32; ++i) word |= static_cast<uint32_t>(codes[i] >> 4 & 1) << i;
    for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::byte>(word >> 8 * i & 255));
  }
  for (int i = 0; i < 16; ++i) out.push_back(static_cast<std::byte>((codes[i] & 15) | (codes[i + 16] & 15) << 4));
}

// Q4_0 (half 8) and Q5_0 (half 16): the value of largest magnitude becomes code 0.
void quantize_symmetric(Block32 x, int half, std::vector<std::byte>& out) {
  float extreme = 0.0f;
  for (const float value : x) {
    if (std::fabs(value) > std::fabs(extreme)) extreme = value;
  }
  const float d = extreme / static_cast<float>(-half);
  const float scale = inverse(d);
  std::array<uint8_t, 32> codes{};
  for (int i = 0; i < 32; ++i) {
    const int code = static_cast<int>(x[i] * scale + (static_cast<float>(half) + 0.5f));
    codes[i] = static_cast<uint8_t>(std::min(2 * half - 1, code));
  }
  append_u16(f32_to_f16(d), out);
  append_codes(codes, half == 16, out);
}

// Q4_1 (top 15) and Q5_1 (top 31).
void quantize_asymmetric(Block32 x, int top, std::vector<std::byte>& out) {
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  const float m = *least;
  const float d = (*most - m) / static_cast<float>(top);
  const float scale = inverse(d);
  std::array<uint8_t, 32> codes{};
  for (int i = 0; i < 32; ++i) {
    codes[i] = static_cast<uint8_t>(std::min(top, static_cast<int>((x[i] - m) * scale + 0.5f)));
  }
  append_u16(f32_to_f16(d), out);
  append_u16(f32_to_f16(m), out);
  append_codes(codes, top == 31, out);
}

void quantize_q8_0(Block32 x, std::vector<std::byte>& out) {
  float largest = 0.0f;
  for (const float value : x) largest = std::max(largest, std::fabs(value));
  const float d = largest / 127.0f;
  const float scale = inverse(d);
  append_u16(f32_to_f16(d), out);
  for (const float value : x) out.push_back(static_cast<std::byte>(static_cast<int8_t>(std::round(value * scale))));
}

}  // namespace

void quantize_gguf_row(QuantForm form, std::span<const float> row, std::vector<std::byte>& out) {
  SCRATCHY_CHECK(row.size() % 32 == 0, std::to_string(row.size()));
  for (size_t at = 0; at < row.size(); at += 32) {
    const Block32 block = row.subspan(at).first<32>();
    if (form == QuantForm::kQ4_0) quantize_symmetric(block, 8, out);
    else if (form == QuantForm::kQ5_0) quantize_symmetric(block, 16, out);
    else if (form == QuantForm::kQ4_1) quantize_asymmetric(block, 15, out);
    else if (form == QuantForm::kQ5_1) quantize_asymmetric(block, 31, out);
    else if (form == QuantForm::kQ8_0) quantize_q8_0(block, out);
    else SCRATCHY_UNREACHABLE(std::string(quant_form_name(form)));
  }
}

AffineGroup quantize_mlx_group(std::span<const float> group, int bits, std::span<uint8_t> codes) {
  SCRATCHY_CHECK(!group.empty() && codes.size() == group.size(), "sizes");
  const float top = static_cast<float>((1 << bits) - 1);
  const auto [least, most] = std::minmax_element(group.begin(), group.end());
  const bool low_edge = std::fabs(*least) > std::fabs(*most);
  float scale = std::max((*most - *least) / top, 1e-7f);
  if (!low_edge) scale = -scale;
  const float edge = low_edge ? *least : *most;
  const float steps = std::nearbyint(edge / scale);
  AffineGroup result{scale, 0.0f};
  if (steps != 0.0f) result = {edge / steps, edge};
  for (size_t i = 0; i < group.size(); ++i) {
    const float code = std::nearbyint((group[i] - result.bias) / result.scale);
    codes[i] = static_cast<uint8_t>(std::clamp(code, 0.0f, top));
  }
  return result;
}

void pack_bit_stream(std::span<const uint8_t> codes, int bits, std::vector<std::byte>& out) {
  uint32_t window = 0;
  int filled = 0;
  for (const uint8_t code : codes) {
    window |= static_cast<uint32_t>(code) << filled;
    filled += bits;
    for (; filled >= 8; filled -= 8, window >>= 8) out.push_back(static_cast<std::byte>(window & 255));
  }
  if (filled > 0) out.push_back(static_cast<std::byte>(window & 255));
}

uint16_t quantize_scratch1_row(std::span<const float> row, std::vector<std::byte>& out) {
  float sum = 0.0f;
  for (const float value : row) sum += std::fabs(value);
  uint16_t scale = row.empty() ? 0 : f32_to_f16(sum / static_cast<float>(row.size()));
  if (scale == 0 && sum != 0.0f) scale = 1;  // 2^-24
  for (size_t at = 0; at < row.size(); at += 8) {
    uint8_t byte = 0;
    for (size_t k = at; k < std::min(at + 8, row.size()); ++k) {
      if (row[k] >= 0.0f) byte |= static_cast<uint8_t>(0x80 >> (k - at));
    }
    out.push_back(static_cast<std::byte>(byte));
  }
  return scale;
}

uint16_t quantize_scratch4_row(std::span<const float> row, std::vector<std::byte>& out) {
  float largest = 0.0f;
  for (const float value : row) largest = std::max(largest, std::fabs(value));
  const uint16_t scale = f32_to_f16(largest / 7.0f);
  const float s = f16_to_f32(scale);
  const auto nibble = [&](size_t k) -> uint8_t {
    if (k >= row.size() || s == 0.0f) return 8;
    return static_cast<uint8_t>(8 + static_cast<int>(std::clamp(std::nearbyint(row[k] / s), -7.0f, 7.0f)));
  };
  for (size_t k = 0; k < row.size(); k += 2) out.push_back(static_cast<std::byte>(nibble(k) | nibble(k + 1) << 4));
  return scale;
}

}  // namespace scratchy
