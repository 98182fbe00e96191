// Programs compiled from golden checkpoints, walked by more threads than there may be processors: the logits have the bits of
// one thread, and the thread sanitizer sees no race.

#include <gtest/gtest.h>

#include "base/check_processor.h"
#include "checkpoint/checkpoint.h"
#include "runtime/model.h"
#include "testing/goldens.h"

namespace scratchy {
namespace {

// Enough for more than one tile of rows, and for a rest.
constexpr int kTokens = 21;

std::vector<float> logits(const CompiledProgram& program, const Checkpoint& checkpoint, int threads, int chunk) {
  ModelOptions options;
  options.threads = threads;
  auto model = Model::load(program, checkpoint, options);
  EXPECT_TRUE(model.ok());
  if (!model.ok()) return {};
  std::vector<int32_t> ids;
  for (int i = 0; i < kTokens; ++i) ids.push_back((7 * i + 3) % program.vocab_size);
  std::vector<float> rows;
  const Status done = (*model)->run((*model)->add_sequence(), ids, kTokens, chunk, [&](const float* row, const float*) { rows.insert(rows.end(), row, row + program.vocab_size); });
  EXPECT_TRUE(done.ok());
  return rows;
}

class ThreadsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ThreadsTest, ManyThreadsGiveTheBitsOfOne) {
  const auto folder = testing::golden(std::string("models/") + GetParam());
  ASSERT_TRUE(folder);
  const auto checkpoint = Checkpoint::open(*folder);
  ASSERT_TRUE(checkpoint.ok());
  const auto program = Model::select(*checkpoint, kTokens);
  ASSERT_TRUE(program.ok()) << program.failure().message();
  if (!check_processor((*program)->profile).ok()) GTEST_SKIP() << "this processor lacks " << (*program)->profile;
  const std::vector<float> expected = logits(**program, *checkpoint, 1, 0);
  ASSERT_FALSE(expected.empty());
  for (const int threads : {2, 3}) {
    EXPECT_EQ(logits(**program, *checkpoint, threads, 0), expected) << threads << " threads, the whole prompt";
    EXPECT_EQ(logits(**program, *checkpoint, threads, 1), expected) << threads << " threads, token by token";
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, ThreadsTest, ::testing::Values("llama/plain", "qwen3-5-moe/period-4"),
                         [](const auto& info) { return std::string(info.param).substr(0, std::string(info.param).find('/')).substr(0, 5); });

}  // namespace
}  // namespace scratchy
