#include "text/template/bind.h"

#include <algorithm>

namespace scratchy::jinja {

std::vector<const Value*> bind(std::string_view what, const Arguments& arguments,
                               std::initializer_list<std::string_view> parameters, size_t required) {
  const std::string name = "`" + std::string(what) + "`";
  if (arguments.positional.size() > parameters.size()) {
    raise(name + " takes at most " + std::to_string(parameters.size()) + " arguments, not " +
          std::to_string(arguments.positional.size()));
  }
  std::vector<const Value*> out(parameters.size(), nullptr);
  for (size_t i = 0; i < arguments.positional.size(); ++i) out[i] = &arguments.positional[i];
  for (const auto& [key, value] : arguments.named) {
    const auto found = std::find(parameters.begin(), parameters.end(), key);
    if (found == parameters.end()) raise(name + " takes no argument `" + key + "`");
    const Value*& place = out[static_cast<size_t>(found - parameters.begin())];
    if (place != nullptr) raise(name + " is given `" + key + "` twice");
    place = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (out[i] == nullptr) raise(name + " needs the argument `" + std::string(*(parameters.begin() + i)) + "`");
  }
  return out;
}

Integer integer_or(const Value* argument, Integer fallback) {
  if (argument == nullptr) return fallback;
  if (argument->is_undefined()) raise_undefined(*argument);
  if (!argument->is_integral()) raise("an integer is needed, not `" + type_name(*argument) + "`");
  return argument->integer();
}

Integer integer_or_none(const Value* argument, Integer fallback) {
  return argument == nullptr || argument->is_none() ? fallback : integer_or(argument, fallback);
}

bool truth_or(const Value* argument, bool fallback) { return argument == nullptr ? fallback : truthy(*argument); }

const std::string& need_text(const Value& value, std::string_view what) {
  if (value.is_undefined()) raise_undefined(value);
  if (!value.is_text()) raise("`" + std::string(what) + "` needs a text, not `" + type_name(value) + "`");
  return value.bytes();
}

size_t width_of(Integer value) {
  if (value <= 0) return 0;
  if (value > static_cast<Integer>(kMaxTextBytes)) raise("a width of more than 64 MiB");
  return static_cast<size_t>(value);
}

}  // namespace scratchy::jinja
