#include "passes/fuse_attention.h"

#include <optional>

#include "passes/rewrite.h"

namespace scratchy {
namespace {

// Walks a chain of single-use values from its end towards its begin.
class Chain {
 public:
  Chain(const Graph& graph, const std::vector<int>& uses) : graph_(graph), uses_(uses) {}

  // The op that made `value`, if it is of `kind` and nobody else reads the value.
  const Op* made_by(ValueId value, OpKind kind) const {
    const Op& op = graph_.producer(value);
    return op.kind == kind && uses_[value.index] == 1 ? &op : nullptr;
  }

  // The number of a constant that is the same everywhere.
  std::optional<double> number(ValueId value) const {
    const Op& op = graph_.producer(value);
    if (op.kind != OpKind::kConstant || op.attributes.values.size() != 1) return std::nullopt;
    return op.attributes.values[0];
  }

  // For a product of a value and a number: both.
  std::optional<std::pair<ValueId, double>> scaled(ValueId value) const {
    const Op* mul = made_by(value, OpKind::kMul);
    if (mul == nullptr) return std::nullopt;
    for (const int side : {0, 1}) {
      if (const auto n = number(mul->operands[side])) return std::pair(mul->operands[1 - side], *n);
    }
    return std::nullopt;
  }

 private:
  const Graph& graph_;
  const std::vector<int>& uses_;
};

// The attention op that equals `mix`, nothing when the chain has another form.
std::optional<Op> match(const Chain& chain, const Op& mix) {
  const Op* softmax = chain.made_by(mix.operands[0], OpKind::kSoftmax);
  if (softmax == nullptr) return std::nullopt;
  const Op* mask = chain.made_by(softmax->operands[0], OpKind::kMask);
  if (mask == nullptr) return std::nullopt;
  Op fused{.kind = OpKind::kAttention, .results = mix.results, .span = mix.span, .layer = mix.layer};
  fused.attributes.window = mask->attributes.window;
  fused.attributes.causal = mask->attributes.causal;
  fused.attributes.begin = mix.attributes.begin;
  fused.attributes.end = mix.attributes.end;
  ValueId scores = mask->operands[0];
  if (const auto capped = chain.scaled(scores)) {
    if (const Op* tanh = chain.made_by(capped->first, OpKind::kTanh)) {
      const Op* div = chain.made_by(tanh->operands[0], OpKind::kDiv);
      if (div == nullptr || chain.number(div->operands[1]) != capped->second) return std::nullopt;
      fused.attributes.softcap = capped->second;
      scores = div->operands[0];
    }
  }
  if (const auto scaled = chain.scaled(scores)) {
    fused.attributes.scale = scaled->second;
    scores = scaled->first;
  }
  const Op* product = chain.made_by(scores, OpKind::kCacheScores);
  if (product == nullptr) return std::nullopt;
  fused.operands = {product->operands[0], product->operands[1], mix.operands[1]};
  if (softmax->operands.size() > 1) fused.operands.push_back(softmax->operands[1]);
  return fused;
}

}  // namespace

void fuse_attention(Graph& graph) {
  const std::vector<int> uses = graph.use_counts();
  const Chain chain(graph, uses);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (graph.ops[i].kind != OpKind::kCacheMix) continue;
    if (std::optional<Op> fused = match(chain, graph.ops[i])) graph.ops[i] = std::move(*fused);
  }
  remove_dead_ops(graph);
}

}  // namespace scratchy
