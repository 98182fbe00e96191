// The commands of scr as a person or a script calls them: words in, standard input in, exit code and both outputs out.
// A binary without programs: everything here is the text side, command lines, and what is said before a model is needed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "cli/commands.h"
#include "cli/extra_commands.h"
#include "runtime/fake_text_test_util.h"
#include "tape/program.h"
#include "testing/scratch_folder.h"

namespace scratchy {

const CompiledProgram* const kPrograms[] = {nullptr};
const int kProgramCount = 0;

namespace cli {

const AddCommand kExtraCommands[] = {nullptr};

namespace {

using ::testing::HasSubstr;

struct Outcome {
  int code;
  std::string output, error;
};

class Cli : public testing::ScratchFolder {
 protected:
  Outcome scr(std::vector<std::string> words, const std::string& input = "") {
    write("input", input);
    std::freopen(path("input").c_str(), "r", stdin);
    std::cin.clear();
    words.insert(words.begin(), "scr");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code = run(static_cast<int>(argv.size()), argv.data());
    std::string error = ::testing::internal::GetCapturedStderr();
    return {code, ::testing::internal::GetCapturedStdout(), std::move(error)};
  }
  std::string tokenizer() { return write("tokenizer.json", fake_tokenizer_json()).string(); }
  std::string jinja(const std::string& text) { return write("chat.jinja", text).string(); }
};

// ids: a is 5, b 6, c 7; `<|im_end|>` 2.
TEST_F(Cli, TokenizePrintsOneJsonArray) {
  const Outcome done = scr({"tokenize", tokenizer()}, "abc a");
  EXPECT_EQ(done.code, 0) << done.error;
  EXPECT_EQ(done.output, "[5,6,7,3,5]\n");
}

TEST_F(Cli, TokenizeTakesTheWholeInputAsItIs) {
  EXPECT_EQ(scr({"tokenize", tokenizer()}, "a\n").output, "[5,4]\n");
  EXPECT_EQ(scr({"tokenize", tokenizer()}, "").output, "[]\n");
}

TEST_F(Cli, TokenizeRefusesBytesThatAreNotUtf8) {
  const Outcome done = scr({"tokenize", tokenizer()}, "a\xff");
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(done.output, "");
  EXPECT_THAT(done.error, HasSubstr("UTF-8"));
}

TEST_F(Cli, DetokenizeGivesTheTextBack) {
  EXPECT_EQ(scr({"detokenize", tokenizer()}, "[5, 6, 2]").output, "ab<|im_end|>");
  EXPECT_EQ(scr({"detokenize", tokenizer(), "--skip-special"}, "[5, 6, 2]").output, "ab");
}

TEST_F(Cli, DetokenizeRefusesWhatIsNoListOfIds) {
  for (const auto& [input, words] : {std::pair{"5, 6", "must be a JSON array"}, {"{}", "must be a JSON array"}, {"[1.5]", "`1.5` is no token id"}, {"[-1]", "`-1` is no token id"},
                                     {"[4294967296]", "`4294967296` is no token id"}, {"[18446744073709551615]", "is no token id"}, {"[\"a\"]", "is no token id"}, {"[99]", "99"}}) {
    const Outcome done = scr({"detokenize", tokenizer()}, input);
    EXPECT_EQ(done.code, 1) << input;
    EXPECT_EQ(done.output, "") << input;
    EXPECT_THAT(done.error, HasSubstr(words)) << input;
  }
}

TEST_F(Cli, JsonLinesAnswerEveryLineAndGoOnAfterAMistake) {
  const Outcome done = scr({"tokenize", tokenizer(), "--jsonl"}, "{\"text\":\"ab\"}\n\n{\"text\":5}\n{}\nnonsense\n[1]\n{\"text\":\"c\"}");
  EXPECT_EQ(done.code, 1) << "a line was no JSON object";
  EXPECT_EQ(done.output,
            "{\"ids\":[5,6]}\n"
            "{\"error\":\"`text` must be a string\"}\n"
            "{\"error\":\"`text` must be a string\"}\n"
            "{\"error\":\"line 5 is no JSON object\"}\n"
            "{\"error\":\"line 6 is no JSON object\"}\n"
            "{\"ids\":[7]}\n");
}

TEST_F(Cli, JsonLinesDetokenize) {
  const Outcome done = scr({"detokenize", tokenizer(), "--jsonl", "--skip-special"}, "{\"ids\":[5,2]}\n{\"ids\":5}\n{}\n{\"ids\":[true]}\n");
  EXPECT_EQ(done.code, 0) << "every line was a JSON object";
  EXPECT_EQ(done.output,
            "{\"text\":\"a\"}\n"
            "{\"error\":\"token ids must be a JSON array of integers\"}\n"
            "{\"error\":\"token ids must be a JSON array of integers\"}\n"
            "{\"error\":\"`true` is no token id\"}\n");
}

TEST_F(Cli, JsonLinesAreAsciiWhateverTheText) {
  const Outcome done = scr({"template", jinja("{{ messages[0].content }}"), "--jsonl"}, "{\"messages\":[{\"role\":\"user\",\"content\":\"\\u2028 \xc3\xa9\"}]}\n");
  EXPECT_EQ(done.output, "{\"text\":\"\\u2028 \\u00e9\"}\n");
}

TEST_F(Cli, TemplateRendersMessagesToolsAndKwargs) {
  const std::string file = jinja("{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}{{ tools | length if tools else 0 }}{{ add_generation_prompt }}{{ mood }}");
  const Outcome done = scr({"template", file, "--jsonl"},
                           R"({"messages":[{"role":"user","content":"a"}],"tools":[{}],"add_generation_prompt":true,"kwargs":{"mood":"!"}})" "\n" R"({"messages":[]})");
  EXPECT_EQ(done.code, 0) << done.error;
  EXPECT_EQ(done.output, "{\"text\":\"user:a;1True!\"}\n{\"text\":\"0False\"}\n");
}

TEST_F(Cli, TemplateSaysWhatIsWrongWithALine) {
  const std::string file = jinja("{{ raise_exception('roles must alternate') }}");
  const Outcome done = scr({"template", file, "--jsonl"}, "{\"messages\":[]}\n{\"message\":[]}\n{\"add_generation_prompt\":1}\n{\"kwargs\":[]}\n");
  EXPECT_EQ(done.output,
            "{\"error\":\"roles must alternate\"}\n"
            "{\"error\":\"unknown member `message`; known are messages, tools, documents, add_generation_prompt, kwargs\"}\n"
            "{\"error\":\"`add_generation_prompt` must be true or false\"}\n"
            "{\"error\":\"`kwargs` must be an object\"}\n");
}

TEST_F(Cli, ATemplateThatDoesNotParseIsAnErrorOfEveryLine) {
  const Outcome done = scr({"template", jinja("{% if %}"), "--jsonl"}, "{\"messages\":[]}\n{}\n");
  EXPECT_EQ(std::count(done.output.begin(), done.output.end(), '\n'), 2);
  EXPECT_THAT(done.output, HasSubstr("{\"error\":"));
}

TEST_F(Cli, AMissingTokenizerIsNamed) {
  for (const char* command : {"tokenize", "detokenize"}) {
    const Outcome done = scr({command, path("nowhere").string()});
    EXPECT_EQ(done.code, 1);
    EXPECT_THAT(done.error, HasSubstr("nowhere`: no such file or folder"));
  }
}

TEST_F(Cli, ModelInfoOfNoProgramsIsAnEmptyList) { EXPECT_EQ(scr({"model", "info", "--json"}).output, "{\"programs\":[]}\n"); }

// What is wrong with the words is said before anything is opened.
TEST_F(Cli, MisuseIsExitCode2) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "a command is missing"},
      {{"chta"}, "did you mean `chat`?"},
      {{"model"}, "a command is missing; there are info"},
      {{"chat"}, "a checkpoint is missing"},
      {{"chat", "x", "-q", "a", "-p", "b"}, "exclude each other"},
      {{"chat", "x", "--temperature", "-1"}, "`--temperature`: -1 is not within 0 and 100"},
      {{"chat", "x", "--temperature", "nan"}, "`--temperature`: nan is not within"},
      {{"chat", "x", "--top-p", "1.01"}, "`--top-p`: 1.01 is not within 0 and 1"},
      {{"chat", "x", "--top-k", "-1"}, "`--top-k`: -1 is less than 0"},
      {{"chat", "x", "--min-p", "x"}, "`--min-p`: `x` is no number"},
      {{"chat", "x", "--repetition-penalty", "0"}, "`--repetition-penalty`: 0 is not within"},
      {{"chat", "x", "--max-tokens", "0"}, "`--max-tokens`: 0 is less than 1"},
      {{"chat", "x", "--seed", "1.5"}, "`--seed`: `1.5` is no whole number"},
      {{"chat", "x", "--threads", "1025"}, "`--threads`: 1025 is not within 1 and 1024"},
      {{"chat", "x", "--chat-template", "nowhere.jinja"}, "there is no file `nowhere.jinja`"},
      {{"chat", "x", "why is", "the sky"}, "is one word too many"},
      {{"chat", "x", "--stpo", "a"}, "did you mean `--stop`?"},
      {{"logits", "x", "-o", "out"}, "`--ids` or `--ids-file` is missing"},
      {{"logits", "x", "--ids", "1"}, "`--output` is missing"},
      {{"logits", "x", "--ids", "1", "--ids-file", "f", "-o", "out"}, "exclude each other"},
      {{"logits", "x", "--ids", "1", "--last", "0", "-o", "out"}, "`--last`: 0 is less than 1"},
      {{"tokenize"}, "`path` is missing"},
      {{"template", "x"}, "`--jsonl` is missing"},
  };
  for (const auto& [words, expected] : cases) {
    const Outcome done = scr(words);
    EXPECT_EQ(done.code, 2) << expected;
    EXPECT_THAT(done.error, HasSubstr(expected));
    EXPECT_EQ(done.output, "");
  }
}

TEST_F(Cli, ChatSaysWhatIsWrongBeforeItOpensTheModel) {
  const std::vector<std::tuple<std::vector<std::string>, std::string, std::string>> cases = {
      {{"chat", "x"}, "", "standard input is empty"},
      {{"chat", "x", "--json"}, "\n\r\n", "standard input is empty"},
      {{"chat", "x", "-q", "a\xff"}, "", "the question is not UTF-8"},
      {{"chat", "x"}, "\xff", "the question is not UTF-8"},
      {{"chat", "x", "-p", "a", "-p", "b", "--raw"}, "", "--raw has no turns"},
      {{"chat", "x", "-q", "a", "--raw", "--system", "s"}, "", "--system has no place"},
      {{"chat", "/nowhere/x.gguf", "-q", "a"}, "", "`/nowhere/x.gguf`: no such file or folder"},
  };
  for (const auto& [words, input, expected] : cases) {
    const Outcome done = scr(words, input);
    EXPECT_EQ(done.code, 1) << expected;
    EXPECT_THAT(done.error, HasSubstr("error: "));
    EXPECT_THAT(done.error, HasSubstr(expected));
    EXPECT_EQ(done.output, "");
  }
}

TEST_F(Cli, LogitsSaysWhatIsWrongWithItsFiles) {
  write("empty", "\n\n");
  write("words", "1,2\nthree\n");
  const std::string out = path("out.safetensors").string();
  EXPECT_THAT(scr({"logits", "x", "--ids", "1,x", "-o", out}).error, HasSubstr("--ids: `x` is no token id"));
  EXPECT_THAT(scr({"logits", "x", "--ids-file", path("none").string(), "-o", out}).error, HasSubstr("No such file"));
  EXPECT_THAT(scr({"logits", "x", "--ids", "1", "--batch-with", path("empty").string(), "-o", out}).error, HasSubstr("no sequences; give one a line"));
  EXPECT_THAT(scr({"logits", "x", "--ids", "1", "--batch-with", path("words").string(), "-o", out}).error, HasSubstr("`three` is no token id"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Cli, HelpGoesToStandardOutput) {
  const Outcome done = scr({"chat", "--help"});
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.error, "");
  for (const char* flag : {"--system", "--max-tokens", "--temperature", "--top-k", "--top-p", "--min-p", "--repetition-penalty", "--seed", "--stop", "--raw", "--threads", "--json"}) {
    EXPECT_THAT(done.output, HasSubstr(flag));
  }
}

}  // namespace
}  // namespace cli
}  // namespace scratchy
