#include "passes/analysis.h"

#include <algorithm>

namespace scratchy {
namespace {

bool is_row_local_kind(OpKind kind) {
  switch (info(kind).group) {
    case OpGroup::kUnary:
    case OpGroup::kBinary:
    case OpGroup::kReduce:
    case OpGroup::kIndex: return true;
    case OpGroup::kResource:
    case OpGroup::kCache:
    case OpGroup::kState:
    case OpGroup::kScan: return false;
    case OpGroup::kTensor:
    case OpGroup::kFused: break;
  }
  return kind == OpKind::kReshape || kind == OpKind::kSlice || kind == OpKind::kConcat || kind == OpKind::kSelect ||
         kind == OpKind::kSoftmax || kind == OpKind::kWeightedSum || kind == OpKind::kRope || kind == OpKind::kPrepare ||
         kind == OpKind::kRowProgram || kind == OpKind::kTranspose;
}

}  // namespace

bool has_effect(OpKind kind) {
  return kind == OpKind::kCacheAppend || kind == OpKind::kConv1d || kind == OpKind::kScan;
}

std::vector<OpPlace> places(const Graph& graph) {
  std::vector<OpPlace> result(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (info(op.kind).group == OpGroup::kResource) {
      result[i] = OpPlace::kOutside;
      continue;
    }
    const bool invariant = !op.operands.empty() && std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId v) {
      const int producer = graph.value(v).producer;
      const OpPlace place = result[producer];
      return place == OpPlace::kInvariant || graph.ops[producer].kind == OpKind::kWeight ||
             graph.ops[producer].kind == OpKind::kConstant;
    });
    if (invariant && is_row_local_kind(op.kind)) {
      result[i] = OpPlace::kInvariant;
    } else {
      result[i] = is_row_local_kind(op.kind) ? OpPlace::kRowLocal : OpPlace::kHeavy;
    }
  }
  return result;
}

std::vector<int> levels(const Graph& graph, const std::vector<OpPlace>& places) {
  std::vector<int> level(graph.ops.size(), 0);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (places[i] == OpPlace::kOutside || places[i] == OpPlace::kInvariant) continue;
    int latest = 0;
    for (const ValueId operand : graph.ops[i].operands) latest = std::max(latest, level[graph.value(operand).producer]);
    level[i] = places[i] == OpPlace::kHeavy ? latest + 1 : latest;
  }
  return level;
}

}  // namespace scratchy
