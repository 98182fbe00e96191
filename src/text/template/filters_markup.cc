// Filters for HTML and URLs, and JSON.
#include <algorithm>
#include <optional>

#include "text/template/access.h"
#include "text/template/bind.h"
#include "text/template/characters.h"
#include "text/template/evaluate.h"
#include "text/template/natives.h"
#include "text/template/numbers.h"
#include "text/template/operators.h"
#include "text/template/print.h"
#include "text/template/registry.h"

namespace scratchy::jinja {
namespace {

std::string url_quote(Budget& budget, std::string_view text, std::string_view unescaped, bool plus) {
  budget.spend_bytes(text.size() * 3);
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) || std::string_view("_.-~").find(c) != std::string_view::npos ||
                        unescaped.find(c) != std::string_view::npos)) {
      out.push_back(c);
    } else if (plus && c == ' ') {
      out.push_back('+');
    } else {
      static constexpr std::string_view kHex = "0123456789ABCDEF";
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

// The character that `&name;` stands for, or nothing.
std::optional<char32_t> entity(std::string_view name) {
  struct Entity {
    std::string_view name;
    char32_t character;
  };
  static constexpr Entity kEntities[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}, {"nbsp", 0xA0}};
  for (const Entity& known : kEntities) {
    if (known.name == name) return known.character;
  }
  if (!name.starts_with('#') || name.size() > 9) return std::nullopt;
  const bool hex = name.size() > 1 && (name[1] | 0x20) == 'x';
  const auto code = parse_integer(name.substr(hex ? 2 : 1), hex ? 16 : 10);
  if (!code || *code <= 0 || *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000)) return std::nullopt;
  return static_cast<char32_t>(*code);
}

std::string unescape_html(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t at = text.find('&');
    out += text.substr(0, at);
    if (at == std::string_view::npos) break;
    const size_t end = text.find(';', at);
    const auto character = end == std::string_view::npos ? std::nullopt : entity(text.substr(at + 1, end - at - 1));
    if (character) append_utf8(out, *character);
    else out.push_back('&');
    text.remove_prefix(character ? end + 1 : at + 1);
  }
  return out;
}

std::string without_tags(std::string text) {
  for (const auto& [open, close] : {std::pair{"<!--", "-->"}, std::pair{"<", ">"}}) {
    std::string out;
    size_t at = 0;
    while (true) {
      const size_t start = text.find(open, at);
      const size_t end = start == std::string::npos ? start : text.find(close, start);
      if (end == std::string::npos) break;
      out += text.substr(at, start - at);
      at = end + std::string_view(close).size();
    }
    text = out + text.substr(at);
  }
  return text;
}

std::string collapse_space(const std::string& text) {
  std::u32string out;
  bool pending = false;
  for (char32_t c : decode_utf8(text)) {
    if (is_space(c)) {
      pending = !out.empty();
    } else {
      if (std::exchange(pending, false)) out.push_back(' ');
      out.push_back(c);
    }
  }
  return encode_utf8(out);
}

std::optional<std::string> json_indent(Budget& budget, const Value* indent) {
  if (indent == nullptr || indent->is_none()) return std::nullopt;
  if (indent->is_text()) return indent->bytes();
  const size_t width = width_of(integer_or(indent, 0));
  budget.spend_bytes(width);
  return std::string(width, ' ');
}

}  // namespace

Value filter_tojson(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = truth_or(bound[0], false);
  style.indent = json_indent(evaluator.budget(), bound[1]);
  style.sort_keys = truth_or(bound[3], false);
  if (style.indent) style.item_separator = ",";
  if (bound[2] != nullptr && !bound[2]->is_none()) {
    const auto separators = iterate(evaluator.budget(), *bound[2]);
    if (separators.size() != 2) raise("`tojson` needs two separators");
    style.item_separator = need_text(separators[0], "tojson");
    style.key_separator = need_text(separators[1], "tojson");
  }
  return make_text(to_json(evaluator.budget(), self, style));
}

Value filter_escape(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("escape", arguments, {});
  return make_text(escaped(evaluator.budget(), self), true);
}

Value filter_forceescape(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("forceescape", arguments, {});
  const std::string text = to_text(evaluator.budget(), self);
  evaluator.budget().spend_bytes(text.size() * 5);
  return make_text(escape_html(text), true);
}

Value filter_safe(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("safe", arguments, {});
  return make_text(to_text(evaluator.budget(), self), true);
}

Value filter_striptags(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("striptags", arguments, {});
  const std::string text = to_text(evaluator.budget(), self);
  evaluator.budget().spend_bytes(text.size() * 4);
  return make_text(unescape_html(collapse_space(without_tags(text))));
}

Value filter_urlencode(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("urlencode", arguments, {});
  Budget& budget = evaluator.budget();
  if (self.is_text() || !is_iterable(self)) return make_text(url_quote(budget, to_text(budget, self), "/", false));
  const Value pairs = self.is_dict() ? make_object<DictView>(self, DictView::Part::kItems) : self;
  std::string out;
  for (const Value& pair : iterate(budget, pairs)) {
    const auto parts = iterate(budget, pair);
    if (parts.size() != 2) raise("`urlencode` needs pairs");
    const std::string key = url_quote(budget, to_text(budget, parts[0]), "", true);
    const std::string value = url_quote(budget, to_text(budget, parts[1]), "", true);
    out += (out.empty() ? "" : "&") + key + "=" + value;
    budget.spend_bytes(out.size() / 16);
  }
  return make_text(std::move(out));
}

// Texts without anything that looks like a link pass; making links is not for prompts.
Value filter_urlize(Evaluator& evaluator, const Value& self, const Arguments&) {
  const std::string text = to_text(evaluator.budget(), self);
  evaluator.budget().spend_bytes(text.size() * 5);
  for (size_t dot = text.find('.'); dot != std::string::npos; dot = text.find('.', dot + 1)) {
    const auto letter = [&](size_t i) { return i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])); };
    if (letter(dot + 1) && letter(dot + 2)) raise("`urlize` is not offered for texts with links");
  }
  return make_text(escape_html(text));
}

Value filter_xmlattr(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("xmlattr", arguments, {"autospace"});
  if (!self.is_dict()) raise("`xmlattr` needs a dict, not `" + type_name(self) + "`");
  std::string out;
  for (const auto& [key, value] : self.dict().entries) {
    if (value.is_none() || value.is_undefined()) continue;
    const std::string name = to_text(evaluator.budget(), key);
    if (name.find_first_of(" \t\n\f\r/>=") != std::string::npos) raise("not a name of an attribute: `" + name + "`");
    out += (out.empty() ? "" : " ") + escape_html(name) + "=\"" + escaped(evaluator.budget(), value) + "\"";
    evaluator.budget().spend_bytes(out.size() / 16);
  }
  if (truth_or(bound[0], true) && !out.empty()) out.insert(0, " ");
  return make_text(std::move(out), evaluator.autoescape());
}

Value filter_pprint(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("pprint", arguments, {});
  Value shown = self;
  if (self.is_dict()) {
    auto entries = self.dict().entries;
    std::stable_sort(entries.begin(), entries.end(),
                     [&](const auto& a, const auto& b) { return less(evaluator.budget(), a.first, b.first); });
    shown = make_dict(std::move(entries));
  }
  std::string text = to_repr(evaluator.budget(), shown);
  if (count_characters(text) > 80) raise("`pprint` is not offered for values of more than one line");
  return make_text(std::move(text));
}

Value filter_default(Evaluator&, const Value& self, const Arguments& arguments) {
  const auto bound = bind("default", arguments, {"default_value", "boolean"});
  const bool replaces = self.is_undefined() || (truth_or(bound[1], false) && !truthy(self));
  if (!replaces) return self;
  return bound[0] != nullptr ? *bound[0] : make_text("");
}

Value filter_attr(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("attr", arguments, {"name"}, 1);
  const std::string name = to_text(evaluator.budget(), *bound[0]);
  const bool is_data = self.is_dict() && find_method(self, name) == nullptr;
  // The attribute alone, never the data of a dict.
  return is_data ? make_undefined("`dict` has no such attribute") : get_attribute(evaluator, self, name);
}

}  // namespace scratchy::jinja
