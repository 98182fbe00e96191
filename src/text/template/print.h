// Values as text: str(), repr() and JSON.
#pragma once

#include <optional>
#include <string>

#include "text/template/value.h"

namespace scratchy::jinja {

std::string to_text(Budget& budget, const Value& value);  // str()
std::string to_repr(Budget& budget, const Value& value);  // repr()
std::string text_repr(std::string_view text);             // repr() of a text: quoted, escaped

// json.dumps's arguments, as the tojson of transformers passes them on.
struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // the text of one level
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
// Raises for what JSON has no form for: undefined values, ranges, views, objects, keys that are lists.
std::string to_json(Budget& budget, const Value& value, const JsonStyle& style);

// & < > ' " as HTML entities.
std::string escape_html(std::string_view text);

}  // namespace scratchy::jinja
