#include "runtime/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace scratchy {
namespace {

// The finaliser of SplitMix64: every bit of the result depends on every bit of `x`.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// NaN counts as impossible.
float usable(float logit) { return std::isnan(logit) ? -std::numeric_limits<float>::infinity() : logit; }

}  // namespace

Status check_sampling(const SamplingOptions& options) {
  const auto bad = [](const char* name, double value, const char* rule) {
    return Failure(std::string("`") + name + "` is " + std::to_string(value) + "; it must be " + rule);
  };
  if (!(options.temperature >= 0 && options.temperature <= 100)) return bad("temperature", options.temperature, "0 to 100");
  if (options.top_k < 0) return bad("top_k", options.top_k, "0 (off) or more");
  if (!(options.top_p > 0 && options.top_p <= 1)) return bad("top_p", options.top_p, "above 0 and at most 1");
  if (!(options.min_p >= 0 && options.min_p <= 1)) return bad("min_p", options.min_p, "0 to 1");
  if (!(options.repetition_penalty > 0 && options.repetition_penalty <= 100)) return bad("repetition_penalty", options.repetition_penalty, "above 0 and at most 100");
  return Done{};
}

double random_unit(uint64_t seed, uint64_t position) {
  return static_cast<double>(mix(mix(seed) ^ mix(~position)) >> 11) * 0x1p-53;
}

int32_t argmax(std::span<const float> values) {
  // The largest of each block first, in lanes that do not wait for each other; then its place, in one block only.
  constexpr size_t kBlock = 512, kLanes = 16;
  float best = -std::numeric_limits<float>::infinity();
  size_t best_block = 0;
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, values.size());
    float lanes[kLanes];
    std::fill_n(lanes, kLanes, -std::numeric_limits<float>::infinity());
    size_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (size_t l = 0; l < kLanes; ++l) lanes[l] = values[i + l] > lanes[l] ? values[i + l] : lanes[l];
    }
    for (; i < end; ++i) lanes[0] = values[i] > lanes[0] ? values[i] : lanes[0];
    const float most = *std::max_element(lanes, lanes + kLanes);
    if (most > best) {
      best = most;
      best_block = begin;
    }
  }
  for (size_t i = best_block; i < values.size(); ++i) {
    if (values[i] == best) return static_cast<int32_t>(i);
  }
  return 0;
}

Sampler::Sampler(int32_t vocab_size, const SamplingOptions& options) : options_(options) {
  const auto size = static_cast<size_t>(vocab_size);
  if (options_.temperature >= kGreedyTemperature) {
    weights_.resize(size);
    if (options_.top_k > 0 || options_.top_p < 1) heap_.reserve(size);
  }
  if (options_.repetition_penalty != 1) {
    penalised_.resize(size);
    is_seen_.resize(size);
    seen_.reserve(size);
  }
}

void Sampler::see(std::span<const int32_t> ids) {
  if (is_seen_.empty()) return;
  for (const int32_t id : ids) {
    if (is_seen_[static_cast<size_t>(id)]) continue;
    is_seen_[static_cast<size_t>(id)] = true;
    seen_.push_back(id);
  }
}

void Sampler::forget() {
  for (const int32_t id : seen_) is_seen_[static_cast<size_t>(id)] = false;
  seen_.clear();
}

std::span<const float> Sampler::penalised(std::span<const float> logits) {
  if (seen_.empty()) return logits;
  std::copy(logits.begin(), logits.end(), penalised_.begin());
  const auto penalty = static_cast<float>(options_.repetition_penalty);
  for (const int32_t id : seen_) {
    float& logit = penalised_[static_cast<size_t>(id)];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
  return penalised_;
}

// The k-th of the order: a heap of the k best so far, whose top is the worst of them.
Sampler::Place Sampler::last_of_top_k(std::span<const float> logits) {
  const auto k = std::min(static_cast<size_t>(options_.top_k), logits.size());
  const auto better = [](const Place& a, const Place& b) { return a.before(b); };
  heap_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    const Place place{usable(logits[i]), static_cast<int32_t>(i)};
    if (heap_.size() < k) {
      heap_.push_back(place);
      std::push_heap(heap_.begin(), heap_.end(), better);
    } else if (place.logit > heap_.front().logit) {  // equals have the higher id, so they come after
      std::pop_heap(heap_.begin(), heap_.end(), better);
      heap_.back() = place;
      std::push_heap(heap_.begin(), heap_.end(), better);
    }
  }
  return heap_.front();
}

// The token with which the weights up to it first reach top_p of the weight of all up to `last`. Tokens so light that
// all of them together cannot make up what lies beyond top_p are after it for certain and stay out of the heap.
Sampler::Place Sampler::last_of_top_p(std::span<const float> logits, const Place& last) {
  double total = 0;
  for (const float weight : weights_) total += weight;
  const double floor = (1 - options_.top_p) * total / static_cast<double>(weights_.size()) * 0.999;
  heap_.clear();
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] > 0 && weights_[i] >= floor) heap_.push_back({usable(logits[i]), static_cast<int32_t>(i)});
  }
  const auto worse = [](const Place& a, const Place& b) { return b.before(a); };
  std::make_heap(heap_.begin(), heap_.end(), worse);
  double reached = 0;
  while (!heap_.empty()) {
    const Place best = heap_.front();
    reached += weights_[static_cast<size_t>(best.id)];
    if (reached >= options_.top_p * total) return best;
    std::pop_heap(heap_.begin(), heap_.end(), worse);
    heap_.pop_back();
  }
  return last;
}

int32_t Sampler::draw(std::span<const float> logits, const Place& last, uint64_t position) {
  double total = 0;
  int32_t chosen = -1;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (last.before({usable(logits[i]), static_cast<int32_t>(i)}) || weights_[i] < options_.min_p) weights_[i] = 0;
    total += weights_[i];
  }
  SCRATCHY_CHECK(total > 0, "nothing to draw from");
  const double target = random_unit(options_.seed, position) * total;
  double reached = 0;
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] == 0) continue;
    chosen = static_cast<int32_t>(i);
    reached += weights_[i];
    if (reached > target) break;
  }
  return chosen;
}

int32_t Sampler::sample(std::span<const float> raw, uint64_t position) {
  const std::span<const float> logits = penalised(raw);
  const int32_t best = argmax(logits);
  const float most = logits[static_cast<size_t>(best)];
  if (options_.temperature < kGreedyTemperature || !std::isfinite(most)) return best;
  Place last{-std::numeric_limits<float>::infinity(), std::numeric_limits<int32_t>::max()};
  if (options_.top_k > 0 && static_cast<size_t>(options_.top_k) < logits.size()) last = last_of_top_k(logits);
  const double scale = 1 / options_.temperature;
  // Beyond this distance a weight is below the least f32 and counts as zero.
  const double reach = 104 * options_.temperature;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double distance = static_cast<double>(most) - static_cast<double>(usable(logits[i]));
    const bool kept = distance < reach && !last.before({logits[i], static_cast<int32_t>(i)});
    weights_[i] = kept ? static_cast<float>(std::exp(-distance * scale)) : 0.0F;
  }
  if (options_.top_p < 1) last = last_of_top_p(logits, last);
  return draw(logits, last, position);
}

}  // namespace scratchy
