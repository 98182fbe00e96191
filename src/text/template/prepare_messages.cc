#include "base/text.h"
#include "text/template/chat_template.h"

namespace scratchy {
namespace {

using Json = nlohmann::ordered_json;

Json without_nulls(const Json& message) {
  Json out = Json::object();
  for (const auto& [name, value] : message.items()) {
    if (!value.is_null()) out[name] = value;
  }
  return out;
}

// The names reasoning goes by, the first that is there counts.
Json with_reasoning_names(const Json& message) {
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    const auto found = message.find(name);
    if (found == message.end()) continue;
    Json out = Json::object();
    out["thinking"] = *found;
    for (const auto& [key, value] : message.items()) out[key] = value;
    out["reasoning_content"] = *found;
    return out;
  }
  return message;
}

}  // namespace

Result<Json> prepare_messages(const Json& messages) {
  if (!messages.is_array()) return Failure("`messages` must be a list");
  Json out = Json::array();
  for (const Json& message : messages) {
    if (!message.is_object()) return Failure("`messages[" + std::to_string(out.size()) + "]` must be an object");
    out.push_back(with_reasoning_names(without_nulls(message)));
  }
  return out;
}

}  // namespace scratchy
