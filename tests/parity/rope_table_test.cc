// The rotary tables of std.fwd against published frequencies.

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "config/bind_config.h"
#include "config/model_registry.h"
#include "dsl/program.h"
#include "graph/build.h"
#include "testing/goldens.h"

namespace scratchy::parity {
namespace {

struct Table {
  std::vector<double> frequencies;
  double factor = 0;
};

// What `rope_table(..)` gives for the arguments, by tracing a text that multiplies by the table.
Table table_of(const std::string& arguments, const std::string& max_positions = "2048") {
  SourceSet sources;
  Diagnostics diagnostics;
  const std::filesystem::path models = testing::source_dir() / "models";
  const auto registry = ModelRegistry::load(models, sources, diagnostics);
  const SourceFile& config = sources.add("config.json", R"({"architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "vocab_size": 8, "hidden_size": 8, "intermediate_size": 8,
      "num_hidden_layers": 1, "num_attention_heads": 1, "max_position_embeddings": )" + max_positions + "}");
  const ArchDecl* arch = registry ? registry->find("phi3", diagnostics) : nullptr;
  const auto facts = arch != nullptr ? bind_config(config, *arch, "test", diagnostics) : std::nullopt;
  const SourceFile& prelude = sources.add("std.fwd", read_file(models / "std.fwd").value());
  const SourceFile& text = sources.add("test.fwd", "#[forward]\nfn test() {\n  t = rope_table(" + arguments + ");\n  logits = reshape(positions, [T, 1]) * t.frequencies;\n" +
                                                       "  hidden = reshape(positions, [T, 1]) * [t.factor, 0.5];\n}\n");
  const auto program = facts ? read_program(prelude, text, diagnostics) : std::nullopt;
  const auto graph = program ? build_graph(*program, *facts, diagnostics) : std::nullopt;
  EXPECT_TRUE(graph) << diagnostics.to_text();
  if (!graph) return {std::vector<double>(512), 0};
  const auto constant = [&](const GraphOutput& output) { return graph->producer(graph->producer(output.value).operands[1]).attributes.values; };
  Table out;
  for (const GraphOutput& output : graph->outputs) {
    if (output.name == "logits") out.frequencies = constant(output);
    if (output.name == "hidden") out.factor = constant(output)[0];
  }
  return out;
}

// The published figures have 8 digits and were computed in f32.
void expect(const Table& table, const std::vector<std::pair<int, double>>& figures, double factor = 1.0) {
  for (const auto& [index, frequency] : figures) EXPECT_NEAR(table.frequencies[static_cast<size_t>(index)] / frequency, 1.0, 1e-6) << index;
  EXPECT_NEAR(table.factor / factor, 1.0, 1e-6);
}

TEST(RopeTable, Llama3KeepsBlendsAndDivides) {
  const Table table = table_of("theta = 5e5, width = 128, scaling = {rope_type: \"llama3\", factor: 8.0, low_freq_factor: 1.0, high_freq_factor: 4.0, original_max_position_embeddings: 8192}");
  expect(table, {{0, 1}, {1, 0.81461722}, {28, 0.0032114461}, {29, 0.0021665706}, {30, 0.0013718937}, {32, 0.00052484602}, {35, 9.5562122e-05}, {63, 3.0689259e-07}});
}

TEST(RopeTable, LinearDivides) {
  expect(table_of("theta = 1e6, width = 256, scaling = {rope_type: \"linear\", factor: 8.0}"), {{0, 0.125}, {1, 0.11221089}});
}

TEST(RopeTable, YarnWithEqualMagnitudesHasFactorOne) {
  const Table table = table_of("theta = 1e4, width = 64, scaling = {rope_type: \"yarn\", factor: 40.0, original_max_position_embeddings: 4096, mscale: 0.707, mscale_all_dim: 0.707}");
  expect(table, {{10, 0.056234129}, {11, 0.039006926}, {16, 0.0055000004}, {23, 3.3338034e-05}});
}

TEST(RopeTable, YarnByItselfScalesByItsFactor) {
  expect(table_of("theta = 1e6, width = 128, scaling = {rope_type: \"yarn\", factor: 4.0, original_max_position_embeddings: 32768}"), {{30, 0.001064361}, {40, 4.4456985e-05}}, 1.1386294);
}

TEST(RopeTable, ProportionalTurnsAShareOfTheHead) {
  const Table table = table_of("theta = 1e6, width = 512, share = 0.25, scaling = {rope_type: \"proportional\"}");
  expect(table, {{1, 0.94746351}, {63, 0.033376247}});
  ASSERT_EQ(table.frequencies.size(), 256u);
  EXPECT_EQ(table.frequencies[64], 0.0);
}

TEST(RopeTable, LongropeTakesTheSetOfTheContextLength) {
  const std::string scaling = "theta = 1e4, width = 4, scaling = {rope_type: \"longrope\", original_max_position_embeddings: 4096, short_factor: [1.0, 2.0], long_factor: [4.0, 8.0]}";
  expect(table_of(scaling, "131072"), {{0, 0.25}, {1, 0.01 / 8}}, 1.1902381);
  expect(table_of(scaling, "4096"), {{0, 1.0}, {1, 0.01 / 2}});
}

TEST(RopeTable, UnknownTypeIsRefused) {
  EXPECT_NONFATAL_FAILURE(table_of("width = 4, scaling = {rope_type: \"spiral\"}"), "this rope type is not implemented");
}

}  // namespace
}  // namespace scratchy::parity
