#include "bench/probe.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace scratchy {
namespace {

constexpr size_t kBytes = size_t{512} << 20;
constexpr int kRounds = 6;

// Sum of 64-bit words: eight independent chains keep enough loads in flight.
uint64_t read_words(const uint64_t* words, size_t count) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) sums[lane] += words[i + static_cast<size_t>(lane)];
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace

double read_bandwidth(Team& team) {
  std::vector<uint64_t> buffer(kBytes / sizeof(uint64_t), 1);
  std::atomic<uint64_t> sink{0};
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    team.run([&](int thread) {
      const size_t share = buffer.size() / static_cast<size_t>(team.size());
      sink += read_words(buffer.data() + share * static_cast<size_t>(thread), share);
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, static_cast<double>(kBytes) / seconds);
  }
  return best;
}

}  // namespace scratchy
