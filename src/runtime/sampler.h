// From a row of logits to the next token id.
//
// The order of the steps is fixed: repetition penalty, temperature, top_k, top_p over what top_k left, min_p relative to
// the best, draw. Each of the three cuts keeps the best tokens of one strict order (higher logit first, then lower id), so
// together they keep the shortest of their prefixes: it is enough to find the last token kept, which needs no sorting of
// the vocabulary, and to draw among the tokens up to it in the order of their ids.
//
// Random numbers come from (seed, position) alone, so what was sampled before never matters. Nothing is allocated after
// the sampler is made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace scratchy {

struct SamplingOptions {
  double temperature = 0;         // below kGreedyTemperature: the best token, ties to the lower id
  int32_t top_k = 0;              // 0: off
  double top_p = 1;               // (0, 1]
  double min_p = 0;               // [0, 1]
  double repetition_penalty = 1;  // > 0
  uint64_t seed = 0;
};

inline constexpr double kGreedyTemperature = 1e-5;

// A Failure names the first option out of its range.
Status check_sampling(const SamplingOptions& options);

// [0, 1) from a counter: the same for the same seed and position.
double random_unit(uint64_t seed, uint64_t position);

// The index of the largest value, the lowest of equals; NaN never wins. 0 for values that are all NaN.
int32_t argmax(std::span<const float> values);

class Sampler {
 public:
  Sampler(int32_t vocab_size, const SamplingOptions& options);

  // Tokens of the prompt and of the answer, which the repetition penalty weakens. Ids must be in the vocabulary.
  void see(std::span<const int32_t> ids);
  void see(int32_t id) { see({&id, 1}); }
  void forget();

  // The next token for `logits` [V], for the token at `position` of its sequence.
  int32_t sample(std::span<const float> logits, uint64_t position);

  const SamplingOptions& options() const { return options_; }

 private:
  // A place in the order of tokens.
  struct Place {
    float logit;
    int32_t id;
    bool before(const Place& other) const { return logit > other.logit || (logit == other.logit && id < other.id); }
  };
  std::span<const float> penalised(std::span<const float> logits);
  Place last_of_top_k(std::span<const float> logits);
  Place last_of_top_p(std::span<const float> logits, const Place& last);
  int32_t draw(std::span<const float> logits, const Place& last, uint64_t position);

  SamplingOptions options_;
  std::vector<float> penalised_;  // [V], empty without a penalty
  std::vector<float> weights_;    // [V], empty when greedy
  std::vector<Place> heap_;       // capacity V when a cut needs it
  std::vector<bool> is_seen_;     // [V]
  std::vector<int32_t> seen_;     // each once
};

}  // namespace scratchy
