// The compiler as a function: the same inputs give the same bytes, whatever is compiled beside them; the null target
// takes every llama; parameter counts are the published ones.

#include <gtest/gtest.h>

#include "compiler/model_size.h"
#include "compiler/model_source.h"
#include "compiler/pipeline.h"
#include "targets/null/plan_facts.h"
#include "testing/goldens.h"

namespace scratchy {
namespace {

// One run of the compiler over a list of models: registry, sources and diagnostics are shared, as in a build.
class Compilation {
 public:
  Compilation() : registry_(ModelRegistry::load(models_, sources_, diagnostics_)) {}

  const ModelRegistry& registry() const { return *registry_; }
  std::string mistakes() const { return diagnostics_.to_text(); }

  std::optional<OptimizedModel> optimize(const std::string& arch_name, const std::string& stem, PipelineOptions& options, QuantSection* section = nullptr, const std::string& preset = "") {
    const ArchDecl* arch = registry_->find(arch_name, diagnostics_);
    auto source = checked_in_model(*registry_, *arch, stem, preset, testing::source_dir() / "quant", sources_, diagnostics_);
    auto program = source ? read_architecture(*arch, models_, sources_, diagnostics_) : std::nullopt;
    if (!program) return std::nullopt;
    options.target = target_options(*source, *cpu::find_profile("x86-64-v3"), "");
    options.quant = source->quant;
    if (section != nullptr) *section = source->section;
    return optimize_model(*arch, *program, std::move(source->facts), options, diagnostics_);
  }

  // All sources of a model as one text.
  std::string sources_of(const std::string& arch, const std::string& stem, const std::string& preset) {
    PipelineOptions options;
    auto model = optimize(arch, stem, options, nullptr, preset);
    if (!model) return mistakes();
    Plan plan = plan_model(*model, options);
    const CompiledModel compiled{std::move(model->facts), std::move(model->built), std::move(plan), std::move(model->weights), model->max_context};
    std::string text;
    for (const cpu::EmittedFile& file : emit_model(compiled, options, symbol_of(compiled.facts, options.quant))) text += "// " + file.name + "\n" + file.text;
    return text;
  }

 private:
  std::filesystem::path models_ = testing::source_dir() / "models";
  SourceSet sources_;
  Diagnostics diagnostics_;
  std::optional<ModelRegistry> registry_;
};

TEST(Compile, AModelBesideAnotherHasTheSourcesItHasAlone) {
  Compilation alone;
  const std::string a = alone.sources_of("llama", "smollm2-135m", "gguf");
  ASSERT_GT(a.size(), 1000U) << a;
  Compilation both;
  const std::string b = both.sources_of("qwen3-moe", "qwen3-30b-a3b-instruct-2507", "");
  EXPECT_NE(a, b);
  EXPECT_EQ(both.sources_of("llama", "smollm2-135m", "gguf"), a);
}

TEST(Compile, TwiceGivesEqualBytes) {
  Compilation once, again;
  EXPECT_EQ(once.sources_of("qwen3-5", "qwen3.5-0.8b", ""), again.sources_of("qwen3-5", "qwen3.5-0.8b", ""));
}

TEST(Compile, TheSourcesOfTheDefaultModelStayUnderAMebibyte) {
  EXPECT_LT(Compilation().sources_of("llama", "smollm2-135m", "gguf").size(), size_t{1} << 20);
}

TEST(NullTarget, TakesEveryShippedLlama) {
  Compilation compilation;
  for (const ArchDecl& arch : compilation.registry().architectures()) {
    if (arch.name != "llama") continue;
    for (const std::string& stem : arch.stems) {
      PipelineOptions options;
      options.verify = true;
      const auto model = compilation.optimize(arch.name, stem, options);
      ASSERT_TRUE(model) << compilation.mistakes();
      options.plan_facts = null::plan_facts;
      const Plan plan = plan_model(*model, options);
      const auto seen = null::emit(plan);
      ASSERT_TRUE(seen.ok()) << seen.failure().message();
      EXPECT_EQ(seen->kernels, static_cast<int64_t>(plan.kernels.size()));
      EXPECT_LT(seen->steps, static_cast<int64_t>(plan.tapes[0].steps.size())) << stem << ": the layer loop is kept";
    }
  }
}

struct Published {
  const char* arch;
  const char* stem;
  int64_t parameters;
};

// Totals of the released weights, tied weights once.
constexpr Published kPublished[] = {
    {"commandr", "c4ai-command-r-v01", 34980831232},
    {"deepseek-v2", "deepseek-v2-lite", 15706484224},
    {"gemma2", "gemma2-2b", 2614341888},
    {"gemma2", "gemma2-9b", 9241705984},
    {"gemma2", "gemma2-27b", 27227128320},
    {"gemma3", "gemma-3-1b-it", 999885952},
    {"granite", "granite-3.3-8b-instruct", 8170864640},
    {"llama", "llama-2-7b", 6738415616},
    {"llama", "llama-2-13b", 13015864320},
    {"llama", "llama-2-70b", 68976648192},
    {"llama", "llama-3-8b", 8030261248},
    {"llama", "llama-3-70b", 70553706496},
    {"llama", "llama-3.1-8b", 8030261248},
    {"llama", "llama-3.1-70b", 70553706496},
    {"llama", "llama-3.2-1b", 1235814400},
    {"llama", "llama-3.2-3b", 3212749824},
    {"llama", "smollm2-135m", 134515008},
    {"llama", "smollm2-360m", 361821120},
    {"llama", "tinyllama-1.1b", 1100048384},
    {"mistral", "mistral-7b-instruct-v0.3", 7248023552},
    {"mistral", "mistral-7b-v0.2", 7241732096},
    {"mistral", "mistral-nemo-instruct-2407", 12247782400},
    {"mixtral", "mixtral-8x7b-instruct-v0.1", 46702792704},
    {"modernbert", "modernbert-base", 149655232},
    {"phi3", "phi-3-mini-4k-instruct", 3821079552},
    {"phi3", "phi-3-mini-128k-instruct", 3821079552},
    {"phi3", "phi-3-medium-4k-instruct", 13960238080},
    {"phi3", "phi-3-medium-128k-instruct", 13960238080},
    {"phi3", "phi-3-5-mini-instruct", 3821079552},
    {"phi3", "phi-4", 14659507200},
    {"phi3", "phi-4-reasoning", 14659507200},
    {"phi3", "phi-4-reasoning-plus", 14659507200},
    {"phi3", "phi-4-mini-instruct", 3836021760},
    {"phi3", "phi-4-mini-reasoning", 3836021760},
    {"qwen2", "qwen2-0.5b", 494032768},
    {"qwen2", "qwen2-1.5b", 1543714304},
    {"qwen2", "qwen2-7b", 7615616512},
    {"qwen2", "qwen2-72b", 72706203648},
    {"qwen2", "qwen2.5-0.5b", 494032768},
    {"qwen2", "qwen2.5-1.5b", 1543714304},
    {"qwen2", "qwen2.5-3b", 3085938688},
    {"qwen2", "qwen2.5-7b", 7615616512},
    {"qwen2", "qwen2.5-14b", 14770033664},
    {"qwen2", "qwen2.5-32b", 32763876352},
    {"qwen2", "qwen2.5-72b", 72706203648},
    {"qwen3", "qwen3-4b", 4022468096},
    {"qwen3", "qwen3-8b", 8190735360},
    {"qwen3-moe", "qwen3-30b-a3b-instruct-2507", 30532122624},
};

TEST(ModelSize, CountsTheParametersThatArePublished) {
  Compilation compilation;
  for (const Published& published : kPublished) {
    PipelineOptions options;
    const auto model = compilation.optimize(published.arch, published.stem, options);
    ASSERT_TRUE(model) << compilation.mistakes();
    EXPECT_EQ(model_size(*model, {}).parameters, published.parameters) << published.stem;
  }
}

TEST(ModelSize, ATokenUsesItsPickedExpertsOnly) {
  Compilation compilation;
  PipelineOptions options;
  const auto model = compilation.optimize("qwen3-moe", "qwen3-30b-a3b-instruct-2507", options);
  ASSERT_TRUE(model) << compilation.mistakes();
  const ModelSize size = model_size(*model, {});
  EXPECT_EQ(size.experts, 128);
  EXPECT_EQ(size.picks, 8);
  // 48 layers of 120 experts that rest, three matrices of 768 x 2048 each.
  EXPECT_EQ(size.parameters - size.active_parameters, 48LL * 120 * 3 * 768 * 2048);
}

TEST(ModelSize, AffineGroupsCostTheirScaleAndOffset) {
  QuantSection section;
  section.method = QuantMethod::kMlxAffine;
  section.widths = {{4, 64}};
  EXPECT_EQ(bytes_per_weight(section, "layers.0.mlp.up_proj", 128, 256), 0.5 + 4.0 / 64);
  section.ignore = {"mlp.up_proj"};
  EXPECT_EQ(bytes_per_weight(section, "layers.0.mlp.up_proj", 128, 256), std::nullopt);
}

}  // namespace
}  // namespace scratchy
