#include "runtime/generation_config.h"

#include "base/text.h"

namespace scratchy {
namespace {

// Settings that change answers and have no effect here, with the number at which they do nothing.
struct Unsupported {
  const char* key;
  double neutral;
};
constexpr Unsupported kUnsupported[] = {{"typical_p", 1},      {"no_repeat_ngram_size", 0}, {"num_beams", 1},           {"penalty_alpha", 0},       {"suppress_tokens", 0},
                                        {"bad_words_ids", 0},  {"begin_suppress_tokens", 0}, {"epsilon_cutoff", 0},      {"eta_cutoff", 0},          {"min_new_tokens", 0},
                                        {"min_length", 0},     {"forced_bos_token_id", 0},   {"forced_eos_token_id", 0}, {"guidance_scale", 1},      {"sequence_bias", 0},
                                        {"exponential_decay_length_penalty", 0}};

bool has_effect(const Json& value, double neutral) {
  if (value.is_number()) return value.get<double>() != neutral;
  return !value.is_null() && !value.empty();
}

Result<std::optional<double>> number(const Json& config, const char* key) {
  if (!config.contains(key) || config[key].is_null()) return std::optional<double>();
  if (!config[key].is_number()) return Failure("generation_config.json: `" + std::string(key) + "` is " + escape_for_message(config[key].dump()) + "; it must be a number");
  return std::optional<double>(config[key].get<double>());
}

Result<GenerationDefaults> of_json(const Json& config) {
  GenerationDefaults defaults;
  SamplingOptions& sampling = defaults.sampling;
  if (!config.is_object()) return defaults;
  TRY(const auto temperature, number(config, "temperature"));
  TRY(const auto top_k, number(config, "top_k"));
  TRY(const auto top_p, number(config, "top_p"));
  TRY(const auto min_p, number(config, "min_p"));
  TRY(const auto penalty, number(config, "repetition_penalty"));
  const Json do_sample = config.value("do_sample", Json());
  if (!do_sample.is_null() && !do_sample.is_boolean()) return Failure("generation_config.json: `do_sample` is " + escape_for_message(do_sample.dump()) + "; it must be true or false");
  const bool samples = do_sample.is_boolean() ? do_sample.get<bool>() : temperature.has_value();
  defaults.stated = do_sample.is_boolean() || temperature.has_value();
  if (samples) sampling.temperature = temperature.value_or(1);
  if (top_k && *top_k > 0 && *top_k < 1e9) sampling.top_k = static_cast<int32_t>(*top_k);
  sampling.top_p = top_p.value_or(1);
  sampling.min_p = min_p.value_or(0);
  sampling.repetition_penalty = penalty.value_or(1);
  for (const auto& [key, neutral] : kUnsupported) {
    if (config.contains(key) && has_effect(config[key], neutral)) defaults.unused.emplace_back(key);
  }
  return defaults;
}

Result<GenerationDefaults> of_gguf(const GgufMetadata& metadata) {
  GenerationDefaults defaults;
  const std::string prefix = "general.sampling.";
  TRY(const auto temperature, metadata.real(prefix + "temp"));
  TRY(const auto top_k, metadata.integer(prefix + "top_k"));
  TRY(const auto top_p, metadata.real(prefix + "top_p"));
  TRY(const auto min_p, metadata.real(prefix + "min_p"));
  TRY(const auto penalty, metadata.real(prefix + "penalty_repeat"));
  defaults.stated = temperature.has_value();
  defaults.sampling.temperature = temperature.value_or(0);
  if (top_k && *top_k > 0 && *top_k < INT32_MAX) defaults.sampling.top_k = static_cast<int32_t>(*top_k);
  defaults.sampling.top_p = top_p.value_or(1);
  defaults.sampling.min_p = min_p.value_or(0);
  defaults.sampling.repetition_penalty = penalty.value_or(1);
  return defaults;
}

}  // namespace

Result<GenerationDefaults> generation_defaults(const TextSource& source) {
  if (source.gguf() != nullptr) {
    TRY(GenerationDefaults defaults, of_gguf(*source.gguf()));
    if (Status ok = check_sampling(defaults.sampling); !ok.ok()) return std::move(ok).failure().in("metadata `general.sampling`");
    return defaults;
  }
  TRY(const Json config, source.companion("generation_config.json"));
  TRY(GenerationDefaults defaults, of_json(config));
  if (Status ok = check_sampling(defaults.sampling); !ok.ok()) return std::move(ok).failure().in("generation_config.json");
  return defaults;
}

}  // namespace scratchy
