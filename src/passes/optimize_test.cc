// Passes on a small decoder: each leaves a graph that verifies, means what the graph before it meant, and does what its
// header says.

#include "passes/optimize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "graph/interpret.h"
#include "graph/print.h"
#include "graph/verify.h"
#include "passes/analysis.h"
#include "passes/fuse_attention.h"
#include "passes/simplify.h"
#include "passes/test_layers.h"

namespace scratchy {
namespace {

using testing::LayerSizes;
using testing::TestGraph;
using testing::test_layers;

// Numbers that depend on the weight's name, layer and place only.
std::vector<double> numbers_of(const Resource& resource) {
  uint64_t state = 1469598103934665603U;
  for (const char c : resource.name + std::to_string(resource.layer)) state = (state ^ static_cast<unsigned char>(c)) * 1099511628211U;
  int64_t count = 1;
  for (const int64_t dim : resource.type.dims) count *= dim;
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    out.push_back(static_cast<double>(state >> 40) / (1 << 24) - 0.5);
  }
  return out;
}

// Logits of a prompt of five tokens and of one more token after it.
std::vector<double> meaning(const Graph& graph) {
  Interpreter<double> interpreter(graph, [&](ResourceId id) -> Result<std::vector<double>> { return numbers_of(graph.resources[static_cast<size_t>(id.index)]); });
  Sequence<double> sequence;
  std::vector<double> out;
  for (const std::vector<int32_t>& ids : {std::vector<int32_t>{3, 1, 4, 1, 5}, std::vector<int32_t>{9}}) {
    const auto logits = interpreter.step(sequence, {.ids = ids}).value().at("logits").data;
    out.insert(out.end(), logits.begin(), logits.end());
  }
  return out;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

// The graph after each pass.
std::map<std::string, Graph> stages(const Graph& built, bool fuse) {
  std::map<std::string, Graph> out;
  Graph graph = built;
  optimize(graph, {.fuse = fuse, .max_context = 16, .after_pass = [&](std::string_view pass, const Graph& after) { out[std::string(pass)] = after; }});
  return out;
}

int64_t count(const Graph& graph, OpKind kind) {
  return std::count_if(graph.ops.begin(), graph.ops.end(), [&](const Op& op) { return op.kind == kind; });
}

class Passes : public ::testing::TestWithParam<bool> {};

TEST_P(Passes, EachIsNamedOnceAndLeavesAGraphThatVerifiesAndMeansTheSame) {
  const Graph built = test_layers(2);
  ASSERT_TRUE(verify(built, "build").empty()) << verify(built, "build")[0];
  const std::vector<double> before = meaning(built);
  const auto after = stages(built, GetParam());
  EXPECT_EQ(after.size(), std::size(kPassNames));
  for (const std::string_view pass : kPassNames) {
    const auto found = after.find(std::string(pass));
    ASSERT_NE(found, after.end()) << pass;
    const auto complaints = verify(found->second, std::string(pass));
    ASSERT_TRUE(complaints.empty()) << complaints[0];
    EXPECT_LT(distance(meaning(found->second), before), 1e-12) << pass;
  }
}

INSTANTIATE_TEST_SUITE_P(FusedAndPlain, Passes, ::testing::Bool());

TEST(Simplify, TakesAwayWhatChangesNoBit) {
  TestGraph g;
  const ValueId x = g.op(OpKind::kEmbed, {g.input("input_ids"), g.weight("table", {7, 4})});
  const ValueId one = g.op(OpKind::kMul, {x, g.constant({}, {1.0})});
  const ValueId zero = g.op(OpKind::kAdd, {one, g.constant({}, {0.0})});
  const ValueId same = g.op(OpKind::kReshape, {zero}, {.shape = {kTokens, 4}});
  g.output("logits", g.op(OpKind::kSlice, {same}, {.axis = 1, .begin = 0, .end = 4}));
  simplify(g.graph);
  EXPECT_TRUE(verify(g.graph, "simplify").empty());
  for (const OpKind kind : {OpKind::kMul, OpKind::kAdd, OpKind::kReshape, OpKind::kSlice}) EXPECT_EQ(count(g.graph, kind), 0) << print(g.graph);
}

TEST(FuseAttention, LeavesNoValueWithTheSpanInIt) {
  Graph graph = test_layers(2);
  simplify(graph);
  fuse_attention(graph);
  EXPECT_EQ(count(graph, OpKind::kAttention), 2);
  for (const Op& op : graph.ops) {
    if (op.kind != OpKind::kAttention) continue;
    EXPECT_EQ(op.attributes.scale, 0.7);
    EXPECT_EQ(op.attributes.softcap, 5.0);
    EXPECT_EQ(op.attributes.window, 3);
  }
  EXPECT_EQ(count(graph, OpKind::kCacheScores), 0);
}

// The scores are an output as well, so they must exist.
TEST(FuseAttention, KeepsAChainThatAnotherOpReads) {
  Graph graph = test_layers(1);
  const auto scores = std::find_if(graph.ops.begin(), graph.ops.end(), [](const Op& op) { return op.kind == OpKind::kCacheScores; });
  graph.outputs.push_back({"hidden", scores->results[0]});
  fuse_attention(graph);
  EXPECT_EQ(count(graph, OpKind::kAttention), 0);
  EXPECT_EQ(count(graph, OpKind::kCacheScores), 1);
}

TEST(SampleRows, PutsTheHeadBehindOneSampleOfTheLastRows) {
  const auto after = stages(test_layers(2), true);
  EXPECT_EQ(count(after.at("sample_rows"), OpKind::kSampleRows), 1);
}

TEST(PrepareRows, GivesEveryProductAPreparedOperandAndSharesIt) {
  const Graph graph = stages(test_layers(2), true).at("prepare_rows");
  int64_t products = 0;
  for (const Op& op : graph.ops) {
    if (op.kind != OpKind::kGemm) continue;
    ++products;
    EXPECT_EQ(graph.producer(op.operands[0]).kind, OpKind::kPrepare);
  }
  EXPECT_EQ(products, 2 * 7 + 1);
  EXPECT_EQ(count(graph, OpKind::kPrepare), 2 * 4 + 1);  // q, k, v share one; gate, up share one
}

TEST(OrderByLevel, NeverFallsToALowerLevel) {
  const Graph graph = stages(test_layers(2), true).at("order_by_level");
  const std::vector<OpPlace> where = places(graph);
  const std::vector<int> level = levels(graph, where);
  int highest = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (where[i] == OpPlace::kOutside || where[i] == OpPlace::kInvariant) continue;
    EXPECT_GE(level[i], highest) << i;
    highest = std::max(highest, level[i]);
  }
}

TEST(FuseRows, LeavesOneRowProgramBetweenTwoRoundsOfProducts) {
  const Graph fused = stages(test_layers(2), true).at("fuse_rows");
  const Graph plain = stages(test_layers(2), false).at("fuse_rows");
  EXPECT_EQ(count(fused, OpKind::kRsqrt), 0);
  EXPECT_LT(count(fused, OpKind::kRowProgram), count(plain, OpKind::kRowProgram));
  for (const Op& op : plain.ops) {
    if (op.kind != OpKind::kRowProgram) continue;
    const auto work = std::count_if(op.body->ops.begin(), op.body->ops.end(), [](const Op& inner) { return info(inner.kind).group != OpGroup::kResource && inner.kind != OpKind::kArgument; });
    EXPECT_LE(work, 1);
  }
}

}  // namespace
}  // namespace scratchy
