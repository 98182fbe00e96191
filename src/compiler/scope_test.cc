#include "compiler/scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/goldens.h"

namespace scratchy {
namespace {

using ::testing::HasSubstr;

class ScopeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    sources_ = new SourceSet;
    Diagnostics diagnostics;
    registry_ = new std::optional<ModelRegistry>(ModelRegistry::load(testing::source_dir() / "models", *sources_, diagnostics));
  }
  static void TearDownTestSuite() {
    delete registry_;
    delete sources_;
  }

  std::optional<Scope> parse(const std::string& text, bool models_given = false) {
    const auto scope = parse_scope(text, **registry_, {"gguf", "nvfp4"}, models_given, diagnostics_);
    EXPECT_EQ(scope.has_value(), diagnostics_.empty());
    return scope;
  }

  // What is printed for a scope that must be refused.
  std::string mistakes(const std::string& text) {
    EXPECT_FALSE(parse(text));
    return diagnostics_.to_text();
  }

  static inline SourceSet* sources_ = nullptr;
  static inline std::optional<ModelRegistry>* registry_ = nullptr;
  Diagnostics diagnostics_;
};

TEST_F(ScopeTest, AWholeScopeIsRead) {
  const auto scope = parse("cpu,model/smollm2-135m,quant/gguf,serve,bench");
  ASSERT_TRUE(scope) << diagnostics_.to_text();
  EXPECT_EQ(scope->target, "cpu");
  ASSERT_EQ(scope->models.size(), 1U);
  EXPECT_EQ(scope->models[0].arch->name, "llama");
  EXPECT_EQ(scope->models[0].stem, "smollm2-135m");
  EXPECT_EQ(scope->quant, "gguf");
  EXPECT_TRUE(scope->serve && scope->bench);
}

TEST_F(ScopeTest, AnArchitectureMeansAllItsModelsAndEachOnlyOnce) {
  const auto scope = parse("cpu,model/llama,model/smollm2-135m,quant/gguf,quant/gguf");
  ASSERT_TRUE(scope) << diagnostics_.to_text();
  EXPECT_EQ(scope->models.size(), scope->models[0].arch->stems.size());
}

TEST_F(ScopeTest, AllMeansEveryModel) {
  const auto scope = parse("cpu,model/all");
  ASSERT_TRUE(scope) << diagnostics_.to_text();
  size_t stems = 0;
  for (const ArchDecl& arch : (*registry_)->architectures()) stems += arch.stems.size();
  EXPECT_EQ(scope->models.size(), stems);
  EXPECT_TRUE(scope->quant.empty());
}

TEST_F(ScopeTest, AModelGivenElsewhereNeedsNoWord) { EXPECT_TRUE(parse("cpu", true)); }
TEST_F(ScopeTest, NoTargetIsRefused) { EXPECT_THAT(mistakes("model/smollm2-135m"), HasSubstr("names no target")); }
TEST_F(ScopeTest, TwoTargetsAreRefused) { EXPECT_THAT(mistakes("cpu,cuda,model/smollm2-135m"), HasSubstr("two targets, `cpu` and `cuda`")); }
TEST_F(ScopeTest, ATargetWithoutABackEndIsRefused) { EXPECT_THAT(mistakes("metal,model/smollm2-135m"), HasSubstr("`metal` has no back end yet")); }
TEST_F(ScopeTest, NoModelIsRefused) { EXPECT_THAT(mistakes("cpu"), HasSubstr("names no model")); }
TEST_F(ScopeTest, TwoPresetsAreRefused) { EXPECT_THAT(mistakes("cpu,model/smollm2-135m,quant/gguf,quant/nvfp4"), HasSubstr("two quant presets, `gguf` and `nvfp4`")); }

TEST_F(ScopeTest, AnUnknownModelIsNamedOnceWithTheNearest) {
  const std::string text = mistakes("cpu,model/smollm2-135");
  EXPECT_THAT(text, HasSubstr("is called `smollm2-135`"));
  EXPECT_THAT(text, HasSubstr("did you mean `model/smollm2-135m`?"));
  EXPECT_EQ(diagnostics_.size(), 1U);
}

TEST_F(ScopeTest, AModelCutShortIsNamedInFull) { EXPECT_THAT(mistakes("cpu,model/smollm"), HasSubstr("did you mean `model/smollm2-135m`?")); }

TEST_F(ScopeTest, AnUnknownPresetIsNamedWithTheNearest) { EXPECT_THAT(mistakes("cpu,model/smollm2-135m,quant/nvpf4"), HasSubstr("did you mean `nvfp4`?")); }

TEST_F(ScopeTest, AnUnknownWordIsNamedWithTheNearest) {
  EXPECT_THAT(mistakes("cpu,model/smollm2-135m,serv"), HasSubstr("did you mean `serve`?"));
}

TEST_F(ScopeTest, ASlipInTheKindOfAWordIsNamed) { EXPECT_THAT(mistakes("cpu,modle/smollm2-135m-instruct"), HasSubstr("did you mean `model/smollm2-135m-instruct`?")); }

TEST_F(ScopeTest, AWordLikeNoOtherIsToldWhichThereAre) { EXPECT_THAT(mistakes("cpu,model/smollm2-135m,entirely-else"), HasSubstr("words are a target, `model/<stem>`")); }

TEST_F(ScopeTest, AllMistakesAreShownAtOnce) {
  mistakes("cpus,model/nothing-like-it,quant/nor-this");
  EXPECT_EQ(diagnostics_.size(), 4U);  // a word, a model, a preset, no target
}

TEST_F(ScopeTest, ControlCharactersNeverReachTheTerminal) { EXPECT_EQ(mistakes("cpu,model/\x1b[31m").find('\x1b'), std::string::npos); }

}  // namespace
}  // namespace scratchy
