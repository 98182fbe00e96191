#include "graph/interpret.h"

#include <gmock/gmock.h>

#include "graph/test_graph.h"

namespace scratchy {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;
using testing::TestGraph;

// One output of a graph of constants.
std::vector<double> value_of(TestGraph& g, ValueId value) {
  g.output("y", value);
  EXPECT_THAT(verify(g.graph, "test"), ::testing::IsEmpty());
  Interpreter<double> interpreter(g.graph, [](ResourceId) { return Failure("no weights here"); });
  Sequence<double> sequence;
  Result<Interpreter<double>::Outputs> out = interpreter.step(sequence, {.ids = {0}});
  EXPECT_TRUE(out.ok());
  return out->at("y").data;
}

std::vector<double> unary(OpKind kind, std::vector<double> x) {
  TestGraph g;
  const int64_t count = static_cast<int64_t>(x.size());
  return value_of(g, g.op(kind, {g.constant({count}, std::move(x))}));
}

// The figures of gelu, gelu_erf at -2, -0.5, 1 and 3.
TEST(Interpret, ActivationsHaveTheirPublishedValues) {
  const std::vector<double> x = {-2, -0.5, 1, 3};
  EXPECT_THAT(unary(OpKind::kGelu, x), Pointwise(DoubleNear(1e-7), {-0.0454023, -0.1542860, 0.8411920, 2.9963627}));
  EXPECT_THAT(unary(OpKind::kGeluErf, x), Pointwise(DoubleNear(1e-7), {-0.0455003, -0.1542688, 0.8413447, 2.9959503}));
  EXPECT_THAT(unary(OpKind::kSilu, {0, 1}), Pointwise(DoubleNear(1e-9), {0.0, 0.7310585786}));
  EXPECT_THAT(unary(OpKind::kSoftplus, {0, 30}), Pointwise(DoubleNear(1e-9), {0.6931471806, 30.0}));
}

TEST(Interpret, BroadcastRepeatsOnesAndMissingDims) {
  TestGraph g;
  const ValueId a = g.constant({2, 1, 2}, {1, 2, 3, 4});
  const ValueId b = g.constant({3, 1}, {10, 20, 30});
  EXPECT_THAT(value_of(g, g.op(OpKind::kAdd, {a, b})), ElementsAre(11, 12, 21, 22, 31, 32, 13, 14, 23, 24, 33, 34));
}

TEST(Interpret, TopKTiesGoToTheLowerIndex) {
  TestGraph g;
  const ValueId x = g.constant({5}, {1, 3, 2, 3, 2});
  const std::vector<ValueId> top = g.add({.kind = OpKind::kTopK, .operands = {x}, .attributes = {.count = 3}});
  g.output("mask", g.op(OpKind::kTopKMask, {x}, {.count = 3}));
  EXPECT_THAT(value_of(g, top[1]), ElementsAre(1, 3, 2));
}

TEST(Interpret, SoftmaxWithASinkSumsToLessThanOne) {
  TestGraph g;
  const ValueId x = g.constant({1, 2, 2}, {0, 0, 1, 1});
  const ValueId sinks = g.constant({2}, {0, -1e30});
  EXPECT_THAT(value_of(g, g.op(OpKind::kSoftmax, {x, sinks})), Pointwise(DoubleNear(1e-12), {1.0 / 3, 1.0 / 3, 0.5, 0.5}));
}

TEST(Interpret, SliceConcatTransposeMoveNumbers) {
  TestGraph g;
  const ValueId x = g.constant({2, 3}, {1, 2, 3, 4, 5, 6});
  const ValueId turned = g.op(OpKind::kTranspose, {x});
  const ValueId part = g.op(OpKind::kSlice, {turned}, {.axis = 0, .begin = 1, .end = 3});
  EXPECT_THAT(value_of(g, g.op(OpKind::kConcat, {part, part})), ElementsAre(2, 5, 2, 5, 3, 6, 3, 6));
}

TEST(Interpret, ExpertsMultiplyByTheirPick) {
  TestGraph g;
  const ValueId x = g.constant({1, 2}, {1, 10});
  const ValueId w = g.constant({2, 1, 2}, {1, 1, 2, 2});
  const std::vector<ValueId> top = g.add({.kind = OpKind::kTopK, .operands = {g.constant({1, 2}, {0.25, 0.75})}, .attributes = {.count = 2}});
  const ValueId y = g.op(OpKind::kGemmExperts, {x, w, top[1]});
  EXPECT_THAT(value_of(g, g.op(OpKind::kWeightedSum, {y, top[0]})), ElementsAre(0.75 * 22 + 0.25 * 11));
}

TEST(Interpret, RopePairsAreHalvesOrNeighbours) {
  TestGraph g;
  const ValueId x = g.constant({1, 1, 5}, {1, 2, 3, 4, 5});
  const ValueId c = g.constant({1, 2}, {0, 1});
  const ValueId s = g.constant({1, 2}, {1, 0});
  g.output("adjacent", g.op(OpKind::kRope, {x, c, s}, {.adjacent = true}));
  EXPECT_THAT(value_of(g, g.op(OpKind::kRope, {x, c, s})), ElementsAre(-3, 2, 1, 4, 5));
}

// A decoder layer with a cache over [T, 2 heads, 2], written in primitives and as one attention op.
TestGraph attention_graph(bool fused) {
  TestGraph g;
  const ValueId x = g.op(OpKind::kReshape, {g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("table", {5, 4})})}, {.shape = {kTokens, 2, 2}});
  const ValueId kv = g.op(OpKind::kSlice, {x}, {.axis = 1, .begin = 0, .end = 1});
  const ValueId cache = g.op(OpKind::kCacheAppend, {g.resource(ResourceKind::kCache, "kv_cache.keys", {ElementType::kF32, {kSpan, 1, 2}}, 0), kv});
  if (fused) {
    g.output("y", g.op(OpKind::kAttention, {x, cache, cache}, {.end = 1, .window = 3, .scale = 0.5, .softcap = 2}));
    return g;
  }
  ValueId s = g.op(OpKind::kMul, {g.op(OpKind::kCacheScores, {x, cache}), g.constant({}, {0.5})});
  s = g.op(OpKind::kMul, {g.op(OpKind::kTanh, {g.op(OpKind::kDiv, {s, g.constant({}, {2})})}), g.constant({}, {2})});
  g.output("y", g.op(OpKind::kCacheMix, {g.op(OpKind::kSoftmax, {g.op(OpKind::kMask, {s}, {.window = 3})}), cache}, {.end = 1}));
  return g;
}

Result<std::vector<double>> table(ResourceId) {
  std::vector<double> numbers;
  for (int i = 0; i < 20; ++i) numbers.push_back(std::sin(i));
  return numbers;
}

std::vector<double> run(const Graph& graph, const std::vector<std::vector<int32_t>>& steps) {
  EXPECT_THAT(verify(graph, "test"), ::testing::IsEmpty());
  Interpreter<double> interpreter(graph, table);
  Sequence<double> sequence;
  std::vector<double> rows;
  for (const std::vector<int32_t>& ids : steps) {
    const Result<Interpreter<double>::Outputs> out = interpreter.step(sequence, {.ids = ids});
    rows.insert(rows.end(), out->at("y").data.begin(), out->at("y").data.end());
  }
  return rows;
}

TEST(Interpret, AttentionOpEqualsItsPrimitives) {
  const std::vector<double> plain = run(attention_graph(false).graph, {{0, 1, 2, 3, 4, 1}});
  EXPECT_THAT(run(attention_graph(true).graph, {{0, 1, 2, 3, 4, 1}}), Pointwise(DoubleNear(1e-15), plain));
}

TEST(Interpret, ChunksGiveTheRowsOfTheWhole) {
  const std::vector<double> whole = run(attention_graph(true).graph, {{0, 1, 2, 3, 4, 1}});
  EXPECT_EQ(run(attention_graph(true).graph, {{0, 1}, {2}, {3, 4, 1}}), whole);
}

// A running sum per head, and a convolution whose history crosses the step.
TEST(Interpret, StatesCrossSteps) {
  TestGraph g;
  const ValueId x = g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("table", {5, 4})});
  const ValueId taps = g.constant({4, 2}, {1, 2, 1, 2, 1, 2, 1, 2});
  const ValueId history = g.resource(ResourceKind::kState, "conv_state", {ElementType::kF32, {1, 4}}, 0);
  const ValueId u = g.add({.kind = OpKind::kConv1d, .operands = {x, taps, history}})[0];
  TestGraph body;
  const ValueId next = body.op(OpKind::kAdd, {body.argument(1, {4}), body.argument(0, {4})});
  body.output("y", next);
  body.output("state", next);
  const ValueId state = g.resource(ResourceKind::kState, "sums", {ElementType::kF32, {2, 4}}, 0);
  const ValueId heads = g.op(OpKind::kReshape, {u}, {.shape = {kTokens, 1, 4}});
  g.output("y", g.add({.kind = OpKind::kScan, .operands = {heads, state}, .body = std::make_shared<Graph>(body.graph)})[0]);
  const std::vector<double> whole = run(g.graph, {{0, 1, 2, 3}});
  EXPECT_EQ(run(g.graph, {{0}, {1, 2}, {3}}), whole);
  const double x0 = std::sin(0), x1 = std::sin(4);
  EXPECT_NEAR(whole[8], 2 * x0 + (x0 + 2 * x1), 1e-15);  // token 1, head 0, channel 0
  EXPECT_EQ(whole[8], whole[12]);                        // both heads read the one operand head
}

TEST(Interpret, RowProgramRunsItsBodyOnEveryRow) {
  TestGraph g;
  const ValueId x = g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("table", {5, 4})});
  TestGraph body;
  body.output("y", body.op(OpKind::kMul, {body.argument(0, {kTokens, 4}), body.constant({}, {2})}));
  g.output("y", g.add({.kind = OpKind::kRowProgram, .operands = {x}, .body = std::make_shared<Graph>(body.graph)})[0]);
  EXPECT_DOUBLE_EQ(run(g.graph, {{1}})[0], 2 * std::sin(4));
}

TEST(Interpret, IdBeyondTheTableIsAFailure) {
  const Graph graph = attention_graph(true).graph;
  Interpreter<double> interpreter(graph, table);
  Sequence<double> sequence;
  EXPECT_FALSE(interpreter.step(sequence, {.ids = {5}}).ok());
  EXPECT_EQ(sequence.length, 0);
}

TEST(Interpret, WeightOfAnotherSizeIsAFailure) {
  const Graph graph = attention_graph(true).graph;
  Interpreter<float> interpreter(graph, [](ResourceId) { return std::vector<float>(19); });
  Sequence<float> sequence;
  EXPECT_EQ(interpreter.step(sequence, {.ids = {1}}).failure().message(), "weight `table` has 19 numbers, but its type [5, 4] takes 20");
}

TEST(Interpret, SampledRowsAreTheOnlyOnes) {
  TestGraph g;
  const ValueId x = g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("table", {5, 4})});
  g.output("y", g.op(OpKind::kSampleRows, {x}));
  Interpreter<double> interpreter(g.graph, table);
  Sequence<double> sequence;
  const auto out = interpreter.step(sequence, {.ids = {0, 1, 2}, .sampled_rows = {2}});
  EXPECT_THAT(out->at("y").dims, ElementsAre(1, 4));
  EXPECT_DOUBLE_EQ(out->at("y").data[0], std::sin(8));
}

}  // namespace
}  // namespace scratchy
