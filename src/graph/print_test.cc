#include "graph/print.h"

#include <gtest/gtest.h>

#include "graph/test_graph.h"

namespace scratchy {
namespace {

using testing::TestGraph;

TEST(Print, EqualLayersAreOneClass) {
  TestGraph g;
  ValueId x = g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("table", {8, 4})});
  for (g.layer = 0; g.layer < 3; ++g.layer) {
    if (g.layer == 2) x = g.op(OpKind::kSilu, {x});
    x = g.op(OpKind::kGemm, {x, g.weight("up", {4, 4}, g.layer)});
  }
  g.layer = -1;
  g.output("logits", g.op(OpKind::kSlice, {x}, {.axis = 1, .begin = 0, .end = 2}));
  g.graph.layer_count = 3;
  EXPECT_EQ(print(g.graph),
            "graph: 3 layers, 11 ops\n"
            "%0 = input input_ids : i32[T]\n"
            "%1 = weight table : [8, 4]\n"
            "%2 = embed(%0, %1) : [T, 4]\n"
            "layer class 0: layers 0..1\n"
            "  in.0 : [T, 4]\n"
            "  %0 = weight up[layer] : [4, 4]\n"
            "  %1 = gemm(in.0, %0) : [T, 4]\n"
            "layer 0: class 0, in.0 = %2\n"
            "layer 1: class 0, in.0 = previous.%1\n"
            "layer class 1: layer 2\n"
            "  in.0 : [T, 4]\n"
            "  %0 = silu(in.0) : [T, 4]\n"
            "  %1 = weight up[layer] : [4, 4]\n"
            "  %2 = gemm(%0, %1) : [T, 4]\n"
            "layer 2: class 1, in.0 = previous.%1\n"
            "%3 = slice(2.%2, axis = 1, begin = 0, end = 2) : [T, 2]\n"
            "output logits = %3 : [T, 2]\n");
}

TEST(Print, LayersOfOneClassAndOneSourceAreOneLine) {
  TestGraph g;
  ValueId x = g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("table", {8, 4})});
  for (g.layer = 0; g.layer < 4; ++g.layer) x = g.op(OpKind::kSilu, {x});
  g.graph.layer_count = 4;
  EXPECT_NE(print(g.graph).find("layer 0: class 0, in.0 = %2\nlayers 1..3: class 0, in.0 = previous.%0\n"), std::string::npos) << print(g.graph);
}

TEST(Print, BodyIsIndented) {
  TestGraph g;
  const ValueId x = g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("table", {8, 4})});
  TestGraph body;
  body.output("y", body.op(OpKind::kNeg, {body.argument(0, {kTokens, 4})}));
  g.add({.kind = OpKind::kRowProgram, .operands = {x}, .body = std::make_shared<Graph>(body.graph)});
  EXPECT_NE(print(g.graph).find("%3 = row_program(%2) : [T, 4]\n  %0 = argument(count = 0) : [T, 4]\n  %1 = neg(%0) : [T, 4]\n  yield %1\n"), std::string::npos) << print(g.graph);
}

}  // namespace
}  // namespace scratchy
