// What one token costs a loaded program in matrix products: the least that the memory must deliver and the processor must
// multiply. Attention and caches come on top.
#pragma once

#include "bench/probe.h"
#include "tape/program.h"

namespace scratchy {

struct TokenWork {
  double decode_bytes = 0;       // of weights that a decoded token reads
  double prompt_multiplies = 0;  // of a token of a prompt, in multiplications of `kind`
  Multiply kind = Multiply::kF32;  // what most of them are
};

// A 16-bit activation counts as two 8-bit multiplications.
TokenWork token_work(const CompiledProgram& program, const WeightView* weights);

}  // namespace scratchy
