// json.dumps, as the tojson filter of transformers calls it: no HTML escapes, NaN and Infinity spelled as Python does.
#include <algorithm>
#include <cmath>

#include "text/template/characters.h"
#include "text/template/numbers.h"
#include "text/template/operators.h"
#include "text/template/print.h"

namespace scratchy::jinja {
namespace {

class JsonWriter {
 public:
  JsonWriter(Budget& budget, const JsonStyle& style) : budget_(budget), style_(style) {}

  void write(const Value& value) {
    budget_.spend(1);
    switch (value.kind()) {
      case Kind::kNone: return put("null");
      case Kind::kBoolean: return put(value.boolean() ? "true" : "false");
      case Kind::kInteger: return put(integer_text(value.integer()));
      case Kind::kFloat: return put(float_json(value.number()));
      case Kind::kText: return write_text(value.bytes());
      case Kind::kList:
      case Kind::kTuple: return write_items(value.items());
      case Kind::kDict: return write_dict(value.dict());
      case Kind::kUndefined:
      case Kind::kBytes:
      case Kind::kDictView:
      case Kind::kRange:
      case Kind::kGenerator:
      case Kind::kNamespace:
      case Kind::kMacro:
      case Kind::kMethod:
      case Kind::kFunction:
      case Kind::kLoop:
      case Kind::kCycler:
      case Kind::kJoiner: raise("a value of type `" + type_name(value) + "` has no form in JSON");
    }
  }

  std::string take() { return std::move(out_); }

 private:
  static std::string float_json(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return float_text(value);
  }

  void put(std::string_view text) {
    budget_.spend_bytes(text.size());
    if (out_.size() + text.size() > kMaxTextBytes) raise("the template makes a text of more than 64 MiB");
    out_ += text;
  }

  void put_unit(unsigned unit) {
    const std::string digits = integer_text(static_cast<Integer>(unit), 16);
    out_ += "\\u" + std::string(4 - digits.size(), '0') + digits;
  }

  void write_text(std::string_view text) {
    put("\"");
    budget_.spend_bytes(text.size());
    for (char32_t c : decode_utf8(text)) {
      switch (c) {
        case '"': out_ += "\\\""; break;
        case '\\': out_ += "\\\\"; break;
        case '\n': out_ += "\\n"; break;
        case '\r': out_ += "\\r"; break;
        case '\t': out_ += "\\t"; break;
        case '\b': out_ += "\\b"; break;
        case '\f': out_ += "\\f"; break;
        default: write_character(c);
      }
    }
    put("\"");
  }

  void write_character(char32_t c) {
    if (c < 0x20 || (style_.ensure_ascii && c >= 0x7F && c < 0x10000 && c != 0x7F)) {
      put_unit(c);
    } else if (style_.ensure_ascii && c >= 0x10000) {
      put_unit(0xD800 + ((c - 0x10000) >> 10));
      put_unit(0xDC00 + ((c - 0x10000) & 0x3FF));
    } else {
      append_utf8(out_, c);
    }
  }

  void line() {
    if (!style_.indent) return;
    put("\n");
    for (int i = 0; i < level_; ++i) put(*style_.indent);
  }

  void write_items(const std::vector<Value>& items) {
    if (items.empty()) return put("[]");
    put("[");
    ++level_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) put(style_.item_separator);
      line();
      write(items[i]);
    }
    --level_;
    line();
    put("]");
  }

  static std::string key_text(const Value& key) {
    if (key.is_text()) return key.bytes();
    if (key.is_none()) return "null";
    if (key.is(Kind::kBoolean)) return key.boolean() ? "true" : "false";
    if (key.is(Kind::kInteger)) return integer_text(key.integer());
    if (key.is(Kind::kFloat)) return float_json(key.number());
    raise("a JSON key must be a text, number, boolean or none, not `" + type_name(key) + "`");
  }

  void write_dict(const Dict& dict) {
    if (dict.entries.empty()) return put("{}");
    std::vector<const std::pair<Value, Value>*> order;
    for (const auto& entry : dict.entries) order.push_back(&entry);
    if (style_.sort_keys) {
      std::stable_sort(order.begin(), order.end(),
                       [&](const auto* a, const auto* b) { return less(budget_, a->first, b->first); });
    }
    put("{");
    ++level_;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i > 0) put(style_.item_separator);
      line();
      write_text(key_text(order[i]->first));
      put(style_.key_separator);
      write(order[i]->second);
    }
    --level_;
    line();
    put("}");
  }

  Budget& budget_;
  const JsonStyle& style_;
  std::string out_;
  int level_ = 0;
};

}  // namespace

std::string to_json(Budget& budget, const Value& value, const JsonStyle& style) {
  JsonWriter writer(budget, style);
  writer.write(value);
  return writer.take();
}

}  // namespace scratchy::jinja
