// Methods of texts that search, split and classify. Places count characters, as Python's do.
#include <algorithm>

#include "text/template/bind.h"
#include "text/template/characters.h"
#include "text/template/evaluate.h"
#include "text/template/natives.h"
#include "text/template/operators.h"
#include "text/template/text_work.h"

namespace scratchy::jinja {
namespace {

constexpr size_t kNowhere = std::u32string::npos;

// The part of a text that `start` and `stop` leave, and where it begins. Empty optionals are the ends.
struct Window {
  std::u32string all;
  size_t start = 0, stop = 0;
  bool valid = true;  // false when start is past the end: even "" is not found there
  std::u32string_view view() const { return std::u32string_view(all).substr(start, stop - start); }
};

Window window_of(Evaluator& evaluator, const Value& self, const Value* start, const Value* stop) {
  evaluator.budget().spend_bytes(self.bytes().size() * 4);
  Window out;
  out.all = decode_utf8(self.bytes());
  const Integer size = static_cast<Integer>(out.all.size());
  const auto place = [&](const Value* value, Integer fallback) {
    const Integer index = integer_or_none(value, fallback);
    return std::max(index < 0 ? index + size : index, Integer{0});
  };
  const Integer from = place(start, 0), to = std::min(place(stop, size), size);
  out.valid = from <= to;
  out.start = static_cast<size_t>(std::min(from, to));
  out.stop = static_cast<size_t>(to);
  return out;
}

Value found(const Window& window, size_t at) { return at == kNowhere ? Value(-1) : Value(window.start + at); }

// find, rfind, index and rindex.
Value search(Evaluator& evaluator, const Value& self, const Arguments& arguments, bool last, bool must) {
  const auto bound = bind("find", arguments, {"sub", "start", "end"}, 1);
  const std::u32string part = decode_utf8(need_text(*bound[0], "find"));
  const Window window = window_of(evaluator, self, bound[1], bound[2]);
  evaluator.budget().spend(last ? part.size() / 8 : 0);
  const size_t at = !window.valid ? kNowhere : last ? window.view().rfind(part) : window.view().find(part);
  if (at == kNowhere && must) raise("the text is not found");
  return found(window, at);
}

// startswith and endswith: one text or a tuple of them.
Value has_edge(Evaluator& evaluator, const Value& self, const Arguments& arguments, bool at_start) {
  const auto bound = bind(at_start ? "startswith" : "endswith", arguments, {"edge", "start", "end"}, 1);
  const Window window = window_of(evaluator, self, bound[1], bound[2]);
  const auto matches = [&](const Value& edge) {
    const std::u32string text = decode_utf8(need_text(edge, "startswith"));
    return window.valid && (at_start ? window.view().starts_with(text) : window.view().ends_with(text));
  };
  if (!bound[0]->is(Kind::kTuple)) return matches(*bound[0]);
  return std::any_of(bound[0]->items().begin(), bound[0]->items().end(), matches);
}

std::vector<Value> split_by_space(const Value& self, Integer limit, bool from_right) {
  const std::u32string text = decode_utf8(self.bytes());
  std::vector<std::u32string> parts;
  std::u32string_view rest = text;
  const auto trim = [&] {
    while (!rest.empty() && is_space(from_right ? rest.back() : rest.front())) {
      from_right ? rest.remove_suffix(1) : rest.remove_prefix(1);
    }
  };
  for (trim(); !rest.empty(); trim()) {
    size_t size = 0;
    while (size < rest.size() && !is_space(from_right ? rest[rest.size() - 1 - size] : rest[size])) ++size;
    if (limit >= 0 && static_cast<Integer>(parts.size()) >= limit) {
      while (from_right ? is_space(rest.front()) : false) rest.remove_prefix(1);
      parts.emplace_back(rest);
      break;
    }
    parts.emplace_back(from_right ? rest.substr(rest.size() - size) : rest.substr(0, size));
    from_right ? rest.remove_suffix(size) : rest.remove_prefix(size);
  }
  if (from_right) std::reverse(parts.begin(), parts.end());
  std::vector<Value> out;
  for (const std::u32string& part : parts) out.push_back(text_like(self, encode_utf8(part)));
  return out;
}

std::vector<Value> split_by(const Value& self, const std::string& separator, Integer limit, bool from_right) {
  std::string_view rest = self.bytes();
  std::vector<Value> out;
  while (limit < 0 || static_cast<Integer>(out.size()) < limit) {
    const size_t at = from_right ? rest.rfind(separator) : rest.find(separator);
    if (at == std::string_view::npos) break;
    out.push_back(text_like(self, std::string(from_right ? rest.substr(at + separator.size()) : rest.substr(0, at))));
    rest = from_right ? rest.substr(0, at) : rest.substr(at + separator.size());
  }
  out.push_back(text_like(self, std::string(rest)));
  if (from_right) std::reverse(out.begin(), out.end());
  return out;
}

Value split_text(Evaluator& evaluator, const Value& self, const Arguments& arguments, bool from_right) {
  const auto bound = bind("split", arguments, {"sep", "maxsplit"});
  const Integer limit = integer_or(bound[1], -1);
  evaluator.budget().spend_bytes(self.bytes().size() * 8);
  std::vector<Value> parts;
  if (bound[0] == nullptr || bound[0]->is_none()) {
    parts = split_by_space(self, limit, from_right);
  } else {
    const std::string& separator = need_text(*bound[0], "split");
    if (separator.empty()) raise("`split` needs a separator that is not empty");
    parts = split_by(self, separator, limit, from_right);
  }
  evaluator.budget().spend(parts.size());
  return make_list(std::move(parts));
}

Value partition(Evaluator& evaluator, const Value& self, const Arguments& arguments, bool last) {
  const auto bound = bind("partition", arguments, {"sep"}, 1);
  const std::string& separator = need_text(*bound[0], "partition");
  if (separator.empty()) raise("`partition` needs a separator that is not empty");
  evaluator.budget().spend_bytes(self.bytes().size());
  const std::string& text = self.bytes();
  const size_t at = last ? text.rfind(separator) : text.find(separator);
  const Value none = text_like(self, "");
  if (at == std::string::npos) return last ? make_tuple({none, none, self}) : make_tuple({self, none, none});
  return make_tuple({text_like(self, text.substr(0, at)), text_like(self, separator),
                     text_like(self, text.substr(at + separator.size()))});
}

template <typename Test>
Value all_characters(Evaluator& evaluator, const Value& self, const Arguments& arguments, Test test, bool empty = false) {
  bind("is...", arguments, {});
  evaluator.budget().spend_bytes(self.bytes().size());
  const std::u32string text = decode_utf8(self.bytes());
  return text.empty() ? empty : std::all_of(text.begin(), text.end(), test);
}

Value apply_case_test(Evaluator& evaluator, const Value& self, const Arguments& arguments, std::string_view name) {
  bind(name, arguments, {});
  return evaluator.apply_test(name, self, {});
}

}  // namespace

Value text_find(Evaluator& e, const Value& s, const Arguments& a) { return search(e, s, a, false, false); }
Value text_rfind(Evaluator& e, const Value& s, const Arguments& a) { return search(e, s, a, true, false); }
Value text_index(Evaluator& e, const Value& s, const Arguments& a) { return search(e, s, a, false, true); }
Value text_rindex(Evaluator& e, const Value& s, const Arguments& a) { return search(e, s, a, true, true); }
Value text_startswith(Evaluator& e, const Value& s, const Arguments& a) { return has_edge(e, s, a, true); }
Value text_endswith(Evaluator& e, const Value& s, const Arguments& a) { return has_edge(e, s, a, false); }
Value text_split(Evaluator& e, const Value& s, const Arguments& a) { return split_text(e, s, a, false); }
Value text_rsplit(Evaluator& e, const Value& s, const Arguments& a) { return split_text(e, s, a, true); }
Value text_partition(Evaluator& e, const Value& s, const Arguments& a) { return partition(e, s, a, false); }
Value text_rpartition(Evaluator& e, const Value& s, const Arguments& a) { return partition(e, s, a, true); }
Value text_islower(Evaluator& e, const Value& s, const Arguments& a) { return apply_case_test(e, s, a, "lower"); }
Value text_isupper(Evaluator& e, const Value& s, const Arguments& a) { return apply_case_test(e, s, a, "upper"); }
Value text_isalpha(Evaluator& e, const Value& s, const Arguments& a) { return all_characters(e, s, a, is_alphabetic); }
Value text_isdigit(Evaluator& e, const Value& s, const Arguments& a) { return all_characters(e, s, a, is_digit); }
Value text_isdecimal(Evaluator& e, const Value& s, const Arguments& a) { return all_characters(e, s, a, is_decimal); }
Value text_isnumeric(Evaluator& e, const Value& s, const Arguments& a) { return all_characters(e, s, a, is_numeric); }
Value text_isalnum(Evaluator& e, const Value& s, const Arguments& a) { return all_characters(e, s, a, is_alphanumeric); }
Value text_isspace(Evaluator& e, const Value& s, const Arguments& a) { return all_characters(e, s, a, is_space); }
Value text_isprintable(Evaluator& e, const Value& s, const Arguments& a) { return all_characters(e, s, a, is_printable, true); }
Value text_isascii(Evaluator& e, const Value& s, const Arguments& a) {
  return all_characters(e, s, a, [](char32_t c) { return c < 0x80; }, true);
}

Value text_isidentifier(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bool first = true;
  return all_characters(evaluator, self, arguments, [&](char32_t c) {
    return std::exchange(first, false) ? is_name_start(c) || c == '_' : is_name_part(c);
  });
}

Value text_istitle(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  bind("istitle", arguments, {});
  evaluator.budget().spend_bytes(self.bytes().size());
  bool some = false, inside = false;
  for (char32_t c : decode_utf8(self.bytes())) {
    const bool capital = is_upper(c) || is_title(c);
    if ((capital && inside) || (is_lower(c) && !inside)) return false;
    inside = is_cased(c);
    some |= inside;
  }
  return some;
}

Value text_count(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("count", arguments, {"sub", "start", "end"}, 1);
  const std::u32string part = decode_utf8(need_text(*bound[0], "count"));
  const Window window = window_of(evaluator, self, bound[1], bound[2]);
  if (!window.valid) return 0;
  if (part.empty()) return window.view().size() + 1;
  size_t count = 0;
  for (size_t at = window.view().find(part); at != kNowhere; at = window.view().find(part, at + part.size())) ++count;
  return count;
}

Value text_splitlines(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto bound = bind("splitlines", arguments, {"keepends"});
  std::vector<Value> lines;
  for (std::string& line : split_lines(evaluator.budget(), self.bytes(), truth_or(bound[0], false))) {
    lines.push_back(text_like(self, std::move(line)));
  }
  return make_list(std::move(lines));
}

}  // namespace scratchy::jinja
