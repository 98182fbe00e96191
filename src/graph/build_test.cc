#include "graph/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/build_test_model.h"
#include "graph/print.h"
#include "graph/verify.h"

namespace scratchy {
namespace {

// The text of docs/design, word for word.
constexpr const char* kLlama = R"(#[forward]
fn llama() {
    hidden_states = embed(input_ids, embed_tokens);
    for layer in 0..num_hidden_layers {
        normed = rmsnorm(hidden_states, input_layernorm[layer]);
        q = gemm(normed, self_attn.q_proj[layer]);
        k = gemm(normed, self_attn.k_proj[layer]);
        v = gemm(normed, self_attn.v_proj[layer]);
        (q, k, v) = rope_append(q, k, v, positions, rotary, kv_cache[layer]);
        attn = attention(q, k, v, kv_cache[layer], block_table);
        oproj = gemm(attn, self_attn.o_proj[layer]);
        hidden_states = add(oproj, hidden_states);
        normed2 = rmsnorm(hidden_states, post_attention_layernorm[layer]);
        gate = silu(gemm(normed2, mlp.gate_proj[layer]));
        up = gemm(normed2, mlp.up_proj[layer]);
        down = gemm(gate * up, mlp.down_proj[layer]);
        hidden_states = add(down, hidden_states);
    }
    normed = rmsnorm(hidden_states, norm);
    logits = gemm(normed, lm_head);
}
)";

std::optional<Graph> built(SourceSet& sources, const std::string& std_text, const std::string& arch, const ModelFacts& facts, std::string& errors) {
  Diagnostics diagnostics;
  const auto program = read_program(sources.add("models/std.fwd", std_text), sources.add("models/llama/forward.fwd", arch), diagnostics);
  std::optional<Graph> graph;
  if (program) graph = build_graph(*program, facts, diagnostics);
  errors = diagnostics.to_text();
  return graph;
}

std::string weight_type(const Graph& graph, const std::string& name) {
  for (const Resource& resource : graph.resources) {
    if (resource.name == name) return to_string(resource.type);
  }
  return "none";
}

TEST(BuildGraph, LlamaTextAsWrittenGivesAVerifiedGraph) {
  SourceSet sources;
  std::string errors;
  const auto graph = built(sources, testing::kSmallPrelude, kLlama, testing::small_llama(), errors);
  ASSERT_TRUE(graph.has_value()) << errors;
  EXPECT_THAT(verify(*graph, "build"), ::testing::IsEmpty()) << print(*graph);
  EXPECT_EQ(graph->layer_count, 3);
  EXPECT_EQ(weight_type(*graph, "self_attn.q_proj"), "[32, 24]");
  EXPECT_EQ(weight_type(*graph, "self_attn.k_proj"), "[16, 24]");
  EXPECT_EQ(weight_type(*graph, "mlp.up_proj"), "[40, 24]");
  EXPECT_EQ(weight_type(*graph, "mlp.down_proj"), "[24, 40]");
  EXPECT_EQ(weight_type(*graph, "lm_head"), "[100, 24]");
  EXPECT_EQ(weight_type(*graph, "norm"), "[24]");
  EXPECT_EQ(weight_type(*graph, "kv_cache.keys"), "[S, 2, 8]");
}

TEST(BuildGraph, RopeTableIsMadeOnceAndHasNoLayer) {
  SourceSet sources;
  std::string errors;
  const auto graph = built(sources, testing::kSmallPrelude, kLlama, testing::small_llama(), errors);
  ASSERT_TRUE(graph.has_value()) << errors;
  int cosines = 0;
  for (const Op& op : graph->ops) {
    if (op.kind != OpKind::kCos) continue;
    ++cosines;
    EXPECT_EQ(op.layer, -1);
  }
  EXPECT_EQ(cosines, 1);
  int last = -1;
  for (const Op& op : graph->ops) {
    if (op.layer < 0) continue;
    EXPECT_GE(op.layer, last);
    last = op.layer;
  }
}

TEST(BuildGraph, OpsKeepThePlaceInTheArchitecturesTextAndLocalNames) {
  SourceSet sources;
  std::string errors;
  const auto graph = built(sources, testing::kSmallPrelude, kLlama, testing::small_llama(), errors);
  ASSERT_TRUE(graph.has_value()) << errors;
  for (const Op& op : graph->ops) {
    if (op.kind == OpKind::kSoftmax) {
      EXPECT_EQ(to_string(op.span), "models/llama/forward.fwd:10:16");
    }
    if (op.kind == OpKind::kSilu) {
      EXPECT_EQ(graph->value(op.results[0]).name, "gate");
    }
  }
}

TEST(BuildGraph, ScanAndConvMakeStatesAndABody) {
  SourceSet sources;
  std::string errors;
  ModelFacts facts = testing::small_llama();
  facts.weights.push_back({.name = "in_proj", .per_layer = true});
  facts.weights.push_back({.name = "conv1d", .per_layer = true, .columns_by_layer = {4}});
  facts.weights.push_back({.name = "in_proj_b", .per_layer = true});
  facts.weights.push_back({.name = "A_log", .per_layer = true});
  const auto graph = built(sources, testing::kSmallPrelude, R"(
#[forward]
fn m() {
  x = embed(input_ids, embed_tokens);
  for layer in 0..2 {
    u = silu(conv1d(gemm(x, in_proj[layer]), conv1d[layer], conv_state[layer]));
    q = reshape(u[.., 0..12], [T, 2, 6]);
    k = reshape(u[.., 12..24], [T, 2, 6]);
    v = reshape(u[.., 24..44], [T, 4, 5]);
    b = sigmoid(gemm(x, in_proj_b[layer]));
    g = -exp(A_log[layer]) * softplus(b);
    b = reshape(b, [T, 4]);
    o = scan (qt, kt, vt, gt, bt) over (q, k, v, g, b) with m = delta_state[layer] as [4, 6, 5] {
        m = exp(gt) * m;
        d = bt * (vt - vecmat(kt, m));
        m = m + outer(kt, d);
        yield vecmat(qt, m);
    };
    x = x + gemm(reshape(o, [T, 20]), self_attn.o_proj[layer]);
  }
  logits = gemm(x, lm_head);
}
)",
                           facts, errors);
  ASSERT_TRUE(graph.has_value()) << errors;
  EXPECT_THAT(verify(*graph, "build"), ::testing::IsEmpty()) << print(*graph);
  EXPECT_EQ(weight_type(*graph, "in_proj"), "[44, 24]");
  EXPECT_EQ(weight_type(*graph, "conv1d"), "[44, 4]");
  EXPECT_EQ(weight_type(*graph, "conv_state"), "[3, 44]");
  EXPECT_EQ(weight_type(*graph, "A_log"), "[4]");
}

// C16
TEST(BuildGraph, EndlessWorkIsRefused) {
  for (const std::string body : {"for i in 0..4611686018427387904 { x = 1; }", "for i in 0..100000 { for j in 0..100000 { x = embed(input_ids, embed_tokens) + i * j; } }",
                                 "y = [[j for j in 0..100000] for i in 0..100000];", "y = [1]; for i in 0..200 { y = [y]; }", "y = \"ab\"; for i in 0..64 { y = y + y; }"}) {
    SourceSet sources;
    std::string errors;
    EXPECT_FALSE(built(sources, "", "#[forward]\nfn m() { " + body + " logits = 1; }", testing::small_llama(), errors).has_value()) << body;
    EXPECT_NE(errors, "");
  }
}

}  // namespace
}  // namespace scratchy
