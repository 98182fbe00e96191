#include "runtime/team.h"

#include <gtest/gtest.h>

#include <atomic>

namespace scratchy {
namespace {

// Each round every thread writes its own number and, behind the barrier, reads its neighbour's: a missed wait is a race
// that the thread sanitizer reports and a sum that comes out wrong.
TEST(Team, BarriersOrderWritesOfOneThreadBeforeReadsOfAnother) {
  constexpr int kRounds = 500;
  for (const int threads : {1, 2, 3}) {
    Team team(threads);
    std::vector<int> written(static_cast<size_t>(threads), 0);
    std::atomic<int> sum{0};
    for (int round = 1; round <= kRounds; ++round) {
      team.run([&](int thread) {
        written[static_cast<size_t>(thread)] = round;
        team.barrier().wait();
        sum += written[static_cast<size_t>((thread + 1) % threads)];
        team.barrier().wait();
      });
    }
    EXPECT_EQ(sum.load(), threads * kRounds * (kRounds + 1) / 2) << threads << " threads";
  }
}

}  // namespace
}  // namespace scratchy
