// Binding of published configs: every shipped one, every spelling of the golden cases, and what must be refused.

#include "config/bind_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "checkpoint/json.h"
#include "config/model_registry.h"
#include "testing/goldens.h"

namespace scratchy {
namespace {

namespace fs = std::filesystem;

class BindConfig : public ::testing::Test {
 protected:
  void SetUp() override {
    Diagnostics diagnostics;
    registry_ = ModelRegistry::load(testing::source_dir() / "models", sources_, diagnostics);
    ASSERT_TRUE(registry_.has_value()) << diagnostics.to_text();
  }

  const ArchDecl& arch(const std::string& name) {
    Diagnostics diagnostics;
    const ArchDecl* found = registry_->find(name, diagnostics);
    EXPECT_NE(found, nullptr) << diagnostics.to_text();
    return *found;
  }

  std::optional<ModelFacts> bind(const std::string& name, const std::string& text) {
    seen_ = Diagnostics();
    return bind_config(sources_.add("config.json", text), arch(name), "test", seen_);
  }

  // The first shipped config of an architecture with members replaced; null removes one.
  Json shipped(const std::string& name) {
    const ArchDecl& one = arch(name);
    return *read_json(one.directory / "configs" / (one.stems.at(0) + ".json"));
  }
  static Json tiny_llama() {
    return Json{{"architectures", {"LlamaForCausalLM"}}, {"model_type", "llama"}, {"hidden_size", 48}, {"intermediate_size", 80},
                {"num_attention_heads", 4}, {"num_hidden_layers", 3}, {"vocab_size", 160}, {"rms_norm_eps", 1e-5}};
  }

  // Expects a refusal whose text holds `part`.
  void refuses(const std::string& name, const Json& config, const std::string& part) {
    EXPECT_FALSE(bind(name, config.dump(1)).has_value()) << part;
    EXPECT_NE(seen_.to_text().find(part), std::string::npos) << "wanted: " << part << "\n" << seen_.to_text();
  }
  void refuses_text(const std::string& text, const std::string& part) {
    EXPECT_FALSE(bind("llama", text).has_value()) << part;
    EXPECT_NE(seen_.to_text().find(part), std::string::npos) << "wanted: " << part << "\n" << seen_.to_text();
  }

  SourceSet sources_;
  std::optional<ModelRegistry> registry_;
  Diagnostics seen_;
};

TEST_F(BindConfig, BindsEveryShippedConfig) {
  int count = 0;
  for (const ArchDecl& one : registry_->architectures()) {
    for (const std::string& stem : one.stems) {
      Diagnostics diagnostics;
      const auto facts = registry_->bind(one, stem, sources_, diagnostics);
      ASSERT_TRUE(facts.has_value()) << one.name << " x " << stem << "\n" << diagnostics.to_text();
      EXPECT_TRUE(facts->find("head_dim")->is_int());
      EXPECT_TRUE(facts->find("num_key_value_heads")->is_int());
      EXPECT_EQ(static_cast<int64_t>(facts->find("layer_types")->as_list().size()), facts->find("num_hidden_layers")->as_int());
      ++count;
    }
  }
  EXPECT_GE(count, 90);
}

TEST_F(BindConfig, FindsTheArchitectureOfEveryShippedConfig) {
  for (const ArchDecl& one : registry_->architectures()) {
    for (const std::string& stem : one.stems) {
      Diagnostics diagnostics;
      const auto text = read_file(one.directory / "configs" / (stem + ".json"));
      const auto raw = read_raw_config(sources_.add(stem, *text), diagnostics);
      ASSERT_TRUE(raw.has_value());
      const ArchDecl* found = registry_->find_for(*raw, diagnostics);
      ASSERT_NE(found, nullptr) << one.name << " x " << stem << "\n" << diagnostics.to_text();
      EXPECT_EQ(found->name, one.name) << stem;
    }
  }
}

std::string values_text(const ModelFacts& facts) {
  std::string text;
  for (const auto& [key, value] : facts.values) text += key + " = " + to_string(value, 100000) + "\n";
  return text;
}

TEST_F(BindConfig, EverySpellingOfAGoldenCaseMeansTheSame) {
  int cases = 0;
  for (const ArchDecl& one : registry_->architectures()) {
    const auto folder = testing::golden("models/" + one.name);
    if (!folder) continue;
    for (const auto& entry : fs::directory_iterator(*folder)) {
      std::string first;
      for (const char* name : {"config.json", "config.v4.json", "config.v5.json"}) {
        if (!fs::exists(entry.path() / name)) continue;
        Diagnostics diagnostics;
        const auto facts = registry_->bind(one, (entry.path() / name).string(), sources_, diagnostics);
        ASSERT_TRUE(facts.has_value()) << entry.path() / name << "\n" << diagnostics.to_text();
        const std::string values = values_text(*facts);
        if (first.empty()) first = values;
        EXPECT_EQ(values, first) << entry.path() / name;
      }
      ++cases;
    }
  }
  if (cases == 0) GTEST_SKIP() << "no golden models beside this checkout";
}

TEST_F(BindConfig, FillsDefaultsAndImpliedValues) {
  const auto facts = bind("llama", tiny_llama().dump());
  ASSERT_TRUE(facts.has_value()) << seen_.to_text();
  EXPECT_EQ(facts->find("head_dim")->as_int(), 12);
  EXPECT_EQ(facts->find("num_key_value_heads")->as_int(), 4);
  EXPECT_EQ(facts->find("rope_theta")->as_number(), 10000.0);
  EXPECT_TRUE(facts->find("rope_scaling")->is_none());
  EXPECT_EQ(facts->find("sliding_window")->as_int(), 0);
  EXPECT_FALSE(facts->find("tie_word_embeddings")->as_bool());
  EXPECT_EQ(facts->weight_dtype, DType::kBF16);
  EXPECT_EQ(facts->find_weight("mlp.gate_proj")->rows(2), 80);
  EXPECT_TRUE(facts->find_weight("lm_head")->tied_to.empty());
}

TEST_F(BindConfig, TiedHeadIsTheEmbedding) {
  Json config = tiny_llama();
  config["tie_word_embeddings"] = true;
  const auto facts = bind("llama", config.dump());
  ASSERT_TRUE(facts.has_value()) << seen_.to_text();
  EXPECT_EQ(facts->find_weight("lm_head")->tied_to, "embed_tokens");
}

// C04: null, absent and false are three facts.
TEST_F(BindConfig, NullWindowIsOffAndAbsentWindowIsTheDefault) {
  Json config = shipped("mistral");
  config["sliding_window"] = nullptr;
  EXPECT_EQ(bind("mistral", config.dump())->find("sliding_window")->as_int(), 0);
  EXPECT_EQ(bind("mistral", config.dump())->find("layer_types")->as_list()[0].as_string(), "full_attention");
  config.erase("sliding_window");
  EXPECT_EQ(bind("mistral", config.dump())->find("sliding_window")->as_int(), 4096);
  EXPECT_EQ(bind("mistral", config.dump())->find("layer_types")->as_list()[0].as_string(), "sliding_attention");
  config["sliding_window"] = false;
  refuses("mistral", config, "`sliding_window` is false");
}

TEST_F(BindConfig, PointsAtTheValueInTheFile) {
  Json config = tiny_llama();
  config["num_hidden_layers"] = 0;
  const std::string text = config.dump(2);
  EXPECT_FALSE(bind("llama", text).has_value());
  ASSERT_EQ(seen_.size(), 1U) << seen_.to_text();
  const Span span = seen_.items()[0].span;
  ASSERT_NE(span.file, nullptr);
  EXPECT_EQ(span.file->text.substr(span.begin, span.end - span.begin), "0");
  EXPECT_NE(seen_.to_text().find("config.json:"), std::string::npos);
}

// C01
TEST_F(BindConfig, RefusesWhatIsNoJsonObject) {
  refuses_text("[]", "one JSON object");
  refuses_text("{\"a\": 1,}", "line 1");
  refuses_text("{\"a\": 1, \"a\": 2}", "line 1");
  refuses_text("{\"a\": NaN}", "line 1");
  refuses_text("\xef\xbb\xbf{}", "line 1");
  refuses_text("{\"hidden_size\": 1180591620717411303424}", "line 1");
  refuses_text("{\"text_config\": 3}", "text_config");
}

// C02, C06
TEST_F(BindConfig, RefusesSizesThatCannotBe) {
  for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size"}) {
    for (const Json& value : {Json("576"), Json(576.0), Json(true), Json(nullptr), Json(0), Json(-1), Json(int64_t{1} << 40), Json(uint64_t{1} << 63)}) {
      Json config = tiny_llama();
      config[key] = value;
      refuses("llama", config, key);
    }
  }
}

// C03
TEST_F(BindConfig, RefusesUnknownKeysInEveryArchitecture) {
  for (const ArchDecl& one : registry_->architectures()) {
    if (one.stems.empty()) continue;
    Json config = shipped(one.name);
    config["num_hiden_layers"] = 3;
    refuses(one.name, config, "`num_hiden_layers` means nothing to `" + one.name + "`");
    EXPECT_NE(seen_.to_text().find("did you mean `num_hidden_layers`"), std::string::npos) << seen_.to_text();
  }
}

TEST_F(BindConfig, RefusesAnotherActivationInEveryArchitecture) {
  for (const ArchDecl& one : registry_->architectures()) {
    if (one.stems.empty()) continue;
    Json config = shipped(one.name);
    Json& text = config.contains("text_config") && !config.contains("hidden_size") ? config["text_config"] : config;
    for (const char* key : {"hidden_act", "hidden_activation"}) text.erase(key);
    text["hidden_act"] = "leaky_relu";
    refuses(one.name, config, "leaky_relu");
  }
}

TEST_F(BindConfig, AWeightIsAbsentWhereItsConditionDoesNotHold) {
  Json config = tiny_llama();
  const auto plain = bind("llama", config.dump());
  ASSERT_TRUE(plain.has_value()) << seen_.to_text();
  EXPECT_TRUE(plain->find_weight("self_attn.q_proj.bias")->absent);
  config["attention_bias"] = true;
  const auto biased = bind("llama", config.dump());
  ASSERT_TRUE(biased.has_value()) << seen_.to_text();
  EXPECT_FALSE(biased->find_weight("self_attn.q_proj.bias")->absent);
  EXPECT_TRUE(biased->find_weight("mlp.up_proj.bias")->absent);
}

// C05
TEST_F(BindConfig, RefusesHeadsThatDoNotFit) {
  Json config = tiny_llama();
  config["num_attention_heads"] = 5;
  refuses("llama", config, "head_dim");
  config = tiny_llama();
  config["num_key_value_heads"] = 3;
  refuses("llama", config, "3 key heads do not divide 4 query heads");
  config = tiny_llama();
  config["head_dim"] = 7;
  refuses("llama", config, "7 of 7 dimensions are not pairs");
}

// C07
TEST_F(BindConfig, RefusesLayerTypesThatDoNotFit) {
  Json config = shipped("gemma2");
  config["layer_types"] = {"full_attention"};
  refuses("gemma2", config, "it lists 1 layers");
  config = shipped("qwen3-5");
  Json& text = config["text_config"];
  text["layer_types"][0] = "chunked_attention";
  refuses("qwen3-5", config, "chunked_attention");
}

// C08
TEST_F(BindConfig, RefusesRotaryParametersThatCannotBe) {
  for (const Json& theta : {Json(0), Json(-1.0), Json("10000")}) {
    Json config = tiny_llama();
    config["rope_theta"] = theta;
    refuses("llama", config, "rope_theta");
    config = tiny_llama();
    config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", theta}};
    refuses("llama", config, "rope_theta");
  }
  const std::pair<Json, const char*> cases[] = {
      {{{"rope_type", "linear"}, {"factor", 0}}, "factor"},
      {{{"rope_type", "spiral"}, {"factor", 2}}, "spiral"},
      {{{"rope_type", "linear"}, {"type", "yarn"}, {"factor", 2}}, "which means the same"},
      {{{"rope_type", "linear"}}, "rope_scaling.factor"},
      {{{"rope_type", "linear"}, {"factr", 2}}, "did you mean `factor`"},
      {Json(3), "rope_scaling"}};
  for (const auto& [scaling, part] : cases) {
    Json config = tiny_llama();
    config["rope_scaling"] = scaling;
    refuses("llama", config, part);
  }
}

// C09
TEST_F(BindConfig, RefusesEpsilonsThatCannotBe) {
  for (const Json& eps : {Json(0), Json(-1e-5), Json(1e-40), Json("1e-5")}) {
    Json config = tiny_llama();
    config["rms_norm_eps"] = eps;
    refuses("llama", config, "rms_norm_eps");
  }
}

// C10
TEST_F(BindConfig, RefusesNegativeWindowsAndTakesZeroAsOff) {
  Json config = shipped("mistral");
  config["sliding_window"] = -1;
  refuses("mistral", config, "sliding_window");
  config["sliding_window"] = 0;
  EXPECT_EQ(bind("mistral", config.dump())->find("layer_types")->as_list()[0].as_string(), "full_attention");
}

// C12
TEST_F(BindConfig, RefusesMorePicksThanExperts) {
  Json config = shipped("mixtral");
  config["num_experts_per_tok"] = 9;
  refuses("mixtral", config, "9 picks of 8 experts");
  config["num_experts_per_tok"] = 0;
  refuses("mixtral", config, "num_experts_per_tok");
  config = shipped("mixtral");
  config["num_local_experts"] = 0;
  refuses("mixtral", config, "num_local_experts");
}

// C13: a length is a limit, not a size to allocate.
TEST_F(BindConfig, TakesHugeContexts) {
  Json config = tiny_llama();
  config["max_position_embeddings"] = int64_t{1} << 31;
  EXPECT_TRUE(bind("llama", config.dump()).has_value()) << seen_.to_text();
}

// C20
TEST_F(BindConfig, CodeInAConfigIsOnlyAName) {
  Json config = tiny_llama();
  config["auto_map"] = {{"AutoModel", "evil.Model"}};
  EXPECT_TRUE(bind("llama", config.dump()).has_value()) << seen_.to_text();
  config["trust_remote_code"] = true;
  refuses("llama", config, "trust_remote_code");
}

TEST_F(BindConfig, DisagreeingSpellingsAreRefused) {
  Json config = tiny_llama();
  config["torch_dtype"] = "float32";
  config["dtype"] = "bfloat16";
  refuses("llama", config, "which means the same");
}

TEST_F(BindConfig, ConfigOfAnotherArchitectureIsNotFound) {
  Diagnostics diagnostics;
  const auto raw = read_raw_config(sources_.add("config.json", R"({"architectures": ["MambaForCausalLM"], "model_type": "mamba"})"), diagnostics);
  EXPECT_EQ(registry_->find_for(*raw, diagnostics), nullptr);
  EXPECT_NE(diagnostics.to_text().find("MambaForCausalLM"), std::string::npos);
}

TEST_F(BindConfig, UnknownStemSuggestsTheNearest) {
  Diagnostics diagnostics;
  EXPECT_FALSE(registry_->bind(arch("llama"), "smolm2-135m", sources_, diagnostics).has_value());
  EXPECT_NE(diagnostics.to_text().find("did you mean `smollm2-135m`"), std::string::npos) << diagnostics.to_text();
}

}  // namespace
}  // namespace scratchy
