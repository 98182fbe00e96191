// Answers from a scripted source: stops, lengths, kept history.
#include "runtime/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/fake_text_test_util.h"

namespace scratchy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a matcher lets pass of pieces, each followed by "|", and "!" at a stop.
std::string matched(std::vector<std::string> stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher(std::move(stops));
  std::string all;
  for (const std::string& piece : pieces) {
    std::string out;
    const bool stopped = matcher.push(piece, out);
    all += out + "|";
    if (stopped) return all + "!" + matcher.found();
  }
  matcher.finish(all);
  return all;
}

TEST(StopMatcher, HoldsBackOnlyWhatMayBecomeAStop) {
  EXPECT_EQ(matched({"stop"}, {"a st", "ep", "s", "t", "o", "p me"}), "a |step|||||!stop");
  EXPECT_EQ(matched({"stop"}, {"a sto"}), "a |sto");
}

TEST(StopMatcher, FindsStopsThatOverlapThemselves) { EXPECT_EQ(matched({"aab"}, {"a", "a", "a", "b"}), "||a||!aab"); }

TEST(StopMatcher, CutsWhereTheFirstOfSeveralBegins) {
  EXPECT_EQ(matched({"yz", "bc"}, {"abcyz"}), "a|!bc");
  EXPECT_EQ(matched({"", "x"}, {"ab"}), "ab|");
}

struct Outcome {
  Result<Answer> answer = Failure("not run");
  std::string text;
};

Outcome run(ScriptedSource& source, std::vector<int32_t>& history, const std::vector<int32_t>& prompt, GenerateOptions options) {
  const Tokenizer tokenizer = fake_tokenizer();
  options.end_ids = {2};
  Sampler sampler(source.vocab_size(), {});
  Outcome out;
  out.answer = generate(source, history, prompt, tokenizer, sampler, options, [&](std::string_view piece) { out.text += piece; });
  return out;
}

TEST(Generate, EndTokenEndsTheAnswerAndIsNoText) {
  ScriptedSource source({5, 6, 2});
  std::vector<int32_t> history;
  const Outcome got = run(source, history, {1, 7, 8, 9, 10, 11}, {});
  ASSERT_TRUE(got.answer.ok()) << got.answer.failure().message();
  EXPECT_EQ(got.text, "ab");
  EXPECT_EQ(got.answer->text, "ab");
  EXPECT_THAT(got.answer->ids, ElementsAre(5, 6, 2));
  EXPECT_EQ(got.answer->finish, FinishReason::kStop);
  EXPECT_THAT(history, ElementsAre(1, 7, 8, 9, 10, 11, 5, 6));
  EXPECT_EQ(history, source.held);
}

TEST(Generate, MaxTokensAndContextEndWithLength) {
  ScriptedSource source({5, 6, 7, 8, 9, 10}, 8);
  std::vector<int32_t> history;
  GenerateOptions options;
  options.max_tokens = 2;
  EXPECT_EQ(run(source, history, {1}, options).answer->ids.size(), 2U);
  source.next = 0;
  const Outcome got = run(source, history, {1, 3, 3, 3, 3}, {});
  EXPECT_EQ(got.answer->ids.size(), 3U);
  EXPECT_EQ(got.answer->finish, FinishReason::kLength);
}

TEST(Generate, StopStringAcrossTokensCutsTheText) {
  ScriptedSource source({5, 6, 7, 8, 9});
  std::vector<int32_t> history;
  GenerateOptions options;
  options.stops = {"bc"};
  const Outcome got = run(source, history, {1}, options);
  EXPECT_EQ(got.text, "a");
  EXPECT_EQ(got.answer->stop, "bc");
  EXPECT_THAT(got.answer->ids, ElementsAre(5, 6, 7));
}

TEST(Generate, KeepsWhatPromptAndHistoryShare) {
  ScriptedSource source({5, 2, 6, 2});
  std::vector<int32_t> history;
  run(source, history, {1, 7, 8}, {});
  source.fed.clear();
  const Outcome got = run(source, history, {1, 7, 8, 5, 2, 9}, {});
  EXPECT_EQ(got.answer->cached_tokens, 4);
  EXPECT_THAT(source.fed, ElementsAre(2, 9, 6));
}

TEST(Generate, SamePromptAgainFeedsItsLastTokenOnly) {
  ScriptedSource source({5, 2, 5, 2});
  std::vector<int32_t> history;
  run(source, history, {1, 7, 8}, {});
  source.fed.clear();
  EXPECT_EQ(run(source, history, {1, 7, 8}, {}).text, "a");
  EXPECT_THAT(source.fed, ElementsAre(8, 5));
}

TEST(Generate, SourceThatCannotGoBackBeginsAnew) {
  ScriptedSource source({5, 2, 5, 2});
  source.can_truncate = false;
  std::vector<int32_t> history;
  run(source, history, {1, 7, 8}, {});
  EXPECT_EQ(run(source, history, {1, 9}, {}).answer->cached_tokens, 0);
  EXPECT_EQ(history, source.held);
}

TEST(Generate, InterruptStopsBetweenSteps) {
  std::atomic<bool> flag{false};
  ScriptedSource source({5, 6, 7, 8, 9, 10});
  source.interrupt = &flag;
  source.interrupt_after = 2;
  std::vector<int32_t> history;
  GenerateOptions options;
  options.interrupted = &flag;
  const Outcome got = run(source, history, {1}, options);
  EXPECT_EQ(got.answer->finish, FinishReason::kInterrupted);
  EXPECT_EQ(got.text, "abc");
  EXPECT_EQ(history, source.held);
}

TEST(Generate, PromptWithoutRoomIsRefusedWithTheNumbers) {
  ScriptedSource source({5}, 3);
  std::vector<int32_t> history;
  EXPECT_THAT(run(source, history, {1, 5, 6}, {}).answer.failure().message(), HasSubstr("a prompt of 3 tokens leaves no room for an answer: the context holds 3"));
  EXPECT_FALSE(run(source, history, {}, {}).answer.ok());
}

}  // namespace
}  // namespace scratchy
