// Layouts of packed weights: what the matrix kernels read, one contiguous stream a matrix.
//
// A matrix [O, I] is cut into panels of 16 outputs; a panel into blocks of 32 columns (k). In a panel a lane is an
// output, so that one vector holds the same k of 16 outputs and no sum ever crosses lanes:
//
//   panel   | codebook? | header | block | block | ... | header | block | ...
//   header  | 16 scales | 16 offsets?                       one for every `group` columns, before their blocks
//   block   | 16 x 32 codes, 64 * bits bytes (gemm_codes.h draws the bit planes)
//
// Everything stands in the order the kernel reads it. The layout is the same for every processor; O is padded to 16
// with zero weights and I to 32 with zero codes. Values are those of the checkpoint, in another order: packing loses
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace scratchy::cpu {

inline constexpr int kPanel = 16;  // outputs of a panel: the f32 lanes of 512 bits
inline constexpr int kBlock = 32;  // columns of a block: one scale of the common forms, one scale of q16 activations

enum class PackForm : uint8_t {
#define PACK_FORM(name, text, coding, bits, group, scale, offset) name,
#include "targets/cpu/kernels/pack_form.def"
#undef PACK_FORM
};

enum class Coding : uint8_t {
  kDenseF32,
  kDenseF16,
  kDenseBF16,
  kInteger,     // unsigned integers
  kTableIq4Nl,  // 4-bit indices into the 16 integers of IQ4_NL
  kTableE2m1,   // fp4: 4-bit indices into twice the e2m1 values; the stored scale is half of the source's
  kCodebook,    // 4-bit indices into 16 floats, stored at the head of every panel
  kFp8,         // e4m3 bytes
};

enum class Scale : uint8_t {
  kNone,
  kF16,
  kBF16,
  kF32,
  kSuper4,  // K-quants: f16 d and dmin per 256, 4-bit scale and 4-bit min per group in one byte
  kSuper6,  // K-quants: f16 d (and dmin if paired) per 256, 6-bit integers per group
  kSuper8,  // K-quants: f16 d per 256, signed 8-bit integer per group
};

enum class Offset : uint8_t {
  kNone,
  kMiddle,  // codes count from 2^(bits-1); nothing is stored
  kPaired,  // stored beside the scale, in its type
  kZero,    // an integer zero point, one byte: offset = -scale * zero
};

struct PackTraits {
  std::string_view text;
  Coding coding;
  int bits;
  int group;
  Scale scale;
  Offset offset;
};

inline constexpr PackTraits kPackTraits[] = {
#define PACK_FORM(name, text, coding, bits, group, scale, offset) \
  {text, Coding::coding, bits, group, Scale::scale, Offset::offset},
#include "targets/cpu/kernels/pack_form.def"
#undef PACK_FORM
};
inline constexpr int kPackFormCount = static_cast<int>(sizeof(kPackTraits) / sizeof(kPackTraits[0]));

constexpr const PackTraits& traits_of(PackForm form) { return kPackTraits[static_cast<int>(form)]; }
constexpr std::string_view pack_form_name(PackForm form) { return traits_of(form).text; }

constexpr std::optional<PackForm> parse_pack_form(std::string_view text) {
  for (int i = 0; i < kPackFormCount; ++i) {
    if (kPackTraits[i].text == text) return static_cast<PackForm>(i);
  }
  return std::nullopt;
}

constexpr bool is_dense(const PackTraits& form) { return form.scale == Scale::kNone; }
constexpr bool is_super(const PackTraits& form) {
  return form.scale == Scale::kSuper4 || form.scale == Scale::kSuper6 || form.scale == Scale::kSuper8;
}

constexpr int blocks_of(int I) { return (I + kBlock - 1) / kBlock; }
constexpr int panels_of(int O) { return (O + kPanel - 1) / kPanel; }

// Blocks that follow one header; a row's only header is followed by all of them.
constexpr int blocks_per_header(const PackTraits& form, int blocks) {
  if (is_super(form)) return 256 / kBlock;
  if (form.group == 0) return blocks;
  return form.group > kBlock ? form.group / kBlock : 1;
}

// Scale groups under one header: more than one for K-quants and for groups narrower than a block.
constexpr int groups_per_header(const PackTraits& form) {
  if (is_super(form)) return 256 / form.group;
  return form.group == 16 ? 2 : 1;
}

constexpr size_t header_bytes(const PackTraits& form) {
  const size_t lanes = kPanel;
  const size_t paired = form.offset == Offset::kPaired ? 2 : 1;
  const size_t zero = form.offset == Offset::kZero ? lanes : 0;
  const size_t groups = static_cast<size_t>(groups_per_header(form));
  switch (form.scale) {
    case Scale::kNone:
      return 0;
    case Scale::kF16:
    case Scale::kBF16:
      return groups * (lanes * 2 * paired + zero);
    case Scale::kF32:
      return groups * (lanes * 4 * paired + zero);
    case Scale::kSuper4:
      return lanes * 4 + 256;
    case Scale::kSuper6:
      return lanes * 2 * paired + 192;
    case Scale::kSuper8:
      return lanes * 2 + 256;
  }
  return 0;
}

constexpr size_t block_code_bytes(const PackTraits& form) { return static_cast<size_t>(form.bits) * 64; }
constexpr size_t codebook_bytes(const PackTraits& form) { return form.coding == Coding::kCodebook ? 64 : 0; }

// Bytes of one panel of rows of I columns.
constexpr size_t panel_bytes(PackForm pack_form, int I) {
  const PackTraits& form = traits_of(pack_form);
  const int blocks = blocks_of(I);
  if (blocks == 0) return codebook_bytes(form);
  const int step = blocks_per_header(form, blocks);
  const size_t headers = static_cast<size_t>((blocks + step - 1) / step);
  return codebook_bytes(form) + headers * header_bytes(form) + static_cast<size_t>(blocks) * block_code_bytes(form);
}

// Bytes of a packed matrix [O, I]. The caller has bounded O * I so that the product fits.
constexpr size_t packed_bytes(PackForm form, int O, int I) {
  return static_cast<size_t>(panels_of(O)) * panel_bytes(form, I);
}

// The integers behind the two table codings, as value + 128: kernels read them like 8-bit codes with middle 128.
inline constexpr uint8_t kIq4NlTable[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
inline constexpr uint8_t kE2m1Table[16] = {128, 129, 130, 131, 132, 134, 136, 140,
                                           128, 127, 126, 125, 124, 122, 120, 116};

}  // namespace scratchy::cpu
