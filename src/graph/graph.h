// The tensor graph: ops in order, over values in SSA form, with resources (inputs, weights, caches, states) as typed
// names for what lies outside.
//
// Control flow is decided before a graph exists: loops are unrolled, every op knows its layer and the span of the text
// it came from. Shapes are numbers, but for two symbols: kTokens, the rows of a step, always the first dim of a row-wise
// value, and kSpan, the visible positions of a cache. A cache or a state is a value too: an op that writes one returns
// its next version, so order is dependence and nothing else.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/source.h"

namespace scratchy {

enum class OpKind : uint8_t {
#define GRAPH_OP(name, spelling, group, operands, result, attributes, formula) k##name,
#include "graph/op.def"
#undef GRAPH_OP
};

enum class OpGroup : uint8_t { kResource, kTensor, kUnary, kBinary, kReduce, kIndex, kCache, kState, kScan, kFused };

// One row of op.def.
struct OpInfo {
  std::string_view name, spelling;
  OpGroup group;
  std::string_view operands, result, attributes, formula;
};
const OpInfo& info(OpKind kind);
inline constexpr int kOpKindCount = 0
#define GRAPH_OP(...) +1
#include "graph/op.def"
#undef GRAPH_OP
    ;

// Symbolic dims.
inline constexpr int64_t kTokens = -1;  // T
inline constexpr int64_t kSpan = -2;    // S

enum class ElementType : uint8_t { kF32, kI32 };

struct Type {
  ElementType element = ElementType::kF32;
  std::vector<int64_t> dims;

  bool row_wise() const { return !dims.empty() && dims[0] == kTokens; }
  // Elements of one row (product of dims but a leading kTokens), 1 for an empty product. No kSpan dim allowed.
  int64_t row_elements() const;
  bool operator==(const Type&) const = default;
};
std::string to_string(const Type& type);  // "[T, 9, 64]", "i32[T, 2]"

using ValueId = Id<struct ValueTag>;
using ResourceId = Id<struct ResourceTag>;

enum class ResourceKind : uint8_t { kInput, kWeight, kCache, kState };

// Something outside of the graph, named as the text names it.
struct Resource {
  ResourceKind kind;
  std::string name;  // "self_attn.q_proj", "kv_cache.keys", "input_ids"
  int layer = -1;    // index it was taken at, -1 for none
  Type type;         // a weight's full shape; a cache's [S, K, D]; a state's [..]
  Span first_use;
};

// Which members mean something for a kind: op.def.
struct Attributes {
  int64_t axis = 0, begin = 0, end = 0, count = 0, window = 0;
  double scale = 1.0, softcap = 0.0;
  bool causal = true, adjacent = false;
  std::vector<int64_t> shape;  // may hold kTokens
  std::vector<double> values;
  bool operator==(const Attributes&) const = default;
};

struct Graph;

struct Op {
  OpKind kind;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  Attributes attributes;
  ResourceId resource;          // of resource ops
  std::shared_ptr<Graph> body;  // of scan and row_program; its values are its own
  Span span;
  int layer = -1;
};

struct Value {
  Type type;
  int producer = -1;  // index into Graph::ops
  std::string name;   // the local it was bound to, for printing
};

struct GraphOutput {
  std::string name;  // "logits", "hidden"
  ValueId value;
};

struct Graph {
  std::vector<Op> ops;
  std::vector<Value> values;
  std::vector<Resource> resources;
  std::vector<GraphOutput> outputs;  // of a body: what it yields, in order of its op's results
  int layer_count = 0;

  const Value& value(ValueId id) const { return values[id.index]; }
  const Type& type(ValueId id) const { return values[id.index].type; }
  const Op& producer(ValueId id) const { return ops[values[id.index].producer]; }

  ValueId add_value(Type type, std::string name = {});
  // Appends the op and makes it the producer of its results.
  void append(Op op);
  // Sets every value's producer from the op list; call after reordering or erasing ops.
  void renumber();
  // How many operands (and outputs) read each value.
  std::vector<int> use_counts() const;
};

}  // namespace scratchy
