// THE CONTRACT between the compiler and the runtime: what a compiled program is made of, as plain constants.
//
// A program has one tape a bucket of row counts. A tape is segments of steps; a segment with repeat > 1 is the layer
// loop, and its operands move by a stride each turn. Every thread walks the same tape: at each step it waits at the
// barrier when the step asks for it, then runs the kernel, which does this thread's share. Nothing else is decided when
// a program runs.
//
// Memory of a step:
//   shared arena   one, seen by all threads      slot at row_offset * row_capacity bytes
//   local arena    one a thread                  the same layout, for values each thread computes for itself
//   weights        the table of loaded weights   index
//   caches         planes of the KV pages        byte offset inside a page
//   states         one block a sequence slot     byte offset inside the block
#pragma once

#include <cstddef>
#include <cstdint>

#include "checkpoint/weight_source.h"
#include "tape/batch.h"

namespace scratchy {

class QuantMatrix;

struct Frame;
struct WeightView;

// Floats from row to row of a slot of `elements` a row: rows begin at a multiple of 64 bytes.
constexpr int64_t row_stride(int64_t elements) { return (elements + 15) / 16 * 16; }

// Where one operand of a step lies. In turn i of its segment `offset` counts as offset + i * stride.
struct Operand {
  enum Kind : uint8_t { kNone, kShared, kLocal, kWeight, kPlane, kState, kNumber };
  Kind kind = kNone;
  int64_t offset = 0;  // arena: bytes a row; weight: index; plane, state: bytes; number: the number itself
  int64_t stride = 0;
};

// Runs this thread's share of one step.
using Kernel = void (*)(const Frame& frame, const Operand* operands);

struct StepRecord {
  Kernel kernel;
  const Operand* operands;
  bool barrier;  // all threads have finished every step before this one
};

struct Segment {
  const StepRecord* steps;
  int32_t step_count;
  int32_t repeat;
};

// One tape serves row counts 1 .. max_tokens.
struct Bucket {
  int32_t max_tokens;
  const Segment* segments;
  int32_t segment_count;
  int64_t shared_row_bytes;  // arena bytes a row of capacity
  int64_t local_row_bytes;
  Operand logits;  // f32 rows of vocab_size, one an output row
  Operand hidden;  // kNone: the program has no second output
};

// y[t, o] for panels [panel_begin, panel_end) of one packed matrix (targets/cpu/kernels/gemm.h).
struct GemmCall {
  const std::byte* x;         // prepared rows of the variant's activation kind, one after the other
  const int32_t* x_rows;      // row indices to read, null = 0, 1, 2, ..
  const std::byte* weights;   // packed panels
  float* y;
  int64_t y_stride;           // floats between rows
  const int32_t* y_rows;      // row indices to write, null = 0, 1, 2, ..
  int32_t row_count, inputs, outputs;
  int32_t panel_begin, panel_end;
};

// What a prepared row holds, in this order.
enum class ActivationKind : uint8_t { kF32, kBF16, kQ16 };

// One way to hold a matrix, with the kernel compiled for it.
struct GemmVariant {
  uint16_t pack_form;  // of the target
  ActivationKind activation;
  void (*gemm)(const GemmCall&);
  void (*unpack_row)(const std::byte* panels, int32_t columns, int32_t row, float* out);  // one matrix row as f32
};

// A loaded weight. Vectors and small tensors are dense f32; matrices are packed panels of one variant.
struct WeightView {
  const std::byte* data = nullptr;
  const GemmVariant* variant = nullptr;  // null: dense f32
  int64_t expert_bytes = 0;              // stacked matrices: bytes from one expert to the next
};

// What is done to a tensor between the checkpoint and the program, on row-major f32.
struct WeightTransform {
  enum Kind : uint8_t { kReshape, kSlice, kTranspose } kind;
  int32_t axis, begin, end;  // of a slice
  int32_t rank;
  int32_t dims[4];  // of the result
};

// What a program needs of one weight of the checkpoint.
struct WeightRecord {
  int32_t source;         // index into the weight plan's sources
  int32_t matrices;       // 1, or the experts / heads of a stack
  int32_t rows, columns;  // of one matrix; a dense tensor has rows * columns elements and no variants
  const GemmVariant* variants;
  int32_t variant_count;
  const WeightTransform* transforms;
  int32_t transform_count;
  int32_t token_matrices;    // that the products of every token read: all, or as many as the token picks experts
  int32_t sampled_matrices;  // the same of products that run for sampled rows alone
};

// How a target packs matrices.
struct WeightPacker {
  // The next variant after number `after` (-1: the first) whose layout suits the matrix, -1 for none. `pack` tells
  // whether it really holds every value.
  int (*next_variant)(const WeightRecord& record, const QuantMatrix& matrix, int after);
  size_t (*packed_bytes)(const GemmVariant& variant, int32_t rows, int32_t columns);
  // Writes packed_bytes bytes for one matrix; false when a value does not fit the layout exactly.
  bool (*pack)(const GemmVariant& variant, const QuantMatrix& matrix, std::byte* out);
  // The same for a row-major f32 matrix; always possible with the plain f32 layout.
  bool (*pack_f32)(const GemmVariant& variant, const float* values, int32_t rows, int32_t columns, std::byte* out);
};

// A step's view of one execution, one for each thread.
struct Frame {
  const Batch* batch;
  int32_t thread, thread_count;
  int32_t turn;          // of the segment's repeat
  int32_t row_capacity;  // the bucket's max_tokens
  std::byte* shared;
  std::byte* local;
  const WeightView* weights;
  std::byte* scratch;    // shared, CompiledProgram::scratch_bytes
  KvPool kv;
  std::byte* states;     // slot s begins at states + s * state_bytes
  int64_t state_bytes;

  int64_t at(const Operand& operand) const { return operand.offset + turn * operand.stride; }
  std::byte* rows(const Operand& operand) const {
    return (operand.kind == Operand::kLocal ? local : shared) + at(operand) * row_capacity;
  }
  float* floats(const Operand& operand) const { return reinterpret_cast<float*>(rows(operand)); }
  const WeightView& weight(const Operand& operand) const { return weights[at(operand)]; }
  const float* dense(const Operand& operand) const { return reinterpret_cast<const float*>(weight(operand).data); }
  std::byte* state(const Operand& operand, int slot) const { return states + slot * state_bytes + at(operand); }
};

// [begin, end) of `count` things that thread `thread` of `thread_count` does: consecutive, sizes differ by at most one.
struct Share {
  int32_t begin, end;
};
inline Share share_of(int32_t count, int32_t thread, int32_t thread_count) {
  return {static_cast<int32_t>(int64_t{count} * thread / thread_count),
          static_cast<int32_t>(int64_t{count} * (thread + 1) / thread_count)};
}

// A value of the config a program was compiled for. Where a checkpoint's config has the key, it must have the value.
struct ConfigFact {
  const char* key;
  double number;     // booleans are 0 and 1
  const char* text;  // null: the fact is the number
};

struct CompiledProgram {
  const char* arch;
  const char* stem;
  const char* quant;
  const char* profile;       // the instruction set its kernels are compiled for
  const WeightPlanView* weight_plan;  // where each weight lies in a checkpoint
  const ConfigFact* config_facts;
  int32_t config_fact_count;
  const WeightPacker* packer;
  const Bucket* buckets;     // rising max_tokens
  int32_t bucket_count;
  const WeightRecord* weights;
  int32_t weight_count;
  int64_t page_bytes;    // of one KV page, all planes
  int64_t state_bytes;   // of one sequence slot
  int64_t scratch_bytes; // shared scratch of attention; zeroed once
  int32_t vocab_size;
  int32_t max_context;   // positions
  int32_t hidden_size;        // of the optional second output, 0: none
  bool whole_prompt;     // an encoder: all rows of a sequence in one step
};

// Every program of this binary (defined by the emitted sources).
extern const CompiledProgram* const kPrograms[];
extern const int kProgramCount;

}  // namespace scratchy
