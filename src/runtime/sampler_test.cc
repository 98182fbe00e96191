// The sampler against one that sorts the whole vocabulary, and its promises about seeds, ties and cuts.
#include "runtime/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

namespace scratchy {
namespace {

std::vector<float> random_logits(size_t size, uint64_t seed, double scale) {
  std::vector<float> logits(size);
  for (size_t i = 0; i < size; ++i) {
    // Rounded, so that equal logits occur.
    logits[i] = static_cast<float>(std::round((random_unit(seed, i) - 0.5) * scale * 16) / 16);
  }
  return logits;
}

// The same by sorting.
int32_t sample_by_sorting(std::vector<float> logits, const SamplingOptions& options, const std::vector<int32_t>& seen, uint64_t position) {
  std::vector<bool> done(logits.size());
  for (const int32_t id : seen) {
    if (done[id]) continue;
    done[id] = true;
    const auto penalty = static_cast<float>(options.repetition_penalty);
    logits[id] = logits[id] > 0 ? logits[id] / penalty : logits[id] * penalty;
  }
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
  if (options.temperature < kGreedyTemperature) return order[0];
  std::vector<float> weights(logits.size());
  const double most = logits[order[0]];
  for (const int32_t id : order) weights[id] = static_cast<float>(std::exp(-(most - static_cast<double>(logits[id])) * (1 / options.temperature)));
  if (options.top_k > 0 && static_cast<size_t>(options.top_k) < order.size()) order.resize(options.top_k);
  if (options.top_p < 1) {
    std::vector<int32_t> by_id = order;
    std::sort(by_id.begin(), by_id.end());
    double total = 0, reached = 0;
    for (const int32_t id : by_id) total += weights[id];
    size_t kept = 0;
    while (kept < order.size() && reached < options.top_p * total) reached += weights[order[kept++]];
    order.resize(kept);
  }
  std::erase_if(order, [&](int32_t id) { return weights[id] < options.min_p; });
  std::sort(order.begin(), order.end());
  double total = 0;
  for (const int32_t id : order) total += weights[id];
  double left = random_unit(options.seed, position) * total, reached = 0;
  for (const int32_t id : order) {
    reached += weights[id];
    if (reached > left) return id;
  }
  return order.back();
}

TEST(Sampler, EqualsSamplingByFullSortForManyOptions) {
  for (uint64_t trial = 0; trial < 400; ++trial) {
    const auto pick = [&](uint64_t salt, std::initializer_list<double> choices) {
      return choices.begin()[static_cast<size_t>(random_unit(99 + salt, trial) * static_cast<double>(choices.size()))];
    };
    SamplingOptions options;
    options.temperature = pick(1, {0.3, 0.8, 1.0, 2.0});
    options.top_k = static_cast<int32_t>(pick(2, {0, 1, 5, 40, 5000}));
    options.top_p = pick(3, {0.01, 0.5, 0.9, 0.999, 1.0});
    options.min_p = pick(4, {0, 0, 0.05, 0.5, 1.0});
    options.repetition_penalty = pick(5, {1, 1.2, 0.7});
    options.seed = trial;
    const std::vector<float> logits = random_logits(static_cast<size_t>(pick(6, {3, 100, 1000})), trial, pick(7, {0.1, 8, 40}));
    const std::vector<int32_t> seen = {0, 2, 2, 1};
    Sampler sampler(static_cast<int32_t>(logits.size()), options);
    sampler.see(seen);
    for (uint64_t position = 0; position < 5; ++position) {
      ASSERT_EQ(sampler.sample(logits, position), sample_by_sorting(logits, options, seen, position)) << "trial " << trial << " position " << position;
    }
  }
}

TEST(Sampler, GreedyTakesTheLowestOfEqualsAndNeverNaN) {
  Sampler sampler(5, {});
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 3, 2, 3, 0}, 0), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>{NAN, -3, NAN, -2, NAN}, 0), 3);
  EXPECT_EQ(sampler.sample(std::vector<float>{NAN, NAN, NAN, NAN, NAN}, 0), 0);
}

TEST(Sampler, GreedyFindsTheBestAtEveryPlace) {
  for (size_t size : {1u, 15u, 16u, 17u, 511u, 512u, 513u, 1100u}) {
    std::vector<float> logits(size, -5);
    for (size_t i = 0; i < size; ++i) {
      logits[i] = 1;
      EXPECT_EQ(argmax(logits), static_cast<int32_t>(i));
      logits[i] = -5;
    }
  }
}

TEST(Sampler, NaNIsNeverDrawn) {
  SamplingOptions options;
  options.temperature = 1;
  options.top_k = 3;
  options.top_p = 0.99;
  Sampler sampler(4, options);
  for (uint64_t position = 0; position < 200; ++position) EXPECT_EQ(sampler.sample(std::vector<float>{NAN, NAN, 1, NAN}, position), 2);
}

TEST(Sampler, InfiniteLogitIsTaken) {
  SamplingOptions options;
  options.temperature = 1;
  Sampler sampler(3, options);
  EXPECT_EQ(sampler.sample(std::vector<float>{1, std::numeric_limits<float>::infinity(), 2}, 0), 1);
}

TEST(Sampler, SameSeedAndPositionGiveTheSameTokenWhateverCameBefore) {
  SamplingOptions options;
  options.temperature = 1.5;
  options.seed = 7;
  const std::vector<float> logits = random_logits(500, 3, 6);
  Sampler one(500, options), other(500, options);
  one.sample(logits, 1);
  one.sample(logits, 2);
  EXPECT_EQ(one.sample(logits, 9), other.sample(logits, 9));
}

TEST(Sampler, DrawsFollowTheSoftmaxDistribution) {
  SamplingOptions options;
  options.temperature = 1;
  Sampler sampler(3, options);
  const std::vector<float> logits = {0, std::log(2.0F), std::log(5.0F)};
  std::vector<int> counts(3);
  constexpr int kDraws = 80000;
  for (int i = 0; i < kDraws; ++i) ++counts[sampler.sample(logits, i)];
  // Five standard deviations of a share of n draws are at most 5 * sqrt(0.25 / n).
  const double bound = 5 * std::sqrt(0.25 / kDraws);
  EXPECT_NEAR(counts[0] / static_cast<double>(kDraws), 1 / 8.0, bound);
  EXPECT_NEAR(counts[1] / static_cast<double>(kDraws), 2 / 8.0, bound);
  EXPECT_NEAR(counts[2] / static_cast<double>(kDraws), 5 / 8.0, bound);
}

TEST(Sampler, ForgetEndsThePenalty) {
  SamplingOptions options;
  options.repetition_penalty = 10;
  Sampler sampler(2, options);
  const std::vector<float> logits = {1, 2};
  sampler.see(1);
  EXPECT_EQ(sampler.sample(logits, 0), 0);
  sampler.forget();
  EXPECT_EQ(sampler.sample(logits, 0), 1);
}

TEST(CheckSampling, NamesTheOptionOutOfRange) {
  SamplingOptions options;
  options.top_p = 0;
  EXPECT_EQ(check_sampling(options).failure().message(), "`top_p` is 0.000000; it must be above 0 and at most 1");
  options.top_p = 1;
  options.temperature = NAN;
  EXPECT_FALSE(check_sampling(options).ok());
}

}  // namespace
}  // namespace scratchy
