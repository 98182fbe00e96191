// The kernels of one way to hold a matrix, as GemmVariant points to them. A program declares those it uses
// (matrix_kernels_fwd.h); each way is instantiated in a source of its own, which all programs of a binary share.
#pragma once

#include <utility>

#include "tape/program.h"
#include "targets/cpu/kernels/gemm.h"
#include "targets/cpu/kernels/matrix_kernels_fwd.h"

namespace scratchy::cpu {

// One row of a packed matrix as f32, [I].
template <PackForm kForm>
void unpack_row(const std::byte* panels, int32_t I, int32_t row, float* out) {
  const std::byte* panel = panels + static_cast<size_t>(row / kPanel) * panel_bytes(kForm, I);
  const int lane = row % kPanel;
  int column = 0;
  for_each_weight_block<kForm>(panel, blocks_of(I), [&](const WeightBlock<kForm>& block, int) {
    [&]<int... kColumns>(std::integer_sequence<int, kColumns...>) {
      (
          [&] {
            alignas(64) float lanes[kPanel];
            f32_store(lanes, block.template column<kColumns>());
            if (column < I) out[column] = lanes[lane];
            ++column;
          }(),
          ...);
    }(std::make_integer_sequence<int, kBlock>());
  });
}

template <PackForm kForm, Act kAct>
void gemm_variant(const GemmCall& c) {
  gemm<kForm, kAct>(c.x, RowIndex{c.x_rows}, c.weights, GemmShape{c.row_count, c.inputs, c.outputs},
                    PanelRange{c.panel_begin, c.panel_end}, c.y, RowIndex{c.y_rows}, static_cast<size_t>(c.y_stride));
}

}  // namespace scratchy::cpu
