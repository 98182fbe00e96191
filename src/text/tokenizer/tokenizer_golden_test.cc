// Every published family: ids, ids with special tokens, decoded texts and streamed pieces equal the reference's.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/text.h"
#include "testing/goldens.h"
#include "text/tokenizer/gguf_metadata_for_test.h"
#include "text/tokenizer/tokenizer.h"

namespace scratchy {
namespace {

using nlohmann::json;
using Ids = std::vector<int32_t>;

std::vector<json> read_rows(const std::filesystem::path& path) {
  std::vector<json> rows;
  std::istringstream lines(read_file(path).value());
  for (std::string line; std::getline(lines, line);) rows.push_back(json::parse(line));
  return rows;
}

// Checks the rows of cases.jsonl; at most a few mismatches are printed.
void expect_cases(const Tokenizer& tokenizer, const std::filesystem::path& path, bool ids_only) {
  int wrong = 0, count = 0;
  for (const json& row : read_rows(path)) {
    const auto text = row["text"].get<std::string>();
    const auto ids = tokenizer.encode(text, false);
    ASSERT_TRUE(ids.ok()) << ids.failure().message();
    bool good = *ids == row["ids"].get<Ids>();
    if (!ids_only) {
      const auto special = tokenizer.encode(text, true);
      ASSERT_TRUE(special.ok()) << special.failure().message();
      good = good && *special == row["ids_special"].get<Ids>();
      good = good && tokenizer.decode(row["ids"].get<Ids>(), false).value() == row["decoded"].get<std::string>();
      good = good && tokenizer.decode(row["ids_special"].get<Ids>(), true).value() == row["decoded_skip"].get<std::string>();
    }
    ++count;
    if (good || ++wrong > 3) continue;
    ADD_FAILURE() << "row " << count << ": `" << escape_for_message(text) << "`\n  ids      " << json(*ids).dump()
                  << "\n  expected " << row["ids"].dump();
  }
  EXPECT_EQ(wrong, 0) << "of " << count << " rows";
  ::testing::Test::RecordProperty("rows", count);
}

void expect_streams(const Tokenizer& tokenizer, const std::filesystem::path& path) {
  for (const json& row : read_rows(path)) {
    StreamDecoder stream(tokenizer, row["skip_special"].get<bool>());
    std::vector<std::string> pieces;
    for (const int32_t id : row["ids"].get<Ids>()) pieces.push_back(stream.push(id));
    EXPECT_EQ(pieces, row["pieces"].get<std::vector<std::string>>()) << row.dump();
    EXPECT_EQ(stream.finish(), row["final"].get<std::string>()) << row.dump();
  }
}

class TokenizerGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(TokenizerGolden, JsonEncodesAndDecodesAsTheReference) {
  const auto folder = testing::golden(std::string("tokenizers/") + GetParam());
  if (!folder) GTEST_SKIP() << "no golden data for " << GetParam();
  const auto tokenizer = Tokenizer::from_json(read_file(*folder / "tokenizer.json").value());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.failure().message();
  expect_cases(*tokenizer, *folder / "cases.jsonl", false);
}

TEST_P(TokenizerGolden, StreamsWhatNeverHasToBeTakenBack) {
  const auto folder = testing::golden(std::string("tokenizers/") + GetParam());
  if (!folder) GTEST_SKIP() << "no golden data for " << GetParam();
  const auto tokenizer = Tokenizer::from_json(read_file(*folder / "tokenizer.json").value());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.failure().message();
  expect_streams(*tokenizer, *folder / "stream.jsonl");
}

TEST_P(TokenizerGolden, GgufEncodesAsTheReference) {
  const auto folder = testing::golden(std::string("tokenizers/") + GetParam());
  if (!folder || !exists(*folder / "vocab.gguf")) GTEST_SKIP() << "no vocab.gguf for " << GetParam();
  const auto tokenizer = Tokenizer::from_gguf(gguf_vocabulary_for_test(read_file(*folder / "vocab.gguf").value()));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.failure().message();
  expect_cases(*tokenizer, *folder / "cases.jsonl", true);
}

INSTANTIATE_TEST_SUITE_P(Families, TokenizerGolden,
                         ::testing::Values("gpt2", "llama-3", "qwen2", "smollm2", "granite", "llama-2", "mistral-v0.3", "phi-3",
                                           "gemma", "tekken", "gpt-oss", "phi-4", "deepseek-v3", "command-r", "modernbert",
                                           "scratch"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

TEST(TokenizerMalformed, WhatTheReferenceRefusesIsRefusedAndTheRestIsRefusedOrEqual) {
  const auto folder = testing::golden("tokenizers/malformed");
  if (!folder) GTEST_SKIP() << "no golden data";
  int loaded = 0;
  for (const json& row : read_rows(*folder / "list.jsonl")) {
    const auto name = row["file"].get<std::string>();
    const auto tokenizer = Tokenizer::from_json(read_file(*folder / name).value());
    if (!tokenizer.ok()) {
      EXPECT_GT(tokenizer.failure().message().size(), 25u) << name;
      continue;
    }
    ++loaded;
    ASSERT_TRUE(row.contains("ids")) << name << " loads, but the reference " << row["reference"];
    EXPECT_EQ(tokenizer->encode("abc cab", true).value(), row["ids"].get<Ids>()) << name;
  }
  EXPECT_GE(loaded, 1);
}

}  // namespace
}  // namespace scratchy
