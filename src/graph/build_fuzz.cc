// Any text, as the architecture of a small model: building ends, with a graph that verifies or with diagnostics.

#include <cstdint>
#include <string>

#include "base/check.h"
#include "graph/build.h"
#include "graph/build_test_model.h"
#include "graph/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace scratchy;
  SourceSet sources;
  Diagnostics diagnostics;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto program = read_program(sources.add("std.fwd", testing::kSmallPrelude), sources.add("fuzz.fwd", text), diagnostics);
  ModelFacts facts = testing::small_llama();
  facts.weights.push_back({.name = "conv1d", .per_layer = true, .columns_by_layer = {4}});
  facts.weights.push_back({.name = "stack", .per_layer = true, .experts = 3});
  const auto graph = program ? build_graph(*program, facts, diagnostics) : std::nullopt;
  SCRATCHY_CHECK(graph.has_value() != !diagnostics.empty(), "a graph or diagnostics");
  (void)diagnostics.to_text();
  if (!graph) return 0;
  const auto complaints = verify(*graph, "build");
  SCRATCHY_CHECK(complaints.empty(), complaints[0]);
  return 0;
}
