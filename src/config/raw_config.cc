#include "config/raw_config.h"

#include <utility>

#include "base/text.h"
#include "checkpoint/json.h"
#include "config/json_constant.h"
#include "config/json_places.h"

namespace scratchy {
namespace {

void malformed(const SourceFile& file, std::string problem, Span span, Diagnostics& diagnostics) {
  if (span.file == nullptr) span = Span{&file, 0, 0};
  diagnostics.add(DiagnosticKind::kMalformedFile, span, {{"file", file.path}, {"problem", std::move(problem)}});
}

}  // namespace

void RawConfig::set(const std::string& key, Constant value, const std::string& like) {
  RawValue place;
  if (const auto found = values.find(like); found != values.end()) place = found->second;
  if (place.path.empty()) place.path = key;
  place.value = std::move(value);
  values[key] = std::move(place);
}

std::optional<RawConfig> read_raw_config(const SourceFile& file, Diagnostics& diagnostics) {
  const auto json = parse_json(file.text);
  if (!json.ok()) {
    malformed(file, json.failure().message(), {}, diagnostics);
    return std::nullopt;
  }
  if (!json->is_object()) {
    malformed(file, "a config is one JSON object", {}, diagnostics);
    return std::nullopt;
  }
  const auto places = json_places(file);
  RawConfig raw;
  raw.file = &file;
  bool good = true;
  const auto take = [&](const Json& object, const std::string& prefix) {
    for (const auto& [key, item] : object.items()) {
      if (raw.values.contains(key) || key == "text_config") continue;
      const auto place = places.find(prefix + key);
      RawValue value{.value = {}, .path = prefix + key, .key = {}, .span = {}};
      if (place != places.end()) {
        value.key = place->second.key;
        value.span = place->second.value;
      }
      auto constant = constant_of(item);
      if (!constant) {
        malformed(file, "`" + escape_for_message(value.path) + "` holds an integer of more than 63 bits or is nested too deep", value.span, diagnostics);
        good = false;
        continue;
      }
      value.value = std::move(*constant);
      raw.values.emplace(key, std::move(value));
    }
  };
  take(*json, "");
  if (const auto text = json->find("text_config"); text != json->end() && !text->is_null()) {
    if (!text->is_object()) {
      malformed(file, "`text_config` must be an object", {}, diagnostics);
      return std::nullopt;
    }
    take(*text, "text_config.");
  }
  if (!good) return std::nullopt;
  return raw;
}

}  // namespace scratchy
