// Every model that ships is built and verified.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "config/model_registry.h"
#include "graph/build.h"
#include "graph/verify.h"
#include "testing/goldens.h"

namespace scratchy {
namespace {

std::vector<std::string> stems(const std::filesystem::path& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") out.push_back(entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(BuildModels, EveryShippedModelGivesAVerifiedGraph) {
  const auto models = testing::source_dir() / "models";
  SourceSet sources;
  Diagnostics loading;
  const auto registry = ModelRegistry::load(models, sources, loading);
  ASSERT_TRUE(registry.has_value()) << loading.to_text();
  const SourceFile& prelude = sources.add("models/std.fwd", read_file(models / "std.fwd").value());
  for (const ArchDecl& arch : registry->architectures()) {
    const auto text = read_file(models / arch.name / "forward.fwd");
    ASSERT_TRUE(text.ok()) << arch.name;
    Diagnostics reading;
    const auto program = read_program(prelude, sources.add("models/" + arch.name + "/forward.fwd", *text), reading);
    EXPECT_TRUE(program.has_value()) << reading.to_text();
    if (!program) continue;
    for (const std::string& stem : stems(models / arch.name / "configs")) {
      Diagnostics diagnostics;
      const auto facts = registry->bind(arch, stem, sources, diagnostics);
      const auto graph = facts ? build_graph(*program, *facts, diagnostics) : std::nullopt;
      EXPECT_TRUE(graph.has_value()) << arch.name << " x " << stem << "\n" << diagnostics.to_text();
      if (graph) {
        EXPECT_THAT(verify(*graph, "build"), ::testing::IsEmpty()) << arch.name << " x " << stem;
      }
    }
  }
}

}  // namespace
}  // namespace scratchy
