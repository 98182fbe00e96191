#include "config/bind_rope.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/match_name.h"

namespace scratchy {
namespace {

using Fields = std::map<std::string, Constant>;

// Parameters a record may have, and what they must be.
enum class Parameter { kPositive, kNumber, kCount, kFlag, kFactors };
struct ParameterRule {
  const char* name;
  Parameter kind;
};
constexpr ParameterRule kParameters[] = {
    {"factor", Parameter::kPositive},           {"low_freq_factor", Parameter::kPositive}, {"high_freq_factor", Parameter::kPositive},
    {"attention_factor", Parameter::kPositive}, {"beta_fast", Parameter::kPositive},       {"beta_slow", Parameter::kPositive},
    {"mscale", Parameter::kNumber},             {"mscale_all_dim", Parameter::kNumber},    {"truncate", Parameter::kFlag},
    {"short_factor", Parameter::kFactors},      {"long_factor", Parameter::kFactors},      {"original_max_position_embeddings", Parameter::kCount},
    {"rope_theta", Parameter::kPositive},       {"partial_rotary_factor", Parameter::kPositive}};

// Read for image positions only, which a text does not have.
constexpr const char* kOfImages[] = {"mrope_section", "mrope_interleaved"};

constexpr size_t kMostParameters = 64;
constexpr int64_t kMaxPositions = int64_t{1} << 31;

class RopeBinder {
 public:
  RopeBinder(const ArchDecl& arch, RawConfig& raw, Diagnostics& diagnostics) : arch_(arch), raw_(raw), diagnostics_(diagnostics) {}

  void bind() { arch_.rope.kinds.empty() ? bind_one() : bind_kinds(); }

 private:
  void bind_one() {
    const bool newer = raw_.given("rope_parameters") != nullptr;
    const std::string from = newer ? "rope_parameters" : "rope_scaling";
    if (newer && raw_.given("rope_scaling") != nullptr && !(*raw_.given("rope_scaling") == *raw_.given("rope_parameters"))) {
      conflict("rope_scaling", *raw_.given("rope_scaling"), "rope_parameters", *raw_.given("rope_parameters"), from);
    }
    Fields fields;
    if (const Constant* record = raw_.given(from)) fields = read_record(*record, from, from);
    for (const char* key : {"rope_theta", "partial_rotary_factor"}) hoist(fields, key, from);
    const std::string type = type_of(fields);
    Constant scaling;
    if (type != "default") {
      complete(fields, type, from);
      Constant::Record record;
      for (auto& [key, value] : fields) record.push_back({key, std::move(value)});
      scaling = Constant::record(std::move(record));
    }
    raw_.set("rope_scaling", std::move(scaling), from);
    raw_.values.erase("rope_parameters");
  }

  void bind_kinds() {
    const Constant* nested = raw_.given("rope_parameters");
    Constant::Record kinds;
    for (const RopeKind& kind : arch_.rope.kinds) {
      Fields fields;
      std::string from = "rope_parameters";
      const Constant* record = nested == nullptr ? nullptr : nested->find(kind.name);
      if (nested != nullptr && (record == nullptr || !record->is_record())) {
        bad("rope_parameters", to_string(*nested), "a record with a record `" + kind.name + "`", "rope_parameters");
        return;
      }
      if (record != nullptr) {
        fields = read_record(*record, "rope_parameters." + kind.name, from);
      } else if (kind.scaled && raw_.given("rope_scaling") != nullptr) {
        from = "rope_scaling";
        fields = read_record(*raw_.given("rope_scaling"), from, from);
      }
      for (const std::string& key : kind.theta) take_theta(fields, key);
      for (const auto& [key, value] : kind.defaults) fields.emplace(key, value);
      const std::string type = type_of(fields);
      complete(fields, type, from);
      Constant::Record out;
      for (auto& [key, value] : fields) out.push_back({key, std::move(value)});
      kinds.push_back({kind.name, Constant::record(std::move(out))});
    }
    raw_.set("rope_parameters", Constant::record(std::move(kinds)), raw_.find("rope_parameters") ? "rope_parameters" : "rope_scaling");
    for (const RopeKind& kind : arch_.rope.kinds) {
      for (const std::string& key : kind.theta) raw_.values.erase(key);
    }
    for (const char* key : {"rope_theta", "rope_scaling", "partial_rotary_factor"}) raw_.values.erase(key);
  }

  // The fields of a published record, checked; `rope_type` is set and one of ours.
  Fields read_record(const Constant& record, const std::string& path, const std::string& at) {
    Fields fields;
    if (!record.is_record()) {
      bad(path, to_string(record), "a record of rotary parameters", at);
      return fields;
    }
    std::string type = "default";
    const Constant* spelled = nullptr;
    for (const char* key : {"rope_type", "type"}) {
      const Constant* value = record.find(key);
      if (value == nullptr || value->is_none()) continue;
      if (spelled != nullptr && !(*spelled == *value)) conflict(path + ".rope_type", *spelled, path + ".type", *value, at);
      if (spelled == nullptr) spelled = value;
    }
    if (spelled != nullptr) type = spelled->is_string() ? spelled->as_string() : to_string(*spelled);
    if (const auto renamed = arch_.rope.renames.find(type); renamed != arch_.rope.renames.end()) type = renamed->second;
    if (type == "mrope") type = "default";
    if (std::find(arch_.rope.types.begin(), arch_.rope.types.end(), type) == arch_.rope.types.end()) {
      diagnostics_.add(DiagnosticKind::kUnsupportedConfig, span_of(at),
                       {{"key", path + ".rope_type"}, {"seen", "`" + escape_for_message(type) + "`"}, {"arch", arch_.name}, {"reason", "it has `" + join(arch_.rope.types, "`, `") + "`"}});
      type = "default";
    }
    if (record.as_record().size() > kMostParameters) {
      bad(path, std::to_string(record.as_record().size()) + " parameters", "at most " + std::to_string(kMostParameters), at);
      return fields;
    }
    for (const Constant::Field& field : record.as_record()) read_field(field, path, at, fields);
    fields["rope_type"] = Constant::text(type);
    return fields;
  }

  void read_field(const Constant::Field& field, const std::string& path, const std::string& at, Fields& fields) {
    if (field.key == "rope_type" || field.key == "type") return;
    if (std::any_of(std::begin(kOfImages), std::end(kOfImages), [&](const char* name) { return field.key == name; })) return;
    const auto* rule = std::find_if(std::begin(kParameters), std::end(kParameters), [&](const ParameterRule& one) { return field.key == one.name; });
    if (rule == std::end(kParameters)) {
      std::vector<std::string> known;
      for (const ParameterRule& one : kParameters) known.emplace_back(one.name);
      Diagnostic& diagnostic = diagnostics_.add(DiagnosticKind::kUnknownConfigKey, span_of(at), {{"key", path + "." + escape_for_message(field.key)}, {"arch", arch_.name}});
      suggest_nearest(diagnostic, field.key, known);
      return;
    }
    if (field.value.is_none()) return;
    if (auto value = checked(*rule, field.value, path + "." + field.key, at)) fields[field.key] = std::move(*value);
  }

  std::optional<Constant> checked(const ParameterRule& rule, const Constant& value, const std::string& path, const std::string& at) {
    const bool number = value.is_int() || value.is_float();
    switch (rule.kind) {
      case Parameter::kPositive:
        if (number && value.as_number() > 0.0 && std::isfinite(value.as_number())) return Constant::real(value.as_number());
        bad(path, to_string(value), "a number above 0", at);
        return std::nullopt;
      case Parameter::kNumber:
        if (number && value.as_number() >= 0.0 && std::isfinite(value.as_number())) return Constant::real(value.as_number());
        bad(path, to_string(value), "a number of at least 0", at);
        return std::nullopt;
      case Parameter::kCount:
        if (value.is_int() && value.as_int() > 0 && value.as_int() <= kMaxPositions) return value;
        bad(path, to_string(value), "an integer from 1 to " + with_thousands(kMaxPositions), at);
        return std::nullopt;
      case Parameter::kFlag:
        if (value.is_bool()) return value;
        bad(path, to_string(value), "true or false", at);
        return std::nullopt;
      case Parameter::kFactors: return checked_factors(value, path, at);
    }
    return std::nullopt;
  }

  std::optional<Constant> checked_factors(const Constant& value, const std::string& path, const std::string& at) {
    Constant::List factors;
    bool good = value.is_list() && !value.as_list().empty();
    for (size_t i = 0; good && i < value.as_list().size(); ++i) {
      const Constant& item = value.as_list()[i];
      good = (item.is_int() || item.is_float()) && item.as_number() > 0.0;
      if (good) factors.push_back(Constant::real(item.as_number()));
    }
    if (good) return Constant::list(std::move(factors));
    bad(path, to_string(value), "a list of numbers above 0", at);
    return std::nullopt;
  }

  // Moves `key` of the record to the top level, where texts read it.
  void hoist(Fields& fields, const std::string& key, const std::string& at) {
    const auto inside = fields.find(key);
    if (inside == fields.end()) return;
    const Constant* top = raw_.given(key);
    if (top != nullptr && !(*top == inside->second)) conflict(key, *top, at + "." + key, inside->second, at);
    if (top == nullptr) raw_.set(key, inside->second, at);
    fields.erase(inside);
  }

  // An older key of a kind's base: the value where the record has none, and a conflict where it has another.
  void take_theta(Fields& fields, const std::string& key) {
    const Constant* value = raw_.given(key);
    if (value == nullptr) return;
    const auto theta = checked({"rope_theta", Parameter::kPositive}, *value, key, key);
    if (!theta) return;
    const auto [place, added] = fields.emplace("rope_theta", *theta);
    if (!added && !(place->second == *theta)) conflict(key, *value, "rope_parameters", place->second, key);
  }

  static std::string type_of(Fields& fields) { return fields.emplace("rope_type", Constant::text("default")).first->second.as_string(); }

  // Fills and demands what the type needs.
  void complete(Fields& fields, const std::string& type, const std::string& at) {
    std::vector<std::string> needed;
    if (type == "linear") needed = {"factor"};
    if (type == "llama3") needed = {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"};
    if (type == "yarn") needed = {"factor"};
    if (type == "longrope") needed = {"short_factor", "long_factor"};
    for (const std::string& key : needed) {
      if (!fields.contains(key)) bad(at + "." + key, "missing", "there for the rope type `" + type + "`", at);
    }
    if (type == "yarn" || type == "longrope") {
      const Constant* top = raw_.given("original_max_position_embeddings");
      if (top != nullptr) fields["original_max_position_embeddings"] = *top;
      const auto fallback = arch_.defaults.find("original_max_position_embeddings");
      if (fallback != arch_.defaults.end() && fallback->second.expression == nullptr) {
        fields.emplace("original_max_position_embeddings", fallback->second.value);
      }
      if (const Constant* all = raw_.given("max_position_embeddings")) fields.emplace("original_max_position_embeddings", *all);
    }
  }

  Span span_of(const std::string& key) const {
    const auto found = raw_.values.find(key);
    return found == raw_.values.end() ? Span{raw_.file, 0, 0} : found->second.span;
  }

  void bad(const std::string& key, const std::string& seen, const std::string& rule, const std::string& at) {
    diagnostics_.add(DiagnosticKind::kBadConfigValue, span_of(at), {{"key", key}, {"seen", seen}, {"rule", rule}});
  }

  void conflict(const std::string& first, const Constant& a, const std::string& second, const Constant& b, const std::string& at) {
    diagnostics_.add(DiagnosticKind::kConflictingSpellings, span_of(at),
                     {{"first", first}, {"first_value", to_string(a)}, {"second", second}, {"second_value", to_string(b)}});
  }

  const ArchDecl& arch_;
  RawConfig& raw_;
  Diagnostics& diagnostics_;
};

}  // namespace

void bind_rope(const ArchDecl& arch, RawConfig& raw, Diagnostics& diagnostics) {
  if (!arch.rope.types.empty()) RopeBinder(arch, raw, diagnostics).bind();
}

}  // namespace scratchy
