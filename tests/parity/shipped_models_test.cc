// Every shipped config binds, traces and verifies.

#include <gtest/gtest.h>

#include "base/file.h"
#include "config/model_registry.h"
#include "dsl/program.h"
#include "graph/build.h"
#include "graph/verify.h"
#include "testing/goldens.h"

namespace scratchy::parity {
namespace {

TEST(ShippedModels, AllTraceToGraphsThatVerify) {
  const std::filesystem::path models = testing::source_dir() / "models";
  SourceSet sources;
  Diagnostics diagnostics;
  const auto registry = ModelRegistry::load(models, sources, diagnostics);
  ASSERT_TRUE(registry) << diagnostics.to_text();
  const SourceFile& prelude = sources.add("models/std.fwd", read_file(models / "std.fwd").value());
  for (const ArchDecl& arch : registry->architectures()) {
    const SourceFile& text = sources.add("models/" + arch.name + "/forward.fwd", read_file(arch.directory / "forward.fwd").value());
    Diagnostics parsing;
    const auto program = read_program(prelude, text, parsing);
    ASSERT_TRUE(program) << parsing.to_text();
    for (const std::string& stem : arch.stems) {
      Diagnostics mistakes;
      const auto facts = registry->bind(arch, stem, sources, mistakes);
      const auto graph = facts ? build_graph(*program, *facts, mistakes) : std::nullopt;
      EXPECT_TRUE(graph) << arch.name << " x " << stem << "\n" << mistakes.to_text();
      if (!graph) continue;
      const std::vector<std::string> complaints = verify(*graph, "build");
      EXPECT_TRUE(complaints.empty()) << arch.name << " x " << stem << ": " << complaints[0];
      EXPECT_EQ(graph->layer_count, facts->find("num_hidden_layers")->as_int()) << stem;
    }
  }
}

}  // namespace
}  // namespace scratchy::parity
