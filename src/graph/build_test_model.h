// A small model and a small prelude that the tests of the builder share.
#pragma once

#include <utility>

#include "config/model_facts.h"

namespace scratchy::testing {

inline constexpr const char* kSmallPrelude = R"(
const rotary = {frequencies: [rope_theta ** (-2 * i / head_dim) for i in 0..head_dim / 2], factor: 1.0, adjacent: false};

fn rmsnorm(x, w, eps = rms_norm_eps) { return x * rsqrt(mean(x * x) + eps) * w; }

fn rope(x, positions, table) {
    angles = reshape(positions, [T, 1]) * table.frequencies;
    return rotate(x, cos(angles) * table.factor, sin(angles) * table.factor, adjacent = table.adjacent);
}

fn rope_append(q, k, v, positions, table, cache, heads = num_attention_heads, kv_heads = num_key_value_heads, dim = head_dim) {
    q = rope(reshape(q, [T, heads, dim]), positions, table);
    k = rope(reshape(k, [T, kv_heads, dim]), positions, table);
    v = reshape(v, [T, kv_heads, dim]);
    cache_append(cache.keys, k);
    cache_append(cache.values, v);
    return (q, k, v);
}

fn attention(q, k, v, cache, block_table, scale = head_dim ** -0.5, heads = num_attention_heads, dim = head_dim) {
    p = softmax(mask(scale * cache_scores(q, cache.keys)));
    return reshape(cache_mix(p, cache.values), [T, heads * dim]);
}
)";

// Three layers, every width another number.
inline ModelFacts small_llama() {
  ModelFacts facts;
  facts.arch = "llama";
  facts.stem = "tiny";
  const auto integers = {std::pair("num_hidden_layers", 3), {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"head_dim", 8}, {"hidden_size", 24}, {"intermediate_size", 40}, {"vocab_size", 100}};
  for (const auto& [key, value] : integers) facts.values[key] = Constant::integer(value);
  facts.values["rope_theta"] = Constant::real(10000);
  facts.values["rms_norm_eps"] = Constant::real(1e-5);
  for (const char* name : {"input_layernorm", "post_attention_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
    facts.weights.push_back({.name = name, .per_layer = true});
  }
  for (WeightDecl& weight : facts.weights) {
    if (weight.name == "mlp.gate_proj") weight.rows_by_layer = {40};
  }
  for (const char* name : {"embed_tokens", "norm", "lm_head"}) facts.weights.push_back({.name = name});
  return facts;
}

}  // namespace scratchy::testing
