#include "runtime/team.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <random>
#include <thread>

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

// Turns of waiting a thread does before it sleeps are about kSpins of team.cc; delays around that number let the others go
// to sleep at the very moment they are woken. A lost wake-up hangs the test.
TEST(Team, NobodySleepsThroughAWakeUpHoweverLateTheOthersAre) {
  constexpr int kBarriers = 8, kLongestDelay = 12000;
  std::atomic<bool> stop{false};
  std::vector<std::thread> load;
  for (int i = 0; i < 2; ++i) {
    load.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
      }
    });
  }
  for (const int threads : {2, 3, 9}) {
    Team team(threads);
    std::vector<std::minstd_rand> random(static_cast<size_t>(threads));
    for (int thread = 0; thread < threads; ++thread) random[static_cast<size_t>(thread)].seed(static_cast<unsigned>(thread + 1));
    const int rounds = 300 / threads;
    int64_t sum = 0;
    for (int round = 0; round < rounds; ++round) {
      team.run([&](int thread) {
        for (int barrier = 0; barrier < kBarriers; ++barrier) {
          if (barrier % threads == thread) {
            ++sum;  // one thread between two barriers: no lock is needed
            const auto delay = static_cast<int>(random[static_cast<size_t>(thread)]() % kLongestDelay);
            for (int turn = 0; turn < delay; ++turn) std::atomic_signal_fence(std::memory_order_seq_cst);
          }
          team.barrier().wait();
        }
      });
    }
    EXPECT_EQ(sum, int64_t{rounds} * kBarriers) << threads << " threads";
  }
  stop = true;
  for (std::thread& thread : load) thread.join();
}

// In a process of its own, since a limit cannot be raised again.
TEST(Team, MakesDoWithTheThreadsThereAre) {
  const auto starved = [] {
    const rlimit address_space{uint64_t{1} << 28, uint64_t{1} << 28};
    ::setrlimit(RLIMIT_AS, &address_space);
    Team team(500);  // stacks of 8 MiB: some thirty fit
    std::atomic<int> count{0};
    team.run([&](int) { ++count; });
    std::exit(team.size() < 500 && count == team.size() ? 0 : 1);
  };
#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers need more address space than the limit of this test";
#endif
#endif
  EXPECT_EXIT(starved(), ::testing::ExitedWithCode(0), "");
}

TEST(Team, EndsWhileItsThreadsSleepOrHaveNotBegun) {
  for (int i = 0; i < 50; ++i) {
    Team unused(4);
    Team used(4);
    int count = 0;
    used.run([&](int thread) {
      if (thread == 0) ++count;
    });
    EXPECT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace scratchy
