#include "runtime/check_config.h"

#include <cmath>

namespace scratchy {
namespace {

// The scalar under `key`, null when none of the places has one.
const Json* find_scalar(const Json& config, const char* key) {
  const auto member = [](const Json* object, const char* name) -> const Json* {
    if (object == nullptr || !object->is_object()) return nullptr;
    const auto found = object->find(name);
    return found == object->end() ? nullptr : &*found;
  };
  const Json* places[] = {&config, member(&config, "text_config")};
  for (const Json* place : places) {
    for (const Json* object : {place, member(place, "rope_parameters"), member(place, "rope_scaling")}) {
      const Json* value = member(object, key);
      if (value != nullptr && (value->is_number() || value->is_boolean() || value->is_string())) return value;
    }
  }
  return nullptr;
}

bool agrees(const Json& value, const ConfigFact& fact) {
  if (fact.text != nullptr) return !value.is_string() || value.get<std::string>() == fact.text;
  if (value.is_string()) return true;  // another spelling of something else
  const double number = value.is_boolean() ? (value.get<bool>() ? 1.0 : 0.0) : value.get<double>();
  return std::fabs(number - fact.number) <= 1e-9 * std::fabs(fact.number);
}

}  // namespace

Status check_config(const Checkpoint& checkpoint, const CompiledProgram& program) {
  if (checkpoint.is_gguf()) return Done{};
  for (int32_t i = 0; i < program.config_fact_count; ++i) {
    const ConfigFact& fact = program.config_facts[i];
    const Json* value = find_scalar(checkpoint.config(), fact.key);
    if (value == nullptr || agrees(*value, fact)) continue;
    return Failure("its config says `" + std::string(fact.key) + "` is " + value->dump() + ", this program was compiled for " +
                   (fact.text != nullptr ? fact.text : Json(fact.number).dump()));
  }
  return Done{};
}

}  // namespace scratchy
