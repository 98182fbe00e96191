#include "text/template/print.h"

#include "text/template/characters.h"
#include "text/template/numbers.h"

namespace scratchy::jinja {
namespace {

void append_repr(Budget& budget, std::string& out, const Value& value, int depth);

// Checks the output as it grows: shared parts may print far larger than they are.
void append(Budget& budget, std::string& out, std::string_view text) {
  budget.spend_bytes(text.size());
  if (out.size() + text.size() > kMaxTextBytes) raise("the template makes a text of more than 64 MiB");
  out += text;
}

std::string hex_escape(char32_t c) {
  const int width = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
  const std::string digits = integer_text(static_cast<Integer>(c), 16);
  return std::string(width == 2 ? "\\x" : width == 4 ? "\\u" : "\\U") +
         std::string(static_cast<size_t>(width) - digits.size(), '0') + digits;
}

void append_items(Budget& budget, std::string& out, const std::vector<Value>& items, int depth) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) append(budget, out, ", ");
    append_repr(budget, out, items[i], depth);
  }
}

void append_dict(Budget& budget, std::string& out, const Dict& dict, int depth) {
  append(budget, out, "{");
  bool first = true;
  for (const auto& [key, value] : dict.entries) {
    if (!first) append(budget, out, ", ");
    first = false;
    append_repr(budget, out, key, depth);
    append(budget, out, ": ");
    append_repr(budget, out, value, depth);
  }
  append(budget, out, "}");
}

void append_view(Budget& budget, std::string& out, const DictView& view, int depth) {
  const bool keys = view.part == DictView::Part::kKeys;
  const bool items = view.part == DictView::Part::kItems;
  append(budget, out, items ? "dict_items([" : keys ? "dict_keys([" : "dict_values([");
  bool first = true;
  for (const auto& [key, value] : view.dict.dict().entries) {
    if (!first) append(budget, out, ", ");
    first = false;
    if (items) append(budget, out, "(");
    if (keys || items) append_repr(budget, out, key, depth);
    if (items) append(budget, out, ", ");
    if (!keys) append_repr(budget, out, value, depth);
    if (items) append(budget, out, ")");
  }
  append(budget, out, "])");
}

void append_namespace(Budget& budget, std::string& out, const Namespace& space, int depth) {
  append(budget, out, "<Namespace {");
  bool first = true;
  for (const auto& [name, value] : space.attributes) {
    append(budget, out, (first ? "" : ", ") + text_repr(name) + ": ");
    first = false;
    append_repr(budget, out, value, depth);
  }
  append(budget, out, "}>");
}

// repr(bytes): ASCII as it is, other bytes as \xNN.
std::string bytes_repr(const std::string& bytes) {
  std::string out;
  const bool single = bytes.find('\'') == std::string::npos || bytes.find('"') != std::string::npos;
  for (char c : bytes) {
    if (static_cast<unsigned char>(c) >= 0x80) {
      out += hex_escape(static_cast<unsigned char>(c));
    } else {
      const std::string quoted = text_repr(std::string(1, c));
      out += c == '\'' ? (single ? "\\'" : "'") : quoted.substr(1, quoted.size() - 2);
    }
  }
  return std::string("b") + (single ? '\'' : '"') + out + (single ? '\'' : '"');
}

std::string object_repr(const Value& value) {
  switch (value.kind()) {
    case Kind::kRange: {
      const Range& range = value.object<Range>();
      return "range(" + integer_text(range.start) + ", " + integer_text(range.stop) +
             (range.step == 1 ? "" : ", " + integer_text(range.step)) + ")";
    }
    case Kind::kLoop: {
      const LoopState& loop = value.object<LoopState>();
      return "<LoopContext " + std::to_string(loop.index0 + 1) + "/" + std::to_string(loop.items.size()) + ">";
    }
    case Kind::kFunction: return "<function " + std::string(value.object<Function>().entry.name) + ">";
    case Kind::kMethod: return "<method " + std::string(value.object<Method>().entry.name) + ">";
    case Kind::kBytes: return bytes_repr(value.object<ByteString>().bytes);
    case Kind::kUndefined:
    case Kind::kNone:
    case Kind::kBoolean:
    case Kind::kInteger:
    case Kind::kFloat:
    case Kind::kText:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kNamespace:
    case Kind::kGenerator:
    case Kind::kMacro:
    case Kind::kCycler:
    case Kind::kJoiner: return "<" + type_name(value) + ">";
  }
  return "";
}

void append_repr(Budget& budget, std::string& out, const Value& value, int depth) {
  if (depth > kMaxValueDepth + 50) raise("values nest too deep to print");
  budget.spend(1);
  switch (value.kind()) {
    case Kind::kUndefined: return append(budget, out, "Undefined");
    case Kind::kNone: return append(budget, out, "None");
    case Kind::kBoolean: return append(budget, out, value.boolean() ? "True" : "False");
    case Kind::kInteger: return append(budget, out, integer_text(value.integer()));
    case Kind::kFloat: return append(budget, out, float_text(value.number()));
    case Kind::kText:
      budget.spend_bytes(value.bytes().size());
      if (value.text().safe) return append(budget, out, "Markup(" + text_repr(value.bytes()) + ")");
      return append(budget, out, text_repr(value.bytes()));
    case Kind::kList:
      append(budget, out, "[");
      append_items(budget, out, value.items(), depth + 1);
      return append(budget, out, "]");
    case Kind::kTuple:
      append(budget, out, "(");
      append_items(budget, out, value.items(), depth + 1);
      return append(budget, out, value.items().size() == 1 ? ",)" : ")");
    case Kind::kDict: return append_dict(budget, out, value.dict(), depth + 1);
    case Kind::kDictView: return append_view(budget, out, value.object<DictView>(), depth + 1);
    case Kind::kNamespace: return append_namespace(budget, out, value.object<Namespace>(), depth + 1);
    case Kind::kBytes:
    case Kind::kRange:
    case Kind::kGenerator:
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kLoop:
    case Kind::kCycler:
    case Kind::kJoiner: return append(budget, out, object_repr(value));
  }
}

}  // namespace

std::string text_repr(std::string_view text) {
  const bool single = text.find('\'') == std::string_view::npos || text.find('"') != std::string_view::npos;
  const char quote = single ? '\'' : '"';
  std::string out(1, quote);
  for (char32_t c : decode_utf8(text)) {
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out += {'\\', static_cast<char>(c)};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (!is_printable(c)) {
      out += hex_escape(c);
    } else {
      append_utf8(out, c);
    }
  }
  out.push_back(quote);
  return out;
}

std::string to_repr(Budget& budget, const Value& value) {
  std::string out;
  append_repr(budget, out, value, 0);
  return out;
}

std::string to_text(Budget& budget, const Value& value) {
  if (value.is_text()) return value.bytes();
  if (value.is_undefined()) return "";
  if (value.is(Kind::kJoiner) || value.is(Kind::kCycler)) return object_repr(value);
  return to_repr(budget, value);
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '\'': out += "&#39;"; break;
      case '"': out += "&#34;"; break;
      default: out.push_back(c);
    }
  }
  return out;
}

}  // namespace scratchy::jinja
