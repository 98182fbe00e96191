// Gives each matrix product its operand in the form the target's kernels read (blocks of 16-bit codes, bf16), made once however many
// products share it.
//
//   q = gemm(x, wq); k = gemm(x, wk)      =>      p = prepare(x); q = gemm(p, wq); k = gemm(p, wk)
//
// Afterwards the first operand of every gemm, gemm_heads and gemm_experts is a prepare.
#pragma once

#include "graph/graph.h"

namespace scratchy {

void prepare_rows(Graph& graph);

}  // namespace scratchy
