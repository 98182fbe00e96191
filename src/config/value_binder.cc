#include "config/value_binder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace scratchy {
namespace {

std::string number_text(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) {
    return (value < 0 ? "-" : "") + with_thousands(static_cast<uint64_t>(std::abs(value)));
  }
  return to_string(Constant::real(value));
}

std::string range_text(const KeyRule& rule, const std::string& what) {
  return what + " from " + number_text(rule.min) + " to " + number_text(rule.max);
}

bool in_range(const KeyRule& rule, double value) { return value >= rule.min && value <= rule.max; }

}  // namespace

ValueBinder::ValueBinder(const ArchDecl& arch, const RawConfig& raw, Diagnostics& diagnostics)
    : arch_(arch), raw_(raw), diagnostics_(diagnostics) {
  for (const auto& [key, rule] : arch_.keys) known_.push_back(key);
}

Span ValueBinder::span(const std::string& key) const {
  const auto as = published_as_.find(key);
  const auto found = raw_.values.find(as == published_as_.end() ? key : as->second);
  return found == raw_.values.end() ? Span{raw_.file, 0, 0} : found->second.span;
}

bool ValueBinder::check_published() {
  const size_t before = diagnostics_.size();
  for (const auto& [key, rule] : arch_.keys) {
    std::vector<std::string> spellings = {key};
    if (const auto aliases = arch_.aliases.find(key); aliases != arch_.aliases.end()) {
      spellings.insert(spellings.end(), aliases->second.begin(), aliases->second.end());
    }
    for (const std::string& spelling : spellings) {
      const auto found = raw_.values.find(spelling);
      if (found == raw_.values.end()) continue;
      const RawValue& raw = found->second;
      if (raw.value.is_none() && rule.null == KeyRule::Null::kAbsent) continue;
      const auto value = checked(key, raw.value, raw.path, raw.span);
      if (!value) continue;
      const auto [place, added] = published_.emplace(key, *value);
      if (added) {
        published_as_[key] = spelling;
      } else if (!(place->second == *value)) {
        diagnostics_.add(DiagnosticKind::kConflictingSpellings, raw.span,
                         {{"first", published_as_[key]}, {"first_value", to_string(place->second)}, {"second", raw.path}, {"second_value", to_string(*value)}});
      }
    }
  }
  return diagnostics_.size() == before;
}

void ValueBinder::bad(const std::string& shown, const Constant& seen, const std::string& rule, Span span) {
  diagnostics_.add(DiagnosticKind::kBadConfigValue, span, {{"key", escape_for_message(shown)}, {"seen", escape_for_message(to_string(seen))}, {"rule", rule}});
}

bool ValueBinder::check_allowed(const KeyRule& rule, const Constant& value, const std::string& shown, Span span) {
  if (rule.allowed.empty()) return true;
  for (const Constant& allowed : rule.allowed) {
    if (allowed.kind() == value.kind() && allowed == value) return true;
    if (allowed.is_number() && value.is_float() && allowed == value) return true;
  }
  std::vector<std::string> names;
  for (const Constant& allowed : rule.allowed) names.push_back(to_string(allowed));
  diagnostics_.add(DiagnosticKind::kUnsupportedConfig, span,
                   {{"key", escape_for_message(shown)}, {"seen", "`" + escape_for_message(to_string(value)) + "`"}, {"arch", arch_.name}, {"reason", "it has `" + join(names, "`, `") + "`"}});
  return false;
}

std::optional<Constant> ValueBinder::list_of(const KeyRule& rule, const Constant& value, const std::string& shown, Span span) {
  const bool texts = rule.type == KeyRule::Type::kTexts;
  const bool fits = value.is_list() && std::all_of(value.as_list().begin(), value.as_list().end(), [&](const Constant& item) {
                      return texts ? item.is_string() : item.is_int() && item.as_int() >= 0;
                    });
  if (!fits) {
    bad(shown, value, texts ? "a list of strings" : "a list of layer numbers", span);
    return std::nullopt;
  }
  for (const Constant& item : value.as_list()) {
    if (!check_allowed(rule, item, shown, span)) return std::nullopt;
  }
  return value;
}

std::optional<Constant> ValueBinder::checked(const std::string& key, const Constant& value, const std::string& shown, Span span) {
  const KeyRule& rule = arch_.keys.at(key);
  if (value.is_none() && rule.null == KeyRule::Null::kValue) return rule.null_value;
  std::optional<Constant> out = value;
  switch (rule.type) {
    case KeyRule::Type::kInt:
      if (value.is_int() && in_range(rule, static_cast<double>(value.as_int()))) break;
      bad(shown, value, range_text(rule, "an integer"), span);
      return std::nullopt;
    case KeyRule::Type::kFloat:
      if ((value.is_int() || value.is_float()) && in_range(rule, value.as_number())) {
        out = Constant::real(value.as_number());
        break;
      }
      bad(shown, value, range_text(rule, "a number"), span);
      return std::nullopt;
    case KeyRule::Type::kBool:
      if (value.is_bool()) break;
      bad(shown, value, "true or false", span);
      return std::nullopt;
    case KeyRule::Type::kText:
      if (value.is_string()) break;
      bad(shown, value, "a string", span);
      return std::nullopt;
    case KeyRule::Type::kTexts:
    case KeyRule::Type::kInts: return list_of(rule, value, shown, span);
    case KeyRule::Type::kRope:
    case KeyRule::Type::kAny: break;
  }
  if (!check_allowed(rule, *out, shown, span)) return std::nullopt;
  return out;
}

std::optional<Constant> ValueBinder::plain_value(const std::string& key) {
  if (const auto found = published_.find(key); found != published_.end()) return found->second;
  if (const auto found = plain_.find(key); found != plain_.end()) return found->second;
  const auto fallback = arch_.defaults.find(key);
  if (fallback == arch_.defaults.end() || !defaulting_.insert(key).second) return std::nullopt;
  std::optional<Constant> value = fallback->second.value;
  if (fallback->second.expression != nullptr) value = evaluate(fallback->second.expression);
  defaulting_.erase(key);
  if (value && fallback->second.expression != nullptr) value = checked(key, *value, key, span(key));
  if (value) plain_.emplace(key, *value);
  return value;
}

std::optional<Constant> ValueBinder::value(const std::string& key) {
  if (!arch_.keys.contains(key)) return std::nullopt;
  if (const auto found = final_.find(key); found != final_.end()) return found->second;
  const auto derived = arch_.derived.find(key);
  if (derived == arch_.derived.end() || deriving_.contains(key)) return plain_value(key);
  deriving_.insert(key);
  std::optional<Constant> value = evaluate(derived->second);
  deriving_.erase(key);
  if (value) value = checked(key, *value, key, span(key));
  if (value) final_.emplace(key, *value);
  return value;
}

std::optional<Constant> ValueBinder::evaluate(Expression expression, int layer) {
  bool missed = false;
  const ConstantLookup lookup = [&](std::string_view name) -> std::optional<Constant> {
    if (layer >= 0 && name == "layer") return Constant::integer(layer);
    std::optional<Constant> found = value(std::string(name));
    if (!found) missed = true;
    return found;
  };
  Diagnostics attempt;
  if (auto result = evaluate_constant(*expression, lookup, known_, attempt)) return result;
  if (missed) return std::nullopt;
  return evaluate_constant(*expression, lookup, known_, diagnostics_);
}

}  // namespace scratchy
