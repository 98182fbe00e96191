// Methods of texts that change or build texts.
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

using Mapping = std::u32string (*)(std::u32string_view);
Value mapped(Evaluator& evaluator, const Value& self, const Arguments& arguments, std::string_view name, Mapping mapping) {
  bind(name, arguments, {});
  evaluator.budget().spend_bytes(self.bytes().size() * 4);
  return text_like(self, encode_utf8(mapping(decode_utf8(self.bytes()))));
}

// The fill character of center, ljust and rjust.
char32_t fill_of(const Value* value) {
  if (value == nullptr) return ' ';
  const std::u32string text = decode_utf8(need_text(*value, "fill"));
  if (text.size() != 1) raise("the fill must be one character");
  return text[0];
}

Value justified(Evaluator& evaluator, const Value& self, const Arguments& arguments, char align) {
  const auto bound = bind("justify", arguments, {"width", "fillchar"}, 1);
  FormatSpec spec;
  spec.width = integer_or(bound[0], 0);
  spec.fill = fill_of(bound[1]);
  return text_like(self, pad(evaluator.budget(), self.bytes(), spec, align));
}

Value stripped(Evaluator& evaluator, const Value& self, const Arguments& arguments, bool left, bool right) {
  return strip_text(evaluator.budget(), self, bind("strip", arguments, {"chars"})[0], left, right);
}

}  // namespace

Value text_upper(Evaluator& e, const Value& s, const Arguments& a) { return mapped(e, s, a, "upper", to_upper); }
Value text_lower(Evaluator& e, const Value& s, const Arguments& a) { return mapped(e, s, a, "lower", to_lower); }
Value text_title(Evaluator& e, const Value& s, const Arguments& a) { return mapped(e, s, a, "title", to_titled); }
Value text_capitalize(Evaluator& e, const Value& s, const Arguments& a) { return mapped(e, s, a, "capitalize", to_capitalized); }
Value text_swapcase(Evaluator& e, const Value& s, const Arguments& a) { return mapped(e, s, a, "swapcase", to_swapped); }
Value text_casefold(Evaluator& e, const Value& s, const Arguments& a) { return mapped(e, s, a, "casefold", to_folded); }
Value text_strip(Evaluator& e, const Value& s, const Arguments& a) { return stripped(e, s, a, true, true); }
Value text_lstrip(Evaluator& e, const Value& s, const Arguments& a) { return stripped(e, s, a, true, false); }
Value text_rstrip(Evaluator& e, const Value& s, const Arguments& a) { return stripped(e, s, a, false, true); }
Value text_ljust(Evaluator& e, const Value& s, const Arguments& a) { return justified(e, s, a, '<'); }
Value text_rjust(Evaluator& e, const Value& s, const Arguments& a) { return justified(e, s, a, '>'); }

Value text_center(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("center", arguments, {"width", "fillchar"}, 1);
  return text_like(self, center_text(evaluator.budget(), self.bytes(), integer_or(bound[0], 0), fill_of(bound[1])));
}

Value text_zfill(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("zfill", arguments, {"width"}, 1);
  const bool sign = self.bytes().starts_with('-') || self.bytes().starts_with('+');
  FormatSpec spec;
  spec.width = subtract_widths(integer_or(bound[0], 0), sign ? 1 : 0);
  spec.fill = '0';
  const std::string digits = pad(evaluator.budget(), self.bytes().substr(sign ? 1 : 0), spec, '>');
  return text_like(self, self.bytes().substr(0, sign ? 1 : 0) + digits);
}

Value text_expandtabs(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("expandtabs", arguments, {"tabsize"});
  const size_t size = width_of(integer_or(bound[0], 8));
  evaluator.budget().spend_bytes(self.bytes().size());
  std::string out;
  size_t column = 0;
  for (char32_t c : decode_utf8(self.bytes())) {
    if (c == '\t') {
      const size_t width = size == 0 ? 0 : size - column % size;
      evaluator.budget().spend_bytes(out.size() / 64 + width);
      if (out.size() + width > kMaxTextBytes) raise("the template makes a text of more than 64 MiB");
      out.append(width, ' ');
      column += width;
    } else {
      append_utf8(out, c);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return text_like(self, std::move(out));
}

Value text_replace(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  if (!arguments.named.empty()) raise("`replace` takes no named arguments");
  const auto bound = bind("replace", arguments, {"old", "new", "count"}, 2);
  const Integer count = integer_or(bound[2], -1);
  need_text(*bound[0], "replace");
  need_text(*bound[1], "replace");
  const bool safe = self.text().safe;
  const auto part = [&](const Value& value) { return safe ? escaped(evaluator.budget(), value) : value.bytes(); };
  return text_like(self, replace_text(evaluator.budget(), self.bytes(), part(*bound[0]), part(*bound[1]), count));
}

Value text_removeprefix(Evaluator&, const Value& self, const Arguments& arguments) {
  const std::string& prefix = need_text(*bind("removeprefix", arguments, {"prefix"}, 1)[0], "removeprefix");
  return self.bytes().starts_with(prefix) ? text_like(self, self.bytes().substr(prefix.size())) : self;
}

Value text_removesuffix(Evaluator&, const Value& self, const Arguments& arguments) {
  const std::string& suffix = need_text(*bind("removesuffix", arguments, {"suffix"}, 1)[0], "removesuffix");
  return self.bytes().ends_with(suffix) ? text_like(self, self.bytes().substr(0, self.bytes().size() - suffix.size())) : self;
}

Value text_join(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("join", arguments, {"iterable"}, 1);
  if (bound[0]->is_undefined()) return make_text("");
  Budget& budget = evaluator.budget();
  std::string out;
  bool first = true;
  for (const Value& item : iterate(budget, *bound[0])) {
    const std::string text = self.text().safe ? escaped(budget, item) : need_text(item, "join");
    budget.spend_bytes(self.bytes().size() + text.size());
    if (out.size() + self.bytes().size() + text.size() > kMaxTextBytes) raise("the template makes a text of more than 64 MiB");
    if (!std::exchange(first, false)) out += self.bytes();
    out += text;
  }
  return text_like(self, std::move(out));
}

Value text_format(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return format_braces(evaluator, self, arguments, nullptr);
}

Value text_format_map(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("format_map", arguments, {"mapping"}, 1);
  if (!bound[0]->is_dict()) raise("`format_map` needs a dict, not `" + type_name(*bound[0]) + "`");
  return format_braces(evaluator, self, {}, &bound[0]->dict());
}

Value text_encode(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("encode", arguments, {"encoding", "errors"});
  const std::string encoding = bound[0] != nullptr ? lower_utf8(need_text(*bound[0], "encode")) : "utf-8";
  if (encoding != "utf-8" && encoding != "utf8") raise("`encode` knows utf-8 alone");
  evaluator.budget().spend_bytes(self.bytes().size());
  return make_object<ByteString>(self.bytes());
}

Value text_translate(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("translate", arguments, {"table"}, 1);
  if (!bound[0]->is_dict()) raise("`translate` needs a dict, not `" + type_name(*bound[0]) + "`");
  std::string out;
  for (char32_t c : decode_utf8(self.bytes())) {
    const Value* to = look_up(evaluator.budget(), bound[0]->dict(), static_cast<Integer>(c));
    if (to == nullptr) {
      append_utf8(out, c);
    } else if (to->is(Kind::kInteger)) {
      FormatSpec spec;
      spec.type = 'c';
      out += format_number(evaluator.budget(), *to, spec);
    } else if (!to->is_none()) {
      out += need_text(*to, "translate");
    }
    evaluator.budget().spend_bytes(out.size() / 64);
  }
  return text_like(self, std::move(out));
}

}  // namespace scratchy::jinja
