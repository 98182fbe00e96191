// Weight plans against the golden checkpoints: every weight of a decoder is found, loads in its shape, and no tensor is
// left over, whatever form and container.

#include "config/plan_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "checkpoint/check_tensors.h"
#include "checkpoint/load_weight.h"
#include "checkpoint/safetensors.h"
#include "config/bind_config.h"
#include "config/bind_gguf.h"
#include "config/model_registry.h"
#include "testing/goldens.h"

namespace scratchy {
namespace {

namespace fs = std::filesystem;

// The shapes that a llama-like text (llama, qwen2, qwen3-moe, mixtral) gives its weights.
std::vector<WeightUse> decoder_uses(const ModelFacts& facts) {
  const auto value = [&](const char* key) { return facts.find(key)->as_int(); };
  const int64_t hidden = value("hidden_size"), q = value("num_attention_heads") * value("head_dim");
  const int64_t kv = value("num_key_value_heads") * value("head_dim"), vocab = value("vocab_size"), head_dim = value("head_dim");
  std::vector<WeightUse> uses = {{"embed_tokens", -1, {vocab, hidden}}, {"norm", -1, {hidden}}, {"lm_head", -1, {vocab, hidden}}};
  for (int layer = 0; layer < static_cast<int>(value("num_hidden_layers")); ++layer) {
    const auto use = [&](const std::string& name, std::vector<int64_t> shape) { uses.push_back({name, layer, std::move(shape)}); };
    use("input_layernorm", {hidden});
    use("post_attention_layernorm", {hidden});
    use("self_attn.q_proj", {q, hidden});
    use("self_attn.k_proj", {kv, hidden});
    use("self_attn.v_proj", {kv, hidden});
    use("self_attn.o_proj", {hidden, q});
    if (facts.arch == "qwen2") {
      use("self_attn.q_proj.bias", {q});
      use("self_attn.k_proj.bias", {kv});
      use("self_attn.v_proj.bias", {kv});
    }
    if (facts.arch == "qwen3" || facts.arch == "qwen3-moe") {
      use("self_attn.q_norm", {head_dim});
      use("self_attn.k_norm", {head_dim});
    }
    if (facts.arch == "mixtral") {
      const int64_t e = value("num_local_experts"), f = value("intermediate_size");
      use("block_sparse_moe.gate", {e, hidden});
      use("block_sparse_moe.experts.w1", {e, f, hidden});
      use("block_sparse_moe.experts.w2", {e, hidden, f});
      use("block_sparse_moe.experts.w3", {e, f, hidden});
    } else if (facts.arch == "qwen3-moe") {
      const int64_t e = value("num_experts"), f = value("moe_intermediate_size");
      use("mlp.gate", {e, hidden});
      use("mlp.experts.gate_proj", {e, f, hidden});
      use("mlp.experts.up_proj", {e, f, hidden});
      use("mlp.experts.down_proj", {e, hidden, f});
    } else {
      const int64_t f = value("intermediate_size");
      use("mlp.gate_proj", {f, hidden});
      use("mlp.up_proj", {f, hidden});
      use("mlp.down_proj", {hidden, f});
    }
  }
  return uses;
}

class PlanWeights : public ::testing::Test {
 protected:
  void SetUp() override {
    registry_ = ModelRegistry::load(testing::source_dir() / "models", sources_, diagnostics_);
    ASSERT_TRUE(registry_.has_value()) << diagnostics_.to_text();
  }

  // The facts of a golden case by its config.json.
  std::optional<ModelFacts> bind(const fs::path& config) {
    const auto raw_text = sources_.add(config.string(), *read_file(config));
    const auto raw = read_raw_config(raw_text, diagnostics_);
    arch_ = raw ? registry_->find_for(*raw, diagnostics_) : nullptr;
    return arch_ == nullptr ? std::nullopt : registry_->bind(*arch_, config.string(), sources_, diagnostics_);
  }

  SourceSet sources_;
  Diagnostics diagnostics_;
  std::optional<ModelRegistry> registry_;
  const ArchDecl* arch_ = nullptr;
};

fs::path weights_of(const fs::path& folder) {
  return fs::exists(folder / "model.gguf") ? folder / "model.gguf" : folder;
}

void expect_loads(const Checkpoint& checkpoint, const WeightRoot& root, const WeightSource& source, const std::string& what) {
  const auto loaded = load_weight(checkpoint, root, source);
  ASSERT_TRUE(loaded.ok()) << what << ": " << loaded.failure().message();
  if (source.kind == WeightShapeKind::kDense) {
    EXPECT_EQ(loaded->dense.size(), source.rows) << what << " " << source.name;
    return;
  }
  const uint32_t count = source.kind == WeightShapeKind::kExperts ? source.experts : 1;
  for (uint32_t expert = 0; expert < count; ++expert) {
    const QuantMatrix matrix = loaded->expert(expert);
    EXPECT_EQ(matrix.rows(), source.rows) << what << " " << source.name;
    EXPECT_EQ(matrix.cols(), source.columns) << what << " " << source.name;
    EXPECT_EQ(matrix.experts(), 1U) << what << " " << source.name;
  }
}

TEST_F(PlanWeights, EveryQuantisedGoldenLoadsWhole) {
  const auto folder = testing::golden("quant");
  if (!folder) GTEST_SKIP() << "no quantised golden checkpoints beside this checkout";
  int cases = 0;
  for (const auto& entry : fs::directory_iterator(*folder)) {
    if (!fs::exists(entry.path() / "config.json")) continue;
    const std::string what = entry.path().filename().string();
    const auto facts = bind(entry.path() / "config.json");
    ASSERT_TRUE(facts.has_value()) << what << "\n" << diagnostics_.to_text();
    const auto plan = plan_weights(*arch_, *facts, decoder_uses(*facts), diagnostics_);
    ASSERT_TRUE(plan.has_value()) << what << "\n" << diagnostics_.to_text();
    const auto checkpoint = Checkpoint::open(weights_of(entry.path()));
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.failure().message();
    const auto root = check_tensors(*checkpoint, plan->view());
    ASSERT_TRUE(root.ok()) << what << ": " << root.failure().message();
    for (const WeightSource& source : plan->sources) expect_loads(*checkpoint, *root, source, what);
    ++cases;
  }
  EXPECT_GT(cases, 0);
}

TEST_F(PlanWeights, GgufMetadataBindsLikeTheConfigBesideIt) {
  const auto folder = testing::golden("quant");
  if (!folder) GTEST_SKIP() << "no quantised golden checkpoints beside this checkout";
  for (const auto& entry : fs::directory_iterator(*folder)) {
    if (!fs::exists(entry.path() / "model.gguf")) continue;
    const auto facts = bind(entry.path() / "config.json");
    ASSERT_TRUE(facts.has_value()) << diagnostics_.to_text();
    const auto checkpoint = Checkpoint::open(entry.path() / "model.gguf");
    ASSERT_TRUE(checkpoint.ok());
    const auto tags = registry_->find_for_gguf(**checkpoint->gguf().text("general.architecture"));
    ASSERT_FALSE(tags.empty());
    EXPECT_EQ(tags[0]->name, arch_->name);
    const auto own = bind_gguf(checkpoint->gguf(), checkpoint->tensors(), {}, *tags[0], "own", diagnostics_);
    ASSERT_TRUE(own.has_value()) << entry.path() << "\n" << diagnostics_.to_text();
    for (const auto& [key, value] : facts->values) {
      if (key == "weight_dtype" || key == "max_position_embeddings" || key == "context_length") continue;
      const Constant* mine = own->find(key);
      ASSERT_NE(mine, nullptr) << key;
      EXPECT_TRUE(*mine == value) << entry.path() << " `" << key << "`: " << to_string(*mine) << " and " << to_string(value);
    }
  }
}

// One head of four rows, as a converter stores it: rows 0 2 1 3 of the published order.
TEST_F(PlanWeights, UndoesTheRotaryOrderOfConverters) {
  const fs::path folder = fs::temp_directory_path() / "scratchy_rotary_order";
  fs::create_directories(folder);
  const std::vector<float> rows = {0, 2, 1, 3};
  ASSERT_TRUE(write_safetensors(folder / "model.safetensors", {{"w.weight", DType::kF32, {4, 1}, std::as_bytes(std::span(rows))}}).ok());
  const auto checkpoint = Checkpoint::open(folder);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.failure().message();
  const std::vector<WeightForm> forms = {{.path = "w", .rotary_heads = 1}};
  const auto loaded = load_weight(*checkpoint, {}, {.name = "w", .rows = 4, .columns = 1, .forms = forms});
  ASSERT_TRUE(loaded.ok()) << loaded.failure().message();
  for (uint64_t row = 0; row < 4; ++row) {
    float value = -1;
    loaded->matrices[0].dequantize_row(row, &value);
    EXPECT_EQ(value, static_cast<float>(row));
  }
  fs::remove_all(folder);
}

// Slices, interleaved and transposed stacks, converted norms and decays, from one small file.
TEST_F(PlanWeights, UndoesWhatFormsDo) {
  const fs::path folder = fs::temp_directory_path() / "scratchy_weight_forms";
  fs::create_directories(folder);
  const std::vector<float> fused = {0, 1, 2, 3};                        // [2 experts, 1 in, 2 out], gate and up in turn
  const std::vector<float> bias = {10, 11, 12, 13}, decay = {-1.0F, -std::exp(2.0F)}, gain = {1.5F, 2.0F};
  const auto bytes = [](const std::vector<float>& values) { return std::as_bytes(std::span(values)); };
  ASSERT_TRUE(write_safetensors(folder / "model.safetensors", {{"fused", DType::kF32, {2, 1, 2}, bytes(fused)}, {"bias", DType::kF32, {2, 2}, bytes(bias)},
                                                               {"decay", DType::kF32, {2}, bytes(decay)}, {"gain.weight", DType::kF32, {2}, bytes(gain)}}).ok());
  const auto checkpoint = Checkpoint::open(folder);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.failure().message();
  const std::vector<WeightForm> up = {{.path = "fused", .bare = true, .transposed = true, .first = 1, .step = 2, .of = 2}};
  const auto stack = load_weight(*checkpoint, {}, {.name = "up", .kind = WeightShapeKind::kExperts, .experts = 2, .rows = 1, .columns = 1, .forms = up});
  ASSERT_TRUE(stack.ok()) << stack.failure().message();
  float value = -1;
  stack->expert(1).dequantize_row(0, &value);
  EXPECT_EQ(value, 3.0F);
  const auto dense = [&](WeightForm form, uint32_t experts, uint32_t rows) {
    const std::vector<WeightForm> forms = {form};
    const auto loaded = load_weight(*checkpoint, {}, {.name = "w", .kind = WeightShapeKind::kDense, .experts = experts, .rows = rows, .forms = forms});
    EXPECT_TRUE(loaded.ok()) << loaded.failure().message();
    return loaded.ok() ? loaded->dense : std::vector<float>();
  };
  EXPECT_EQ(dense({.path = "bias", .bare = true, .first = 1, .step = 2, .of = 2}, 2, 1), (std::vector<float>{11, 13}));
  EXPECT_EQ(dense({.path = "gain", .add = -1.0F}, 0, 2), (std::vector<float>{0.5F, 1.0F}));
  const std::vector<float> logs = dense({.path = "decay", .bare = true, .log_of_negative = true}, 0, 2);
  EXPECT_EQ(logs[0], 0.0F);
  EXPECT_NEAR(logs[1], 2.0F, 1e-6);
  fs::remove_all(folder);
}

class SmallCheckpoint : public PlanWeights {
 protected:
  // A checkpoint with these one-element tensors, and a plan of one weight `w`.
  Result<WeightRoot> check(const std::vector<std::string>& names) {
    folder_ = fs::temp_directory_path() / "scratchy_check_tensors";
    fs::create_directories(folder_);
    std::vector<TensorToWrite> tensors;
    for (const std::string& name : names) tensors.push_back({name, DType::kF32, {1, 1}, std::as_bytes(std::span(one_))});
    EXPECT_TRUE(write_safetensors(folder_ / "model.safetensors", tensors).ok());
    auto checkpoint = Checkpoint::open(folder_);
    EXPECT_TRUE(checkpoint.ok());
    return check_tensors(*checkpoint, {.roots = roots_, .sources = sources_, .ignored = ignored_, .gguf_tags = {}, .metadata = {}, .layers = 2});
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::vector<float> one_ = {1.0F};
  std::vector<WeightForm> forms_ = {{.path = "layers.{layer}.w"}};
  std::vector<WeightSource> sources_ = {{.name = "w", .layer = 0, .rows = 1, .columns = 1, .forms = forms_}, {.name = "w", .layer = 1, .rows = 1, .columns = 1, .forms = forms_}};
  std::vector<WeightRoot> roots_ = {{"model.", ""}, {"language_model.model.", "language_model."}};
  std::vector<IgnoredTensor> ignored_ = {{"*layers.{beyond}.*", "past the last"}, {"vision.*", "the tower"}};
};

TEST_F(SmallCheckpoint, FindsThePrefixThatFits) {
  const auto root = check({"language_model.model.layers.0.w.weight", "language_model.model.layers.1.w.weight", "vision.x"});
  ASSERT_TRUE(root.ok()) << root.failure().message();
  EXPECT_EQ(root->decoder, "language_model.model.");
}

TEST_F(SmallCheckpoint, RefusesTwoPrefixesThatFit) {
  const auto root = check({"language_model.model.layers.0.w.weight", "language_model.model.layers.1.w.weight", "model.layers.0.w.weight", "model.layers.1.w.weight"});
  ASSERT_FALSE(root.ok());
  EXPECT_NE(root.failure().message().find("there twice"), std::string::npos);
}

// S27
TEST_F(SmallCheckpoint, ListsWhatIsMissing) {
  const auto root = check({"vision.x"});
  ASSERT_FALSE(root.ok());
  EXPECT_NE(root.failure().message().find("missing 2"), std::string::npos) << root.failure().message();
  EXPECT_NE(root.failure().message().find("layers.1.w.weight"), std::string::npos);
}

TEST_F(SmallCheckpoint, RefusesTensorsNobodyReadsButNotThoseWithAReason) {
  const auto good = check({"model.layers.0.w.weight", "model.layers.1.w.weight", "model.layers.2.w.weight", "vision.a.b"});
  EXPECT_TRUE(good.ok()) << good.failure().message();
  const auto root = check({"model.layers.0.w.weight", "model.layers.1.w.weight", "model.layers.0.w.adapter", "lm_head.weight"});
  ASSERT_FALSE(root.ok());
  EXPECT_NE(root.failure().message().find("`model.layers.0.w.adapter`"), std::string::npos) << root.failure().message();
  EXPECT_NE(root.failure().message().find("`lm_head.weight`"), std::string::npos);
}

// Two heads of three rows: the first of each lies transposed in a tensor of its own.
TEST_F(PlanWeights, HeadsSplitOverTwoTensorsArePutTogether) {
  const std::vector<float> first = {1, 2, 7, 8}, others = {3, 4, 5, 6, 9, 10, 11, 12};
  const auto folder = fs::temp_directory_path() / "scratchy_split_heads";
  fs::create_directories(folder);
  ASSERT_TRUE(write_safetensors(folder / "model.safetensors", {{"k.weight", DType::kF32, {2, 2, 1}, std::as_bytes(std::span(first))},
                                                               {"v.weight", DType::kF32, {2, 2, 2}, std::as_bytes(std::span(others))}})
                  .ok());
  const auto checkpoint = Checkpoint::open(folder);
  const std::vector<WeightForm> forms = {{.path = "k", .split_heads = 2, .beside = "v"}};
  const auto loaded = load_weight(*checkpoint, {}, {.name = "kv", .rows = 6, .columns = 2, .forms = forms});
  ASSERT_TRUE(loaded.ok()) << loaded.failure().message();
  EXPECT_EQ(loaded->dense, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  const auto wrong = load_weight(*checkpoint, {}, {.name = "kv", .rows = 2, .columns = 2, .forms = forms});
  EXPECT_FALSE(wrong.ok());
  fs::remove_all(folder);
}

// A tied model whose head is stored too, or alone.
TEST_F(PlanWeights, AStoredHeadOfATiedModelMustRepeatTheEmbedding) {
  const std::vector<float> table = {1, 2, 3, 4}, other = {1, 2, 3, 5};
  const std::vector<WeightForm> forms = {{.path = "embed_tokens"}, {.place = WeightPlace::kOuter, .path = "lm_head", .copy = true}};
  const std::vector<WeightSource> sources = {{.name = "embed_tokens", .rows = 2, .columns = 2, .forms = forms}};
  const std::vector<WeightRoot> roots = {{"model.", ""}};
  const WeightPlanView plan{.roots = roots, .sources = sources, .ignored = {}, .gguf_tags = {}, .metadata = {}, .layers = 0};
  const auto folder = fs::temp_directory_path() / "scratchy_check_copies";
  fs::create_directories(folder);
  const auto verdict = [&](const std::vector<std::pair<std::string, std::span<const float>>>& named) -> std::string {
    std::vector<TensorToWrite> tensors;
    for (const auto& [name, values] : named) tensors.push_back({name, DType::kF32, {2, 2}, std::as_bytes(values)});
    EXPECT_TRUE(write_safetensors(folder / "model.safetensors", tensors).ok());
    const auto checkpoint = Checkpoint::open(folder);
    const auto root = check_tensors(*checkpoint, plan);
    if (!root.ok()) return root.failure().message();
    const auto same = check_copies(*checkpoint, plan, *root);
    return same.ok() ? "fits" : same.failure().message();
  };
  EXPECT_EQ(verdict({{"model.embed_tokens.weight", table}, {"lm_head.weight", table}}), "fits");
  EXPECT_EQ(verdict({{"lm_head.weight", table}}), "fits");
  EXPECT_NE(verdict({{"model.embed_tokens.weight", table}, {"lm_head.weight", other}}).find("`lm_head.weight` differs"), std::string::npos);
  fs::remove_all(folder);
}

TEST_F(PlanWeights, EveryPresetParses) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(testing::source_dir() / "quant")) {
    const auto json = read_json(entry.path());
    ASSERT_TRUE(json.ok()) << json.failure().message();
    const auto section = parse_quant_section(*json);
    ASSERT_TRUE(section.ok()) << entry.path() << ": " << section.failure().message();
    EXPECT_FALSE(section->empty()) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 20);
}

}  // namespace
}  // namespace scratchy
