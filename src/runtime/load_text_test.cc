// Tokenizers, templates, special tokens and sampling defaults found in folders and GGUF metadata.
#include "runtime/load_text.h"

#include <cstring>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/fake_text_test_util.h"
#include "runtime/generation_config.h"

namespace scratchy {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class Folder {
 public:
  explicit Folder(const std::string& name) : path_(std::filesystem::path(::testing::TempDir()) / ("load_text_" + name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }
  TextSource source() const { return *TextSource::open(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(TextSource, EndIdsAreTheUnionOfWhatAllFilesSay) {
  const Folder folder("ends");
  folder.write("tokenizer.json", fake_tokenizer_json());
  folder.write("config.json", R"({"eos_token_id":5})");
  folder.write("generation_config.json", R"({"eos_token_id":[6,7,6,9999]})");
  folder.write("tokenizer_config.json", R"({"eos_token":{"content":"z"}})");
  const TextSource source = folder.source();
  const Tokenizer tokenizer = *source.tokenizer();
  EXPECT_THAT(*source.end_ids(tokenizer), UnorderedElementsAre(5, 6, 7, *tokenizer.id_of("z"), 2));
}

TEST(TextSource, EndIdOfAWrongTypeIsNamed) {
  const Folder folder("wrong_end");
  folder.write("tokenizer.json", fake_tokenizer_json());
  folder.write("config.json", R"({"eos_token_id":"</s>"})");
  const TextSource source = folder.source();
  EXPECT_THAT(source.end_ids(*source.tokenizer()).failure().message(), HasSubstr("config.json: `eos_token_id`"));
}

TEST(TextSource, MissingFilesAreNamedWithAHint) {
  const Folder folder("missing");
  EXPECT_THAT(folder.source().tokenizer().failure().message(), HasSubstr("has no tokenizer: `tokenizer.json` is missing"));
  EXPECT_THAT(folder.source().template_text().failure().message(), HasSubstr("--chat-template"));
  EXPECT_THAT(TextSource::open(folder.path() / "nothing").failure().message(), HasSubstr("no such file"));
}

TEST(TextSource, TemplateFileComesBeforeTheConfigAndListsHaveADefault) {
  const Folder folder("templates");
  folder.write("tokenizer_config.json", R"({"chat_template":[{"name":"tool","template":"t"},{"name":"default","template":"d"}]})");
  EXPECT_EQ(*folder.source().template_text(), "d");
  folder.write("chat_template.jinja", "j");
  EXPECT_EQ(*folder.source().template_text(), "j");
}

TEST(TextSource, SpecialTokensAreStringsOrObjects) {
  const Folder folder("special");
  folder.write("tokenizer_config.json", R"({"bos_token":"<s>","eos_token":{"content":"</s>"},"unk_token":null,"add_bos_token":true})");
  EXPECT_EQ(folder.source().special_tokens()->dump(), R"({"bos_token":"<s>","eos_token":"</s>"})");
}

TEST(GenerationDefaults, DoSampleDecidesBetweenGreedyAndSampling) {
  const Folder folder("sampling");
  EXPECT_EQ(generation_defaults(folder.source())->sampling.temperature, 0);
  folder.write("generation_config.json", R"({"do_sample":true,"top_k":20,"top_p":0.8,"repetition_penalty":1.05,"num_beams":1})");
  const auto sampled = generation_defaults(folder.source());
  EXPECT_EQ(sampled->sampling.temperature, 1);
  EXPECT_EQ(sampled->sampling.top_k, 20);
  EXPECT_EQ(sampled->sampling.top_p, 0.8);
  EXPECT_TRUE(sampled->unused.empty());
  folder.write("generation_config.json", R"({"do_sample":false,"temperature":0.6,"num_beams":4})");
  const auto greedy = generation_defaults(folder.source());
  EXPECT_EQ(greedy->sampling.temperature, 0);
  EXPECT_THAT(greedy->unused, UnorderedElementsAre("num_beams"));
}

TEST(GenerationDefaults, WrongValuesAreNamed) {
  const Folder folder("wrong");
  folder.write("generation_config.json", R"({"top_p":7})");
  EXPECT_THAT(generation_defaults(folder.source()).failure().message(), HasSubstr("`top_p`"));
  folder.write("generation_config.json", R"({"temperature":"hot"})");
  EXPECT_THAT(generation_defaults(folder.source()).failure().message(), HasSubstr("`temperature` is"));
}

GgufValue gguf_texts(const std::vector<std::string>& texts) {
  GgufValue value{GgufType::kString, true, texts.size(), ""};
  for (const std::string& text : texts) {
    const uint64_t size = text.size();
    value.bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    value.bytes += text;
  }
  return value;
}

TEST(GgufVocabulary, MissingKeysAreNamed) {
  GgufMetadata metadata;
  EXPECT_THAT(gguf_vocabulary(metadata).failure().message(), HasSubstr("`tokenizer.ggml.model`"));
  GgufValue model = gguf_texts({"gpt2"});
  model.is_array = false;
  metadata.insert("tokenizer.ggml.model", model);
  EXPECT_THAT(gguf_vocabulary(metadata).failure().message(), HasSubstr("`tokenizer.ggml.tokens`"));
  metadata.insert("tokenizer.ggml.tokens", gguf_texts({"a", "b"}));
  EXPECT_EQ(gguf_vocabulary(metadata)->tokens.size(), 2U);
}

}  // namespace
}  // namespace scratchy
