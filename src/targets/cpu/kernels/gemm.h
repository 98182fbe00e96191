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
// runs over the columns in a fixed order with fixed instructions (gemm_q16.h, gemm_f32.h), and no step mixes lanes or
// tokens.
//
// I and O are arguments, not template parameters: loops run over blocks and constant trip counts gain nothing (576 and
// 1536 differ by less than the noise), while one instance serves every matrix of a form.
#pragma once

#include "targets/cpu/kernels/gemm_f32.h"
#include "targets/cpu/kernels/gemm_q16.h"

namespace scratchy::cpu {

// Whether weights of this form multiply activations of this kind.
constexpr bool supports(PackForm form, Act act) {
  const Coding coding = traits_of(form).coding;
  switch (act) {
    case Act::kF32:
      return true;
    case Act::kBF16:
      return form == PackForm::kBF16;
    case Act::kQ16:
      return coding == Coding::kInteger || is_table(coding);
  }
  return false;
}

// A tile of sums in registers: kTilePanels panels by kTileTokens tokens. 32 registers of 512 bits hold 2 x 4 (gemm_q16.h
// counts them); with 16 of 256 bits a sum takes two, so 1 x 4; plain code has no registers to fill. 2 x 4 is also eight
// chains of multiply-adds, which latency 4 at two a cycle needs. What is left over goes in tiles of 1 x 4 and 1 x 1.
inline constexpr int kTilePanels = kSimdRegisters == 32 ? 2 : 1;
inline constexpr int kTileTokens = kSimdRegisters == 1 ? 1 : 4;

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

// lanes[p, t, 16] = kPanels panels times kTokens rows.
template <PackForm kForm, Act kAct, int kPanels, int kTokens>
inline void multiply_tile(const std::byte* w, size_t stride, const std::byte* const* x, int blocks, float* lanes) {
  if constexpr (kAct == Act::kQ16) {
    panel_q16<kForm, kPanels, kTokens>(w, stride, reinterpret_cast<const Q16Block* const*>(x), blocks, lanes);
  } else if constexpr (kAct == Act::kBF16) {
    panel_bf16<kPanels, kTokens>(w, stride, reinterpret_cast<const uint16_t* const*>(x), blocks, lanes);
  } else {
    panel_f32<kForm, kPanels, kTokens>(w, stride, reinterpret_cast<const float* const*>(x), blocks, lanes);
  }
}

// All tokens times kPanels panels that begin at `w`, the first being number `panel`.
template <PackForm kForm, Act kAct, int kPanels, class Sink>
void multiply_panels(const std::byte* x, RowIndex x_rows, const std::byte* w, int T, int I, int panel, Sink& sink) {
  const size_t row_bytes = act_row_bytes(kAct, I);
  const size_t stride = panel_bytes(kForm, I);
  const int blocks = blocks_of(I);
  alignas(64) float lanes[kPanels * kTileTokens * kPanel];
  const std::byte* rows[kTileTokens];
  for (int t = 0; t < T;) {
    const int left = T - t;
    const int tokens = left >= kTileTokens ? kTileTokens : 1;
    for (int i = 0; i < tokens; ++i) rows[i] = x + x_rows(t + i) * row_bytes;
    if (tokens == kTileTokens) {
      multiply_tile<kForm, kAct, kPanels, kTileTokens>(w, stride, rows, blocks, lanes);
    } else {
      for (int p = 0; p < kPanels; ++p) {
        multiply_tile<kForm, kAct, 1, 1>(w + static_cast<size_t>(p) * stride, 0, rows, blocks, lanes + kPanel * p);
      }
    }
    for (int p = 0; p < kPanels; ++p) {
      for (int i = 0; i < tokens; ++i) {
        sink(t + i, panel + p, static_cast<const float*>(lanes + kPanel * (p * tokens + i)));
      }
    }
    t += tokens;
  }
}

// The general product: sink(t, panel, lanes) takes the 16 sums of token t, panels ascending for each token and tokens
// ascending for each panel. The sink stores, adds to a residual, applies a gate: whatever is done to a value while it
// is at hand.
template <PackForm kForm, Act kAct, class Sink>
void gemm_panels(const std::byte* x, RowIndex x_rows, const std::byte* w, int T, int I, PanelRange panels, Sink sink) {
  static_assert(supports(kForm, kAct));
  const size_t stride = panel_bytes(kForm, I);
  int panel = panels.begin;
  if constexpr (kTilePanels > 1) {
    for (; T >= kTileTokens && panel + kTilePanels <= panels.end; panel += kTilePanels) {
      multiply_panels<kForm, kAct, kTilePanels>(x, x_rows, w + static_cast<size_t>(panel) * stride, T, I, panel, sink);
    }
  }
  for (; panel < panels.end; ++panel) {
    multiply_panels<kForm, kAct, 1>(x, x_rows, w + static_cast<size_t>(panel) * stride, T, I, panel, sink);
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
