// A small decoder built by hand, with all that passes work on: a norm written in primitives, attention from a cache with
// a soft-cap, a gated product, arithmetic that changes nothing, and a head.
#pragma once

#include "graph/test_graph.h"

namespace scratchy::testing {

struct LayerSizes {
  static constexpr int64_t kVocab = 11, kWidth = 8, kHeads = 4, kKvHeads = 2, kHead = 2, kFfn = 6;
};

// x * rsqrt(mean(x * x) + eps) * gain
inline ValueId test_norm(TestGraph& g, ValueId x, const std::string& name, int layer) {
  const ValueId mean = g.op(OpKind::kMean, {g.op(OpKind::kMul, {x, x})});
  const ValueId scale = g.op(OpKind::kRsqrt, {g.op(OpKind::kAdd, {mean, g.constant({}, {1e-5})})});
  return g.op(OpKind::kMul, {g.op(OpKind::kMul, {x, scale}), g.weight(name, {LayerSizes::kWidth}, layer)});
}

inline ValueId test_attention(TestGraph& g, ValueId x, int layer) {
  using L = LayerSizes;
  const auto heads = [&](const std::string& name, int64_t count) {
    const ValueId rows = g.op(OpKind::kGemm, {x, g.weight(name, {count * L::kHead, L::kWidth}, layer)});
    return g.op(OpKind::kReshape, {rows}, {.shape = {kTokens, count, L::kHead}});
  };
  const ValueId q = heads("q_proj", L::kHeads);
  const auto append = [&](const std::string& plane, ValueId rows) {
    const ValueId cache = g.resource(ResourceKind::kCache, plane, {ElementType::kF32, {kSpan, L::kKvHeads, L::kHead}}, layer);
    return g.op(OpKind::kCacheAppend, {cache, rows});
  };
  const ValueId keys = append("kv_cache.keys", heads("k_proj", L::kKvHeads));
  const ValueId values = append("kv_cache.values", heads("v_proj", L::kKvHeads));
  const ValueId cap = g.constant({}, {5.0});
  const ValueId scores = g.op(OpKind::kMul, {g.constant({}, {0.7}), g.op(OpKind::kCacheScores, {q, keys})});
  const ValueId capped = g.op(OpKind::kMul, {cap, g.op(OpKind::kTanh, {g.op(OpKind::kDiv, {scores, cap})})});
  const ValueId p = g.op(OpKind::kSoftmax, {g.op(OpKind::kMask, {capped}, {.window = 3})});
  const ValueId mixed = g.op(OpKind::kCacheMix, {p, values}, {.begin = 0, .end = L::kHead});
  const ValueId rows = g.op(OpKind::kReshape, {mixed}, {.shape = {kTokens, L::kHeads * L::kHead}});
  return g.op(OpKind::kGemm, {rows, g.weight("o_proj", {L::kWidth, L::kHeads * L::kHead}, layer)});
}

inline Graph test_layers(int layers) {
  using L = LayerSizes;
  TestGraph g;
  ValueId x = g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("embed_tokens", {L::kVocab, L::kWidth})});
  for (int layer = 0; layer < layers; ++layer) {
    g.layer = layer;
    x = g.op(OpKind::kAdd, {test_attention(g, test_norm(g, x, "norm1", layer), layer), x});
    const ValueId normed = test_norm(g, x, "norm2", layer);
    const ValueId gate = g.op(OpKind::kSilu, {g.op(OpKind::kGemm, {normed, g.weight("gate", {L::kFfn, L::kWidth}, layer)})});
    const ValueId up = g.op(OpKind::kGemm, {normed, g.weight("up", {L::kFfn, L::kWidth}, layer)});
    const ValueId down = g.op(OpKind::kGemm, {g.op(OpKind::kMul, {gate, up}), g.weight("down", {L::kWidth, L::kFfn}, layer)});
    x = g.op(OpKind::kAdd, {g.op(OpKind::kMul, {down, g.constant({}, {1.0})}), x});
  }
  g.layer = -1;
  x = test_norm(g, x, "norm", -1);
  g.output("logits", g.op(OpKind::kGemm, {x, g.weight("lm_head", {L::kVocab, L::kWidth})}));
  g.graph.layer_count = layers;
  return std::move(g.graph);
}

}  // namespace scratchy::testing
