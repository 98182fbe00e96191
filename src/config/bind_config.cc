#include "config/bind_config.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/bind_rope.h"
#include "config/match_name.h"
#include "config/value_binder.h"

namespace scratchy {
namespace {

constexpr const char* kRopeKeys[] = {"rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor"};

constexpr size_t kMostLayers = 1024;

// Unknown keys reported of one file.
constexpr int kMostUnknownKeys = 50;

class ConfigBinder {
 public:
  ConfigBinder(RawConfig raw, const ArchDecl& arch, Diagnostics& diagnostics)
      : raw_(std::move(raw)), arch_(arch), diagnostics_(diagnostics) {}

  std::optional<ModelFacts> bind(const std::string& stem) {
    const size_t before = diagnostics_.size();
    refuse_unknown_keys();
    spread_layer_config();
    bind_rope(arch_, raw_, diagnostics_);
    ValueBinder values(arch_, raw_, diagnostics_);
    if (!values.check_published() || diagnostics_.size() != before) return std::nullopt;
    ModelFacts facts;
    facts.arch = arch_.name;
    facts.stem = stem;
    facts.config_file = raw_.file;
    take_values(values, facts);
    if (diagnostics_.size() == before) refuse_cases(values);
    if (diagnostics_.size() == before) declare_weights(values, facts);
    if (diagnostics_.size() != before) return std::nullopt;
    return facts;
  }

 private:
  // The spellings this architecture reads.
  std::vector<std::string> known_keys() const {
    std::vector<std::string> known = {"text_config"};
    for (const auto& [key, rule] : arch_.keys) {
      known.push_back(key);
      if (const auto aliases = arch_.aliases.find(key); aliases != arch_.aliases.end()) {
        known.insert(known.end(), aliases->second.begin(), aliases->second.end());
      }
    }
    if (!arch_.rope.types.empty()) known.insert(known.end(), std::begin(kRopeKeys), std::end(kRopeKeys));
    for (const RopeKind& kind : arch_.rope.kinds) known.insert(known.end(), kind.theta.begin(), kind.theta.end());
    if (!arch_.per_layer_config.empty()) known.emplace_back("per_layer_config");
    return known;
  }

  void refuse_unknown_keys() {
    const std::vector<std::string> known = known_keys();
    int refused = 0;
    for (const auto& [key, raw] : raw_.values) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      const bool irrelevant = std::any_of(arch_.irrelevant.begin(), arch_.irrelevant.end(), [&, &name = key](const auto& entry) { return matches_name(entry.first, name); });
      if (irrelevant) continue;
      if (++refused > kMostUnknownKeys) return;
      Diagnostic& diagnostic = diagnostics_.add(DiagnosticKind::kUnknownConfigKey, raw.key.file != nullptr ? raw.key : Span{raw_.file, 0, 0},
                                                {{"key", escape_for_message(raw.path)}, {"arch", arch_.name}});
      suggest_nearest(diagnostic, key, known);
    }
  }

  // `per_layer_config` says {"5": {"head_dim": 32}, ..} for the full-attention layers: the same as keys of their own.
  void spread_layer_config() {
    const Constant* layers = raw_.given("per_layer_config");
    if (layers == nullptr || arch_.per_layer_config.empty()) return;
    const Constant* types = raw_.given("layer_types");
    const auto refuse = [&](const std::string& rule) {
      diagnostics_.add(DiagnosticKind::kBadConfigValue, raw_.values.at("per_layer_config").span,
                       {{"key", "per_layer_config"}, {"seen", to_string(*layers)}, {"rule", rule}});
    };
    if (!layers->is_record() || types == nullptr || !types->is_list()) return refuse("an object by layer number beside `layer_types`");
    if (layers->as_record().size() > types->as_list().size() || types->as_list().size() > kMostLayers) return refuse("about the layers there are");
    const Constant* shared = nullptr;
    size_t full = 0;
    for (size_t layer = 0; layer < types->as_list().size(); ++layer) {
      const Constant* own = layers->find(std::to_string(layer));
      if (!(types->as_list()[layer] == Constant::text("full_attention"))) continue;
      if (own == nullptr || !own->is_record() || (shared != nullptr && !(*own == *shared))) return refuse("the same for every full-attention layer");
      shared = own;
      ++full;
    }
    if (shared == nullptr || layers->as_record().size() != full) return refuse("there for full-attention layers only");
    for (const Constant::Field& field : shared->as_record()) {
      if (!arch_.per_layer_config.contains(field.key)) return refuse("about keys that `" + arch_.name + "` lets differ");
    }
    for (const auto& [key, target] : arch_.per_layer_config) {
      const Constant* own = shared->find(key);
      const Constant* value = own != nullptr ? own : raw_.given(key);
      if (value == nullptr) continue;
      if (raw_.given(target) != nullptr && !(*raw_.given(target) == *value)) return refuse("what `" + target + "` says");
      raw_.set(target, *value, "per_layer_config");
    }
  }

  void take_values(ValueBinder& values, ModelFacts& facts) {
    facts.shared_keys = arch_.shared_keys;
    for (const auto& [key, rule] : arch_.keys) {
      facts.declared_keys.push_back(key);
      if (const auto value = values.value(key)) {
        facts.values.emplace(key, *value);
        if (const Span span = values.span(key); span.end > span.begin) facts.spans.emplace(key, span);
      } else if (rule.null == KeyRule::Null::kRefused && !arch_.defaults.contains(key)) {
        diagnostics_.add(DiagnosticKind::kMissingConfigKey, Span{raw_.file, 0, 0}, {{"key", key}, {"arch", arch_.name}});
      }
    }
    const Constant* dtype = facts.find("weight_dtype");
    if (dtype == nullptr || !dtype->is_string()) return;
    if (dtype->as_string() == "float32") facts.weight_dtype = DType::kF32;
    if (dtype->as_string() == "float16") facts.weight_dtype = DType::kF16;
  }

  // A reason with its {expressions} filled in. Braces are ours (arch.json), so they are balanced.
  static std::string filled(const std::string& reason, ValueBinder& values) {
    std::string out;
    for (size_t at = 0; at < reason.size();) {
      const size_t close = reason[at] == '{' ? reason.find('}', at) : std::string::npos;
      if (close == std::string::npos) {
        out += reason[at++];
        continue;
      }
      const SourceFile text("reason", reason.substr(at + 1, close - at - 1));
      const auto value = values.evaluate(&text);
      out += value ? to_string(*value) : "?";
      at = close + 1;
    }
    return out;
  }

  void refuse_cases(ValueBinder& values) {
    for (const RefusedCase& one : arch_.refused) {
      const auto holds = values.evaluate(one.when);
      if (!holds || !holds->is_number() || holds->as_number() == 0.0) continue;
      const auto seen = values.value(one.key);
      diagnostics_.add(DiagnosticKind::kUnsupportedConfig, values.span(one.key),
                       {{"key", one.key}, {"seen", "`" + (seen ? escape_for_message(to_string(*seen)) : "absent") + "`"}, {"arch", arch_.name}, {"reason", filled(one.reason, values)}});
    }
  }

  // The value of a shape expression, once or for every layer; empty when it names an absent key or is not above 0.
  std::vector<int64_t> extents(Expression expression, bool per_layer, int layers, ValueBinder& values) {
    std::vector<int64_t> out;
    if (expression == nullptr) return out;
    for (int layer = 0; layer < (per_layer ? layers : 1); ++layer) {
      const auto value = values.evaluate(expression, layer);
      if (!value || !value->is_int() || value->as_int() <= 0) return {};
      out.push_back(value->as_int());
    }
    if (std::all_of(out.begin(), out.end(), [&](int64_t extent) { return extent == out[0]; })) out.resize(1);
    return out;
  }

  void declare_weights(ValueBinder& values, ModelFacts& facts) {
    const Constant* layers = facts.find("num_hidden_layers");
    const int count = layers != nullptr && layers->is_int() ? static_cast<int>(layers->as_int()) : 1;
    for (const WeightEntry& entry : arch_.weights) {
      WeightDecl decl;
      decl.name = entry.name;
      decl.per_layer = entry.per_layer;
      decl.rows_by_layer = extents(entry.rows, entry.per_layer, count, values);
      decl.columns_by_layer = extents(entry.columns, entry.per_layer, count, values);
      const std::vector<int64_t> experts = extents(entry.experts, false, count, values);
      decl.experts = experts.empty() ? 0 : experts[0];
      decl.absent = entry.when != nullptr && values.evaluate(entry.when) == Constant::boolean(false);
      if (!entry.tied_to.empty()) {
        const auto tied = entry.tied_when == nullptr ? Constant::boolean(true) : values.evaluate(entry.tied_when).value_or(Constant());
        if (tied.is_bool() && tied.as_bool()) decl.tied_to = entry.tied_to;
      }
      facts.weights.push_back(std::move(decl));
    }
  }

  RawConfig raw_;
  const ArchDecl& arch_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::optional<ModelFacts> bind_raw_config(RawConfig raw, const ArchDecl& arch, const std::string& stem, Diagnostics& diagnostics) {
  diagnostics.set_model(arch.name + " x " + stem);
  return ConfigBinder(std::move(raw), arch, diagnostics).bind(stem);
}

std::optional<ModelFacts> bind_config(const SourceFile& config, const ArchDecl& arch, const std::string& stem, Diagnostics& diagnostics) {
  std::optional<RawConfig> raw = read_raw_config(config, diagnostics);
  if (!raw) return std::nullopt;
  return bind_raw_config(std::move(*raw), arch, stem, diagnostics);
}

bool answers_to(const RawConfig& raw, const ArchDecl& arch) {
  const auto listed = [](const std::vector<std::string>& names, const Constant* value) {
    return value != nullptr && value->is_string() && std::find(names.begin(), names.end(), value->as_string()) != names.end();
  };
  const Constant* classes = raw.find("architectures");
  bool named = listed(arch.model_types, raw.find("model_type"));
  if (classes != nullptr && classes->is_list() && !classes->as_list().empty()) named = listed(arch.architectures, &classes->as_list()[0]);
  if (!named || !arch.when) return named;
  const Constant* value = raw.find(arch.when->key);
  return (value != nullptr && *value == arch.when->value) != arch.when->is_not;
}

}  // namespace scratchy
