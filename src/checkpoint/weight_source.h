// Where the bytes of a program's weights are in a published checkpoint, as plain data.
//
// The compiler plans it (config/plan_weights.h) and writes it into the binary as constants; the runtime reads a checkpoint
// by it (load_weight.h, check_tensors.h). A weight lists the forms it is published in; the first one whose tensors are
// there is read. Views point into storage that outlives the plan: literals in a binary, the WeightPlan in the compiler.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace scratchy {

// A prefix that checkpoints put before module paths: "model." before the decoder's, "" before the head's.
struct WeightRoot {
  std::string_view decoder;
  std::string_view outer;
};

enum class WeightPlace : uint8_t {
  kDecoder,  // under the decoder's prefix, safetensors
  kOuter,    // under the outer prefix, safetensors
  kGguf,     // no prefix, GGUF
};

// One published form of a weight.
struct WeightForm {
  WeightPlace place = WeightPlace::kDecoder;
  // Module path, "layers.{layer}.mlp.experts.{expert}.up_proj". `{layer}` and `{expert}` stand for their numbers; a path
  // without `{expert}` of a stacked weight is the whole stack.
  std::string_view path;
  bool bare = false;        // the path is a tensor's whole name: no ".weight", no quantised forms
  bool transposed = false;  // stored [in, out]
  bool copy = false;        // may also stand beside the first form, with the same bytes: the head of a tied model

  // Rows first, first + step, ... of `of` stored rows: a part of a fused matrix. of == 0: all rows, as stored.
  int64_t first = 0;
  int64_t step = 1;
  int64_t of = 0;

  // Rows are stored as a GGUF converter reorders them for adjacent rotary pairs: in each of so many heads, [D/2, 2] where
  // the program wants [2, D/2]. 0 = as the program wants them.
  int32_t rotary_heads = 0;

  // Rows (or columns) from `tile_begin` on are value heads of `tile_width`, stored v * tile_groups + k where the program
  // wants k * (heads / tile_groups) + v. tile_groups 0 = no.
  int32_t tile_groups = 0;
  int32_t tile_width = 1;
  int64_t tile_begin = 0;
  bool tile_columns = false;

  // Each of so many heads is split over two tensors: its first rows lie here, transposed, [heads, columns, first rows]; its
  // other rows in `beside`, [heads, other rows, columns]. 0 = no.
  int32_t split_heads = 0;
  std::string_view beside;

  // Vectors only, in this order.
  bool log_of_negative = false;  // the stored value is -exp(x)
  float add = 0.0F;              // added to the stored value
};

enum class WeightShapeKind : uint8_t {
  kMatrix,   // [rows, columns], in the form it was published in
  kExperts,  // [experts, rows, columns], the same
  kDense,    // f32 values, [experts * rows * columns] where 0 counts as 1
};

struct WeightSource {
  std::string_view name;  // as the text calls it
  int32_t layer = -1;     // -1 = not in a layer
  WeightShapeKind kind = WeightShapeKind::kMatrix;
  uint32_t experts = 0, rows = 0, columns = 0;  // of the program's weight
  std::span<const WeightForm> forms;
};

// A tensor name pattern (`*` any text, `{beyond}` a layer number past the last) that nobody needs, and why.
struct IgnoredTensor {
  std::string_view pattern;
  std::string_view reason;
};

// A GGUF metadata key that must have this value, if it is there.
struct MetadataExpectation {
  std::string_view key;   // "llama.block_count"
  double value = 0.0;
};

struct WeightPlanView {
  std::span<const WeightRoot> roots;
  std::span<const WeightSource> sources;
  std::span<const IgnoredTensor> ignored;
  std::span<const std::string_view> gguf_tags;  // general.architecture may be one of these
  std::span<const MetadataExpectation> metadata;
  int32_t layers = 0;
};

}  // namespace scratchy
