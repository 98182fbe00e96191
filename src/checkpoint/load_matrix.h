// Weights by published module path: finds the suffix set that is there, checks it against the shape the program expects
// and the config's section, reads the bytes and hands back the matrix.
//
//   module + .weight                                           dense, or the type of a GGUF tensor
//          + .qweight .qzeros .scales (.g_idx)                 AWQ or GPTQ, told apart by shape
//          + .weight_packed .weight_scale .weight_shape ...    compressed-tensors integers; U8 codes: NVFP4
//          + .weight F8 .weight_scale(_inv) (.input_scale)     fp8 by tensor, channel or block
//          + .weight U8 .weight_scale .weight_scale_2          NVFP4 (modelopt)
//          + _blocks U8 _scales U8                             MXFP4, stacks of experts
//          + .weight U32 .scales .biases                       MLX affine
//          + .weight U8 .weight.absmax .weight.quant_map ...   bitsandbytes nf4
//          + __bin | __int4, __scale                           scratch-packed
//
// A module path may itself name a tensor without suffix (`layers.0.mlp.experts.gate_up_proj`): then that tensor is dense.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "numeric/quant_matrix.h"

namespace scratchy {

struct MatrixShape {
  uint32_t rows = 0;     // N, out features
  uint32_t cols = 0;     // K, in features
  uint32_t experts = 0;  // 0: no leading dimension; else tensors lead with [E]
  // The dense tensor is stored [K, N] ([E, K, N]).
  bool transposed = false;
};

// The matrix at `module`, owning its bytes. A Failure names the module or tensor, what the file has and what the rule is;
// scales that are not finite are refused.
Result<QuantMatrix> load_matrix(const Checkpoint& checkpoint, std::string_view module, const MatrixShape& shape);

// The values of tensor `name`, widened to f32, whose element count must be `count`. F32, F16, BF16 and, in GGUF files,
// block types.
Result<std::vector<float>> load_vector(const Checkpoint& checkpoint, std::string_view name, uint64_t count);

// The quant form load_matrix would find at `module`, from the tensors' names and types alone; a Failure lists what is
// there when no set fits.
Result<QuantForm> find_form(const Checkpoint& checkpoint, std::string_view module);

// Every tensor name that belongs to `module`'s weight (not its `.bias`), to tell which tensors of a checkpoint were used.
std::vector<std::string> weight_tensors(const Checkpoint& checkpoint, std::string_view module);

// Whether `name` is known to be needed by nobody: cache scales, rotary tables and the like.
bool is_unneeded_tensor(std::string_view name);

}  // namespace scratchy
