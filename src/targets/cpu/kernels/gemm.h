// Matrix products over packed weights: y[t, o] = sum over i of x[t, i] * w[o, i].
//
//   gemm<Form, Act>(x, w, shape, panels, y)      x   rows of act_row_bytes(Act, I) bytes (act.h)
//                                                w   packed_bytes(Form, O, I) bytes (pack_form.h, pack_panel.h)
//                                                y   floats, `y_stride` from row to row
//
// One call computes the panels [begin, end) of 16 outputs for T tokens: the share of one thread. Weights are the outer
// loop: a panel is read once from memory and stays in the cache while tiles of tokens pass. For one token the weights
// are one sequential stream.
//
// The same bits for every (t, o) whatever T, the panel range and the order of tokens: an output is one lane, its sum
// runs over the columns in a fixed order with fixed instructions (gemm_q8.h, gemm_f32.h), and no step mixes lanes or
// tokens.
//
// I and O are arguments, not template parameters: loops run over blocks and constant trip counts gain nothing (576 and
// 1536 differ by less than the noise), while one instance serves every matrix of a form.
#pragma once

#include "targets/cpu/kernels/gemm_f32.h"
#include "targets/cpu/kernels/gemm_q8.h"

namespace scratchy::cpu {

// Whether weights of this form multiply activations of this kind.
constexpr bool supports(PackForm form, Act act) {
  const Coding coding = traits_of(form).coding;
  switch (act) {
    case Act::kF32:
      return true;
    case Act::kBF16:
      return form == PackForm::kBF16;
    case Act::kQ8:
      return coding == Coding::kInteger || is_table(coding);
  }
  return false;
}

// Tokens in registers: with 32 registers of 512 bits 16 sums beside 8 vectors of codes, or 8 chains of multiply-adds
// (latency 4, two a cycle at best); with 16 of 256 bits a sum takes two, so 4.
// Plain code has no registers to fill. What is left of a batch goes in tiles of 4, then one by one.
constexpr int tile_tokens(Act act) {
  if (kSimdRegisters == 32) return act == Act::kQ8 ? 16 : 8;
  return kSimdRegisters == 16 ? 4 : 1;
}
inline constexpr int kTileSmall = kSimdRegisters == 1 ? 1 : 4;

struct GemmShape {
  int T = 0;
  int I = 0;
  int O = 0;
};

// Panels [begin, end) of the packed matrix.
struct PanelRange {
  int begin = 0;
  int end = 0;
};

// Where rows are: row t is number rows[t] of the batch, or number t when `rows` is null (the experts' case).
struct RowIndex {
  const int32_t* rows = nullptr;
  size_t operator()(int t) const { return static_cast<size_t>(rows != nullptr ? rows[t] : t); }
};

template <PackForm kForm, Act kAct, int kTokens>
inline void panel_tile(const std::byte* w, const std::byte* const* x, int blocks, float* out) {
  if constexpr (kAct == Act::kQ8) {
    panel_q8<kForm, kTokens>(w, reinterpret_cast<const Q8Block* const*>(x), blocks, out);
  } else if constexpr (kAct == Act::kBF16) {
    panel_bf16<kTokens>(w, reinterpret_cast<const uint16_t* const*>(x), blocks, out);
  } else {
    panel_f32<kForm, kTokens>(w, reinterpret_cast<const float* const*>(x), blocks, out);
  }
}

// The general product: sink(t, panel, lanes) takes the 16 sums of token t, panels outermost and ascending, tokens
// ascending. The sink stores, adds to a residual, applies a gate: whatever is done to a value while it is at hand.
template <PackForm kForm, Act kAct, class Sink>
void gemm_panels(const std::byte* x, RowIndex x_rows, const std::byte* w, int T, int I, PanelRange panels, Sink sink) {
  static_assert(supports(kForm, kAct));
  constexpr int kTile = tile_tokens(kAct);
  const size_t row_bytes = act_row_bytes(kAct, I);
  const size_t stride = panel_bytes(kForm, I);
  const int blocks = blocks_of(I);
  alignas(64) float lanes[kTile * kPanel];
  for (int panel = panels.begin; panel < panels.end; ++panel) {
    const std::byte* weights = w + static_cast<size_t>(panel) * stride;
    for (int t = 0; t < T;) {
      const int left = T - t;
      const int tokens = left >= kTile ? kTile : left >= kTileSmall ? kTileSmall : 1;
      const std::byte* rows[kTile];
      for (int i = 0; i < tokens; ++i) rows[i] = x + x_rows(t + i) * row_bytes;
      if (tokens == 1) {
        panel_tile<kForm, kAct, 1>(weights, rows, blocks, lanes);
      } else if (tokens == kTile) {
        panel_tile<kForm, kAct, kTile>(weights, rows, blocks, lanes);
      } else {
        panel_tile<kForm, kAct, kTileSmall>(weights, rows, blocks, lanes);
      }
      for (int i = 0; i < tokens; ++i) sink(t + i, panel, static_cast<const float*>(lanes + kPanel * i));
      t += tokens;
    }
  }
}

enum class Store : uint8_t { kSet, kAdd };

// y[y_rows(t), o] = (or +=) row x_rows(t) of x times row o of w, for t < T and the outputs of `panels`.
template <PackForm kForm, Act kAct, Store kStore = Store::kSet>
void gemm(const std::byte* x, RowIndex x_rows, const std::byte* w, GemmShape shape, PanelRange panels, float* y,
          RowIndex y_rows, size_t y_stride) {
  gemm_panels<kForm, kAct>(x, x_rows, w, shape.T, shape.I, panels, [&](int t, int panel, const float* lanes) {
    const int first = panel * kPanel;
    float* row = y + y_rows(t) * y_stride + first;
    if (shape.O - first >= kPanel) {
      const F32x16 sums = f32_load(lanes);
      f32_store(row, kStore == Store::kAdd ? add(f32_load(row), sums) : sums);
    } else {
      for (int i = 0; i < shape.O - first; ++i) row[i] = kStore == Store::kAdd ? row[i] + lanes[i] : lanes[i];
    }
  });
}

// Rows in order.
template <PackForm kForm, Act kAct, Store kStore = Store::kSet>
void gemm(const std::byte* x, const std::byte* w, GemmShape shape, PanelRange panels, float* y, size_t y_stride) {
  gemm<kForm, kAct, kStore>(x, RowIndex{}, w, shape, panels, y, RowIndex{}, y_stride);
}

}  // namespace scratchy::cpu
