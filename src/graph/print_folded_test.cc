#include "graph/print_folded.h"

#include <gtest/gtest.h>

#include "graph/build_test_model.h"

namespace scratchy {
namespace {

TEST(PrintFolded, ValuesAreFoldedAndEqualLayersAreOneClass) {
  SourceSet sources;
  Diagnostics diagnostics;
  const auto program = read_program(sources.add("std.fwd", testing::kSmallPrelude), sources.add("forward.fwd", R"(
const widths = [1, 2];
const half = 1 / 2;
fn odd(layer) { return layer % 2 == 1; }
#[forward]
fn m() {
    x = embed(input_ids, embed_tokens) * (2 * half + len(widths));
    for layer in 0..num_hidden_layers {
        scale = odd(layer) ? 2.0 : hidden_size / 10;
        if odd(layer) { x = -(x + x) * scale; } else { x = rmsnorm(x, input_layernorm[layer], eps = rms_norm_eps * 2); }
        x = x + gemm(reshape(gemm(x, self_attn.q_proj[layer]), [T, num_attention_heads * head_dim]), self_attn.o_proj[layer])[.., 0..hidden_size];
    }
    logits = gemm(x, lm_head);
}
)"), diagnostics);
  ASSERT_TRUE(program.has_value()) << diagnostics.to_text();
  const auto text = print_folded(*program, testing::small_llama(), diagnostics);
  ASSERT_TRUE(text.has_value()) << diagnostics.to_text();
  EXPECT_EQ(*text, R"(program llama x tiny

const half = 0.5;
const widths = [1, 2];

x = embed(input_ids, embed_tokens) * 3.0;

layer class 0: layers 0, 2
    scale = 2.4;
    x = rmsnorm(x, input_layernorm[layer], eps = 2e-05);
    x = x + gemm(reshape(gemm(x, self_attn.q_proj[layer]), [T, 32]), self_attn.o_proj[layer])[.., 0..24];

layer class 1: layer 1
    scale = 2.0;
    x = -(x + x) * 2.0;
    x = x + gemm(reshape(gemm(x, self_attn.q_proj[layer]), [T, 32]), self_attn.o_proj[layer])[.., 0..24];

logits = gemm(x, lm_head);

weights, caches and states
    embed_tokens : [100, 24]
    input_layernorm[0, 2] : [24]
    lm_head : [100, 24]
    self_attn.o_proj[0..2] : [24, 32]
    self_attn.q_proj[0..2] : [32, 24]
)");
}

}  // namespace
}  // namespace scratchy
