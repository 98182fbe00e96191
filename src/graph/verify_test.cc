#include "graph/verify.h"

#include <gmock/gmock.h>

#include "graph/test_graph.h"

namespace scratchy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TestGraph;

TestGraph small() {
  TestGraph g;
  const ValueId x = g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("table", {8, 4})});
  g.output("logits", g.op(OpKind::kGemm, {x, g.weight("head", {8, 4})}));
  return g;
}

TEST(Verify, SmallGraphPasses) { EXPECT_THAT(verify(small().graph, "build"), IsEmpty()); }

TEST(Verify, WrongInnerDimIsNamedWithPassAndTypes) {
  TestGraph g = small();
  g.graph.resources[2].type.dims = {8, 5};
  g.graph.values[g.graph.ops[3].results[0].index].type.dims = {8, 5};
  EXPECT_THAT(verify(g.graph, "fuse"), ElementsAre(AllOf(HasSubstr("after fuse: op 4 gemm"), HasSubstr("[T, 4], [8, 5]: the last dims must be equal"))));
}

TEST(Verify, WrongResultTypeIsNamed) {
  TestGraph g = small();
  g.graph.values[g.graph.ops[4].results[0].index].type.dims = {kTokens, 9};
  EXPECT_THAT(verify(g.graph, "p"), ElementsAre(HasSubstr("has the type [T, 9] instead of [T, 8]")));
}

TEST(Verify, UseBeforeDefinitionIsRefused) {
  TestGraph g = small();
  std::swap(g.graph.ops[2], g.graph.ops[4]);
  g.graph.renumber();
  EXPECT_THAT(verify(g.graph, "p").at(0), HasSubstr("is not made by an earlier op"));
}

TEST(Verify, StaleProducerIsRefused) {
  TestGraph g = small();
  g.graph.values[0].producer = 3;
  EXPECT_THAT(verify(g.graph, "p").at(0), HasSubstr("names another producer"));
}

TEST(Verify, WrongArityIsRefused) {
  TestGraph g = small();
  g.graph.ops[4].operands.pop_back();
  EXPECT_THAT(verify(g.graph, "p").at(0), HasSubstr("1 operands, but `gemm` takes"));
}

TEST(Verify, WeightNamedAsCacheIsRefused) {
  TestGraph g = small();
  g.graph.resources[1].kind = ResourceKind::kCache;
  EXPECT_THAT(verify(g.graph, "p").at(0), HasSubstr("`table` is a resource of another kind"));
}

TEST(Verify, OldVersionOfACacheIsRefused) {
  TestGraph g;
  const ValueId x = g.op(OpKind::kReshape, {g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("table", {8, 4})})}, {.shape = {kTokens, 1, 4}});
  const ValueId cache = g.resource(ResourceKind::kCache, "kv_cache.keys", {ElementType::kF32, {kSpan, 1, 4}}, 0);
  g.op(OpKind::kCacheAppend, {cache, x});
  g.op(OpKind::kCacheScores, {x, cache});
  EXPECT_THAT(verify(g.graph, "p"), ElementsAre(HasSubstr("is an old version of a cache or state")));
}

TEST(Verify, BodyOfARowProgramMayNotReadACache) {
  TestGraph g;
  const ValueId x = g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("table", {8, 4})});
  TestGraph body;
  body.resource(ResourceKind::kCache, "c", {ElementType::kF32, {kSpan, 1, 4}});
  body.output("y", body.op(OpKind::kNeg, {body.argument(0, {kTokens, 4})}));
  g.add({.kind = OpKind::kRowProgram, .operands = {x}, .body = std::make_shared<Graph>(body.graph)});
  EXPECT_THAT(verify(g.graph, "p").at(0), AllOf(HasSubstr("body of op 3: op 0 cache"), HasSubstr("may not stand here")));
}

TEST(Verify, SpanOfScoresMayBeANumber) {
  TestGraph g;
  const ValueId x = g.op(OpKind::kReshape, {g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("table", {8, 4})})}, {.shape = {kTokens, 1, 4}});
  const ValueId cache = g.op(OpKind::kCacheAppend, {g.resource(ResourceKind::kCache, "kv_cache.keys", {ElementType::kF32, {kSpan, 1, 4}}, 0), x});
  const ValueId scores = g.op(OpKind::kCacheScores, {x, cache});
  g.op(OpKind::kMask, {scores});
  for (Value& value : g.graph.values) {
    if (value.type.row_wise() && value.type.dims.back() == kSpan) value.type.dims.back() = 128;
  }
  EXPECT_THAT(verify(g.graph, "bind_span"), IsEmpty());
}

TEST(InferTypes, BroadcastAlignsAtTheLastAxis) {
  TestGraph g;
  const ValueId x = g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("table", {8, 6})});
  const ValueId heads = g.op(OpKind::kReshape, {x}, {.shape = {kTokens, 2, 3}});
  EXPECT_EQ(to_string(g.graph.type(g.op(OpKind::kMul, {heads, g.weight("gain", {3})}))), "[T, 2, 3]");
  const Op bad{.kind = OpKind::kMul, .operands = {heads, x}};
  EXPECT_FALSE(infer_types(g.graph, bad).ok());
}

}  // namespace
}  // namespace scratchy
