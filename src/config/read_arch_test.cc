#include "config/read_arch.h"

#include <gtest/gtest.h>

#include "config/json_places.h"

namespace scratchy {
namespace {

constexpr const char* kStd = R"({"keys": {"hidden_size": {"type": "int", "min": 1, "max": 9}}, "groups": {"all": ["hidden_size"]}})";

class ReadArch : public ::testing::Test {
 protected:
  std::optional<ArchDecl> read(const std::string& text) {
    const auto shared = read_std(sources_.add("std.json", kStd), seen_);
    return read_arch(sources_.add("arch.json", text), "llama", *shared, sources_, seen_);
  }
  void refuses(const std::string& text, const std::string& part) {
    seen_ = Diagnostics();
    EXPECT_FALSE(read(text).has_value()) << text;
    EXPECT_NE(seen_.to_text().find(part), std::string::npos) << "wanted: " << part << "\n" << seen_.to_text();
  }

  SourceSet sources_;
  Diagnostics seen_;
};

TEST_F(ReadArch, TakesGroupsFormsAndRules) {
  const auto arch = read(R"({"architectures": ["L"], "config": ["@all"], "when": {"key": "x", "is": null},
    "layer_weights": {"mlp.up_proj": {"gguf": "ffn_up", "rows": "hidden_size"}, "q.bias": "attn_q.bias"}})");
  ASSERT_TRUE(arch.has_value()) << seen_.to_text();
  EXPECT_TRUE(arch->keys.contains("hidden_size"));
  const WeightEntry* up = arch->find_weight("mlp.up_proj");
  ASSERT_NE(up, nullptr);
  ASSERT_EQ(up->forms.size(), 2U);
  EXPECT_EQ(up->forms[0].path, "layers.{layer}.mlp.up_proj");
  EXPECT_EQ(up->forms[1].path, "blk.{layer}.ffn_up");
  EXPECT_EQ(up->forms[1].place, WeightPlace::kGguf);
  EXPECT_TRUE(arch->find_weight("q.bias")->forms[0].bare);
  EXPECT_TRUE(arch->find_weight("q.bias")->dense);
}

TEST_F(ReadArch, RefusesUnknownKeysAtEveryLevel) {
  refuses(R"({"architecturs": []})", "did you mean `architectures`");
  refuses(R"({"rope": {"typs": []}})", "did you mean `types`");
  refuses(R"({"weights": {"norm": {"ggufs": "x"}}})", "did you mean `gguf`");
  refuses(R"({"weights": {"norm": {"disk": [{"pth": "x"}]}}})", "did you mean `path`");
  refuses(R"({"roots": [{"decodr": ""}]})", "did you mean `decoder`");
  refuses(R"({"when": {"key": "a", "is": 1, "if": 2}})", "unknown key `if`");
}

TEST_F(ReadArch, RefusesNamesThatAreDeclaredNowhere) {
  refuses(R"({"config": ["hidden_sizes"]})", "no rule");
  refuses(R"({"config": ["@nothing"]})", "the group `nothing`");
  refuses(R"({"defaults": {"hidden_size": 3}})", "not a key of `config`");
  refuses(R"({"derived": {"hidden_size": "3"}})", "not a key of `config`");
  refuses(R"({"allowed": {"hidden_size": [3]}})", "a key of `config`");
}

TEST_F(ReadArch, RefusesWrongTypes) {
  refuses(R"([])", "JSON object");
  refuses(R"({"architectures": 3})", "list of strings");
  refuses(R"({"weights": {"norm": 3}})", "must be an object");
  refuses(R"({"when": {"key": "a"}})", "one of `is` and `is_not`");
}

TEST(JsonPlaces, PointAtKeysAndValues) {
  const SourceFile file("a.json", "{\"a\": {\"b\": [1, {\"c\": 2}], \"d\": \"x\\\"y\"},\n \"e\" : -1.5e3 }");
  const auto places = json_places(file);
  const auto text = [&](const Span& span) { return file.text.substr(span.begin, span.end - span.begin); };
  ASSERT_EQ(places.size(), 4U);
  EXPECT_EQ(text(places.at("a").key), "\"a\"");
  EXPECT_EQ(text(places.at("a.b").value), "[1, {\"c\": 2}]");
  EXPECT_EQ(text(places.at("a.d").value), "\"x\\\"y\"");
  EXPECT_EQ(text(places.at("e").value), "-1.5e3");
  EXPECT_EQ(text(places.at("a").value), "{\"b\": [1, {\"c\": 2}], \"d\": \"x\\\"y\"}");
}

}  // namespace
}  // namespace scratchy
