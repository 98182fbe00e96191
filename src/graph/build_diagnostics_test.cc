// Golden texts of what an author reads: each file of tests/golden/diagnostics is a mistake and the answer to it.
//
//   --- config      lines `key = expression` that change the small model; `key` alone takes a key away     (may be absent)
//   --- weights     lines `name [layer] [rows = n] [columns = n] [experts = n]` added to it                (may be absent)
//   --- prelude     instead of the small prelude                                                           (may be absent)
//   --- text        the architecture
//   --- answer      what is printed
//
// `scratchy_graph_test --regenerate` writes the answers anew; read the difference before committing it.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "graph/build.h"
#include "graph/build_test_flags.h"
#include "graph/build_test_model.h"
#include "testing/goldens.h"

bool scratchy::testing::regenerate_goldens = false;

namespace scratchy {
namespace {

using Sections = std::map<std::string, std::string>;

Sections sections_of(const std::string& text) {
  Sections out;
  std::string name;
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with("--- ")) name = line.substr(4);
    else if (!name.empty()) out[name] += line + "\n";
  }
  for (auto& [key, body] : out) {
    while (body.ends_with("\n\n")) body.pop_back();
  }
  return out;
}

void change_config(ModelFacts& facts, SourceSet& sources, const std::string& lines) {
  for (const std::string& line : split(lines, '\n')) {
    const size_t at = line.find('=');
    const std::string key = line.substr(0, line.find_first_of(" ="));
    if (key.empty()) continue;
    facts.values.erase(key);
    if (at == std::string::npos) continue;
    Diagnostics diagnostics;
    const auto value = evaluate_constant(sources.add("config", line.substr(at + 1)), [](std::string_view) { return std::nullopt; }, {}, diagnostics);
    ASSERT_TRUE(value.has_value()) << diagnostics.to_text();
    facts.values[key] = *value;
  }
}

void add_weights(ModelFacts& facts, const std::string& lines) {
  for (const std::string& line : split(lines, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (words[0].empty()) continue;
    WeightDecl made{.name = words[0]};
    for (size_t i = 1; i < words.size(); ++i) {
      if (words[i] == "layer") made.per_layer = true;
      if (words[i] == "rows") made.rows_by_layer = {std::stoll(words[i + 2])};
      if (words[i] == "columns") made.columns_by_layer = {std::stoll(words[i + 2])};
      if (words[i] == "experts") made.experts = std::stoll(words[i + 2]);
    }
    std::erase_if(facts.weights, [&](const WeightDecl& weight) { return weight.name == made.name; });
    facts.weights.push_back(made);
  }
}

std::string answer_to(Sections sections) {
  SourceSet sources;
  ModelFacts facts = testing::small_llama();
  for (const auto& [key, value] : facts.values) facts.declared_keys.push_back(key);
  change_config(facts, sources, sections["config"]);
  add_weights(facts, sections["weights"]);
  Diagnostics diagnostics;
  const std::string prelude = sections.count("prelude") != 0 ? sections["prelude"] : testing::kSmallPrelude;
  const auto program = read_program(sources.add("std.fwd", prelude), sources.add("forward.fwd", sections["text"]), diagnostics);
  if (program) {
    const auto graph = build_graph(*program, facts, diagnostics);
    EXPECT_EQ(graph.has_value(), diagnostics.empty());
  }
  return diagnostics.to_text();
}

std::vector<std::filesystem::path> cases() {
  std::vector<std::filesystem::path> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(testing::source_dir() / "tests/golden/diagnostics", error)) {
    if (entry.path().extension() == ".txt") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Diagnostics, EachMistakeGetsItsAnswer) {
  ASSERT_FALSE(cases().empty());
  for (const std::filesystem::path& path : cases()) {
    std::string text = read_file(path).value();
    const std::string answer = answer_to(sections_of(text));
    const size_t at = text.find("--- answer\n");
    ASSERT_NE(at, std::string::npos) << path;
    const std::string wanted = text.substr(at + 11);
    if (testing::regenerate_goldens && wanted != answer) {
      ASSERT_TRUE(write_file_atomically(path, text.substr(0, at + 11) + answer).ok()) << path;
    } else {
      EXPECT_EQ(wanted, answer) << path.filename() << ": if the new answer is right, run scratchy_graph_test --regenerate";
    }
  }
}

// The kinds of reading, names and shapes, as diagnostic.def lists them.
std::vector<std::string> kinds_of_texts() {
  const std::string all = read_file(testing::source_dir() / "src/base/diagnostic.def").value();
  std::vector<std::string> out;
  for (const std::string& line : split(all, '\n')) {
    if (line.starts_with("// --- config")) break;
    if (line.starts_with("DIAGNOSTIC(")) out.push_back(line.substr(11, line.find(',') - 11));
  }
  return out;
}

// Those that no small text can show are tested beside the lexer and the evaluator (parser_test.cc).
TEST(Diagnostics, EveryKindOfATextHasAGolden) {
  std::string all = "[TextTooLong] [NotUtf8] [NotHere]";
  for (const std::filesystem::path& path : cases()) all += read_file(path).value();
  for (const std::string& kind : kinds_of_texts()) EXPECT_NE(all.find("[" + kind + "]"), std::string::npos) << kind;
}

}  // namespace
}  // namespace scratchy

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) scratchy::testing::regenerate_goldens = scratchy::testing::regenerate_goldens || std::string_view(argv[i]) == "--regenerate";
  return RUN_ALL_TESTS();
}
