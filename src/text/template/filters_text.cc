// Filters on texts.
#include <algorithm>

#include "text/template/bind.h"
#include "text/template/characters.h"
#include "text/template/evaluate.h"
#include "text/template/format.h"
#include "text/template/natives.h"
#include "text/template/operators.h"
#include "text/template/print.h"
#include "text/template/text_work.h"

namespace scratchy::jinja {
namespace {

// soft_str: a text as it is, all else by str().
Value as_text(Evaluator& evaluator, const Value& value) {
  return value.is_text() ? value : make_text(to_text(evaluator.budget(), value));
}

std::u32string characters(Evaluator& evaluator, const Value& text) {
  evaluator.budget().spend_bytes(text.bytes().size());
  return decode_utf8(text.bytes());
}

using Mapping = std::u32string (*)(std::u32string_view);
Value mapped(Evaluator& evaluator, const Value& self, const Arguments& arguments, std::string_view name, Mapping mapping) {
  bind(name, arguments, {});
  const Value text = as_text(evaluator, self);
  return text_like(text, encode_utf8(mapping(characters(evaluator, text))));
}

// Words start after white space, hyphens and opening brackets; the separators stay.
std::u32string title_words(std::u32string_view text) {
  std::u32string out;
  size_t at = 0;
  const auto separates = [](char32_t c) {
    return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  };
  while (at < text.size()) {
    size_t end = at;
    const bool separator = separates(text[at]);
    while (end < text.size() && separates(text[end]) == separator) ++end;
    out += to_upper(text.substr(at, 1)) + to_lower(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return out;
}

}  // namespace

Value filter_upper(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return mapped(evaluator, self, arguments, "upper", to_upper);
}
Value filter_lower(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return mapped(evaluator, self, arguments, "lower", to_lower);
}
Value filter_capitalize(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return mapped(evaluator, self, arguments, "capitalize", to_capitalized);
}
Value filter_title(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return mapped(evaluator, self, arguments, "title", title_words);
}

Value filter_string(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("string", arguments, {});
  return as_text(evaluator, self);
}

Value filter_trim(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("trim", arguments, {"chars"});
  return strip_text(evaluator.budget(), as_text(evaluator, self), bound[0], true, true);
}

Value filter_replace(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("replace", arguments, {"old", "new", "count"}, 2);
  Budget& budget = evaluator.budget();
  const auto part = [&](const Value& value) { return evaluator.autoescape() ? escaped(budget, value) : to_text(budget, value); };
  const Integer count = integer_or_none(bound[2], -1);
  return make_text(replace_text(budget, part(self), part(*bound[0]), part(*bound[1]), count), evaluator.autoescape());
}

Value filter_center(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("center", arguments, {"width"});
  const Value text = as_text(evaluator, self);
  return text_like(text, center_text(evaluator.budget(), text.bytes(), integer_or(bound[0], 80), ' '));
}

Value filter_indent(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("indent", arguments, {"width", "first", "blank"});
  const std::string& text = need_text(self, "indent");
  Budget& budget = evaluator.budget();
  std::string indention;
  if (bound[0] != nullptr && bound[0]->is_text()) {
    indention = bound[0]->bytes();
  } else {
    const size_t width = width_of(integer_or(bound[0], 4));
    budget.spend_bytes(width);
    indention.assign(width, ' ');
  }
  const bool first = truth_or(bound[1], false), blank = truth_or(bound[2], false);
  const std::vector<std::string> lines = split_lines(budget, text + "\n", false);
  budget.spend_product(indention.size() + 1, lines.size());
  std::string out = first ? indention : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += "\n";
    if (i > 0 && (blank || !lines[i].empty())) out += indention;
    out += lines[i];
  }
  return text_like(self, std::move(out));
}

Value filter_truncate(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const Integer length = integer_or(bound[0], 255), leeway = integer_or_none(bound[3], 5);
  const std::u32string end = decode_utf8(bound[2] != nullptr ? need_text(*bound[2], "truncate") : "...");
  const Integer end_length = static_cast<Integer>(end.size());
  if (length < end_length) raise("`truncate` needs a length of at least its end's");
  if (leeway < 0) raise("`truncate` needs a leeway of at least 0");
  if (!self.is_text() && static_cast<Integer>(length_of(self)) <= add_widths(length, leeway)) return self;
  need_text(self, "truncate");
  const std::u32string text = characters(evaluator, self);
  if (static_cast<Integer>(text.size()) <= add_widths(length, leeway)) return self;
  std::u32string kept = text.substr(0, static_cast<size_t>(length - end_length));
  if (!truth_or(bound[1], false)) kept = kept.substr(0, kept.rfind(U' '));
  return text_like(self, encode_utf8(kept + end));
}

Value filter_wordcount(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("wordcount", arguments, {});
  size_t count = 0;
  bool inside = false;
  for (char32_t c : characters(evaluator, as_text(evaluator, self))) {
    const bool word = is_alphanumeric(c) || c == '_';
    if (word && !inside) ++count;
    inside = word;
  }
  return count;
}

Value filter_wordwrap(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("wordwrap", arguments, {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  need_text(self, "wordwrap");
  const Integer width = integer_or(bound[0], 79);
  if (width <= 0) raise("`wordwrap` needs a width of at least 1");
  const bool given = bound[2] != nullptr && !bound[2]->is_none();
  const std::string separator = given ? need_text(*bound[2], "wordwrap") : "\n";
  const bool breaks = truth_or(bound[1], true), hyphens = truth_or(bound[3], true);
  return make_text(wrap_words(evaluator.budget(), self.bytes(), static_cast<size_t>(width), breaks, hyphens, separator));
}

Value filter_format(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) raise("`format` takes values by place or by name, not both");
  const Value text = as_text(evaluator, self);
  if (arguments.named.empty()) return format_percent(evaluator.budget(), text, make_tuple(arguments.positional));
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [name, value] : arguments.named) entries.emplace_back(make_text(name), value);
  return format_percent(evaluator.budget(), text, make_dict(std::move(entries)));
}

Value filter_join(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("join", arguments, {"d", "attribute"});
  Budget& budget = evaluator.budget();
  std::vector<Value> items = iterate(budget, self);
  if (bound[1] != nullptr && !bound[1]->is_none()) items = select_attribute(evaluator, std::move(items), *bound[1]);
  const bool escapes = evaluator.autoescape() &&
      ((bound[0] != nullptr && bound[0]->is_text() && bound[0]->text().safe) ||
       std::any_of(items.begin(), items.end(), [](const Value& v) { return v.is_text() && v.text().safe; }));
  const auto part = [&](const Value& value) { return escapes ? escaped(budget, value) : to_text(budget, value); };
  const std::string separator = bound[0] == nullptr ? "" : part(*bound[0]);
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += separator;
    const std::string text = part(items[i]);
    budget.spend_bytes(separator.size() + text.size());
    if (out.size() + text.size() > kMaxTextBytes) raise("the template makes a text of more than 64 MiB");
    out += text;
  }
  return make_text(std::move(out), escapes);
}

}  // namespace scratchy::jinja
