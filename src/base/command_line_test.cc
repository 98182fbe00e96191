#include "base/command_line.h"

#include <gtest/gtest.h>

namespace scratchy {
namespace {

// A program with a command of every kind of option.
class CommandLineTest : public ::testing::Test {
 protected:
  CommandLineTest() {
    Command* chat = program_.add_command("chat", "answers");
    checkpoint_ = chat->add_option("checkpoint,-m,--model", model_, "the checkpoint");
    chat->add_option("-p,--prompt", prompts_, "a turn");
    Option* quick = chat->add_option("-q,--quick", quick_, "one question");
    chat->add_option("--system", system_, "system message")->excludes(quick);
    chat->add_option("--threads", threads_, "threads")->range(1, 1024)->show_default();
    chat->add_option("--temperature", temperature_, "0: greedy")->range(0, 100)->group("sampling");
    chat->add_option("--seed", seed_, "same seed, same answer");
    chat->add_option("--kv", kv_, "type of the cache")->one_of({"f32", "f16"});
    chat->add_option("--depth", depths_, "depths")->comma_separated()->at_least(0);
    chat->add_option("--template", template_, "a file")->existing_file();
    chat->add_flag("--json", json_, "one object");
    chat->runs([] { return 7; });
    Command* fmt = program_.add_command("fmt", "lays out");
    fmt->add_option("files", files_, "texts")->required();
    fmt->runs([] { return 0; });
  }

  // The exit code; what was printed is in error_ and output_.
  int run(std::vector<const char*> words) {
    words.insert(words.begin(), "prog");
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    const int code = program_.parse(static_cast<int>(words.size()), words.data());
    output_ = ::testing::internal::GetCapturedStdout();
    error_ = ::testing::internal::GetCapturedStderr();
    return code;
  }
  // Whether the words are refused and the first line of what is said of them is `sentence`.
  void expect_refused(const std::vector<const char*>& words, const std::string& sentence) {
    EXPECT_EQ(run(words), 2) << sentence;
    EXPECT_EQ(error_.substr(0, error_.find('\n')), "error: " + sentence);
    EXPECT_NE(error_.find("--help` shows how it is used"), std::string::npos);
    EXPECT_EQ(output_, "");
  }

  Command program_{"prog", "a program"};
  Option* checkpoint_;
  std::string model_, quick_, system_, kv_, template_, error_, output_;
  std::vector<std::string> prompts_, files_;
  std::vector<int> depths_ = {0, 512};
  int threads_ = 4;
  float temperature_ = 0.5F;
  uint64_t seed_ = 1;
  bool json_ = false;
};

TEST_F(CommandLineTest, TakesEverySpellingOfAnOption) {
  EXPECT_EQ(run({"chat", "--threads", "8", "--seed=18446744073709551615", "-qwhy?", "--temperature", "1e-3", "--json", "--json", "a.gguf"}), 7);
  EXPECT_EQ(threads_, 8);
  EXPECT_EQ(seed_, UINT64_MAX);
  EXPECT_EQ(quick_, "why?");
  EXPECT_FLOAT_EQ(temperature_, 1e-3F);
  EXPECT_TRUE(json_);
  EXPECT_EQ(model_, "a.gguf");
  EXPECT_EQ(checkpoint_->count(), 1);
}

TEST_F(CommandLineTest, AValueMayLookLikeAnOption) {
  EXPECT_EQ(run({"chat", "-p", "--help", "-p", "-5 + 3?", "-p", "", "--", "--odd-name"}), 7);
  EXPECT_EQ(prompts_, (std::vector<std::string>{"--help", "-5 + 3?", ""}));
  EXPECT_EQ(model_, "--odd-name");
}

TEST_F(CommandLineTest, GivenListsReplaceTheDefault) {
  EXPECT_EQ(run({"chat", "--depth", "1,2", "--depth", "30"}), 7);
  EXPECT_EQ(depths_, (std::vector<int>{1, 2, 30}));
}

TEST_F(CommandLineTest, WhatIsNotGivenKeepsItsDefault) {
  EXPECT_EQ(run({"chat"}), 7);
  EXPECT_EQ(threads_, 4);
  EXPECT_FALSE(checkpoint_->given());
  EXPECT_EQ(depths_, (std::vector<int>{0, 512}));
}

TEST_F(CommandLineTest, APlaceMayTakeManyWords) {
  EXPECT_EQ(run({"fmt", "a.fwd", "b.fwd"}), 0);
  EXPECT_EQ(files_, (std::vector<std::string>{"a.fwd", "b.fwd"}));
}

TEST_F(CommandLineTest, RefusesNumbersOutsideTheirRange) { expect_refused({"chat", "--threads", "0"}, "`--threads`: 0 is not within 1 and 1024"); }
TEST_F(CommandLineTest, RefusesWordsForNumbers) { expect_refused({"chat", "--threads", "two"}, "`--threads`: `two` is no whole number"); }
TEST_F(CommandLineTest, RefusesMoreThanANumber) { expect_refused({"chat", "--threads", "2x"}, "`--threads`: `2x` is no whole number"); }
TEST_F(CommandLineTest, RefusesNothingForANumber) { expect_refused({"chat", "--threads="}, "`--threads`: `` is no whole number"); }

TEST_F(CommandLineTest, RefusesNumbersThatDoNotFit) {
  expect_refused({"chat", "--threads", "4294967297"}, "`--threads`: `4294967297` is no whole number that fits");
  expect_refused({"chat", "--seed", "-1"}, "`--seed`: `-1` is no whole number from 0 on");
  expect_refused({"chat", "--temperature", "nan"}, "`--temperature`: nan is not within 0 and 100");
}

TEST_F(CommandLineTest, RefusesWordsOutsideAList) { expect_refused({"chat", "--kv", "f8"}, "`--kv`: `f8` is none of f32, f16"); }
TEST_F(CommandLineTest, RefusesFilesThatAreNotThere) { expect_refused({"chat", "--template", "/nowhere"}, "`--template`: there is no file `/nowhere`"); }
TEST_F(CommandLineTest, ChecksEachPartOfAList) { expect_refused({"chat", "--depth", "1,-2"}, "`--depth`: -2 is less than 0"); }
TEST_F(CommandLineTest, RefusesAnOptionWithoutItsValue) { expect_refused({"chat", "-q"}, "`--quick` needs a value"); }
TEST_F(CommandLineTest, RefusesAValueForAFlag) { expect_refused({"chat", "--json=yes"}, "`--json` takes no value"); }
TEST_F(CommandLineTest, RefusesASecondValue) { expect_refused({"chat", "--kv", "f16", "--kv", "f16"}, "`--kv`: it is given more than once"); }
TEST_F(CommandLineTest, RefusesWhatExcludesEachOther) { expect_refused({"chat", "-q", "a", "--system", "b"}, "`--system` and `--quick` exclude each other"); }
TEST_F(CommandLineTest, SuggestsTheNearestOption) { expect_refused({"chat", "--thread", "2"}, "there is no option `--thread`; did you mean `--threads`?"); }
TEST_F(CommandLineTest, SuggestsTheNearestCommand) { expect_refused({"caht"}, "`caht` is none of the commands chat, fmt; did you mean `chat`?"); }
TEST_F(CommandLineTest, AsksForACommand) { expect_refused({}, "a command is missing; there are chat, fmt"); }
TEST_F(CommandLineTest, AsksForWhatIsRequired) { expect_refused({"fmt"}, "`files` is missing: texts"); }
TEST_F(CommandLineTest, RefusesAWordTooMany) { expect_refused({"chat", "a", "why", "so"}, "`why` is one word too many; put what belongs together in quotes"); }
TEST_F(CommandLineTest, EscapesWhatItRepeats) { expect_refused({"chat", "--kv", "\x1b[31m"}, "`--kv`: `\\x1b[31m` is none of f32, f16"); }

TEST_F(CommandLineTest, HelpSaysEverythingAndRunsNothing) {
  EXPECT_EQ(run({"chat", "--kv", "f16", "--help"}), 0);
  EXPECT_EQ(error_, "");
  EXPECT_EQ(output_.substr(0, output_.find('\n')), "usage: prog chat [OPTIONS] [checkpoint]");
  for (const char* words : {"checkpoint, -m, --model", "threads [4]", "type of the cache: f32, f16", "\nsampling:\n  --temperature", "-h, --help"}) {
    EXPECT_NE(output_.find(words), std::string::npos) << words << "\n" << output_;
  }
}

}  // namespace
}  // namespace scratchy
