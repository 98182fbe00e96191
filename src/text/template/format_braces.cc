// `'{:>5}'.format(x)`.
#include <optional>

#include "text/template/access.h"
#include "text/template/bind.h"
#include "text/template/characters.h"
#include "text/template/evaluate.h"
#include "text/template/format.h"
#include "text/template/numbers.h"
#include "text/template/print.h"

namespace scratchy::jinja {
namespace {

int digits_at(const std::u32string& text, size_t& at, Integer& out) {
  int count = 0;
  for (out = 0; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++count) {
    out = out * 10 + static_cast<Integer>(text[at] - '0');
    if (out > static_cast<Integer>(kMaxTextBytes)) raise("a width of more than 64 MiB");
  }
  return count;
}

bool is_align(char32_t c) { return c == '<' || c == '>' || c == '^' || c == '='; }

FormatSpec parse_spec(const std::string& source) {
  const std::u32string text = decode_utf8(source);
  FormatSpec spec;
  size_t at = 0;
  const auto take = [&](char32_t c) { return at < text.size() && text[at] == c ? (++at, true) : false; };
  if (text.size() > 1 && is_align(text[1])) {
    spec.fill = text[0];
    spec.align = static_cast<char>(text[1]);
    at = 2;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = static_cast<char>(text[at++]);
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' ')) spec.sign = static_cast<char>(text[at++]);
  spec.alternate = take('#');
  if (at < text.size() && text[at] == '0') {
    ++at;
    if (spec.align == 0) spec.align = '=', spec.fill = '0';
  }
  digits_at(text, at, spec.width);
  if (take(',')) spec.group = ',';
  else if (take('_')) spec.group = '_';
  if (take('.')) {
    Integer precision = 0;
    if (digits_at(text, at, precision) == 0) raise("a format needs digits after its `.`");
    if (precision > kMaxPrecision) raise("a precision of more than 300 digits");
    spec.precision = static_cast<int>(precision);
  }
  if (at < text.size()) spec.type = text[at] < 0x80 ? static_cast<char>(text[at++]) : '?';
  if (at != text.size()) raise("not a format: `" + source + "`");
  return spec;
}

class BraceFormatter {
 public:
  BraceFormatter(Evaluator& evaluator, const Arguments& arguments, const Dict* mapping)
      : evaluator_(evaluator), budget_(evaluator.budget()), arguments_(arguments), mapping_(mapping) {}

  std::string format(std::string_view text, int level) {
    if (level > 1) raise("a format nests too deep");
    std::string out;
    while (!text.empty()) {
      const size_t at = text.find_first_of("{}");
      out += text.substr(0, at);
      if (at == std::string_view::npos) break;
      if (at + 1 < text.size() && text[at + 1] == text[at]) {
        out.push_back(text[at]);
        text.remove_prefix(at + 2);
        continue;
      }
      if (text[at] == '}') raise("a single `}` stands in the format");
      const size_t end = field_end(text, at + 1);
      out += format_field(text.substr(at + 1, end - at - 1), level);
      budget_.spend_bytes(out.size() / 16);
      text.remove_prefix(end + 1);
    }
    return out;
  }

 private:
  static size_t field_end(std::string_view text, size_t at) {
    int open = 1;
    for (; at < text.size(); ++at) {
      if (text[at] == '{') ++open;
      if (text[at] == '}' && --open == 0) return at;
    }
    raise("a `{` in the format is not closed");
  }

  std::string format_field(std::string_view field, int level) {
    const size_t name_end = std::min(field.find_first_of("!:"), field.size());
    const Value value = resolve(field.substr(0, name_end));
    std::string_view rest = field.substr(name_end);
    char conversion = 0;
    if (rest.starts_with('!')) {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':')) raise("a format's `!` needs one letter");
      conversion = rest[1];
      rest.remove_prefix(2);
    }
    const std::string spec = rest.empty() ? "" : format(rest.substr(1), level + 1);
    if (conversion == 0) return format_value(value, spec);
    if (conversion == 's') return format_value(make_text(to_text(budget_, value)), spec);
    if (conversion != 'r' && conversion != 'a') raise("a format's `!` takes s, r or a");
    return format_value(make_text(to_repr(budget_, value)), spec);
  }

  Value first(std::string_view name) {
    const bool number = name.find_first_not_of("0123456789") == std::string_view::npos && name.size() < 9;
    if (!number) {
      if (mapping_ != nullptr) {
        if (const Value* value = mapping_->find(name)) return *value;
      }
      for (const auto& [key, value] : arguments_.named) {
        if (key == name) return value;
      }
      raise("the format finds no value for `" + std::string(name) + "`");
    }
    const size_t index = name.empty() ? automatic_++ : static_cast<size_t>(std::stoi(std::string(name)));
    if (index >= arguments_.positional.size()) raise("the format has too few values");
    return arguments_.positional[index];
  }

  Value resolve(std::string_view path) {
    const size_t end = std::min(path.find_first_of(".["), path.size());
    Value value = first(path.substr(0, end));
    path.remove_prefix(end);
    while (!path.empty()) {
      budget_.spend(1);
      if (path[0] == '.') {
        const size_t stop = std::min(path.find_first_of(".[", 1), path.size());
        value = get_attribute(evaluator_, value, path.substr(1, stop - 1));
        path.remove_prefix(stop);
        continue;
      }
      const size_t stop = path.find(']');
      if (path[0] != '[' || stop == std::string_view::npos) raise("not a field of a format: `" + std::string(path) + "`");
      const std::string key(path.substr(1, stop - 1));
      const bool number = !key.empty() && key.size() < 9 && key.find_first_not_of("0123456789") == std::string::npos;
      value = get_item(evaluator_, value, number ? Value(std::stoi(key)) : make_text(key));
      path.remove_prefix(stop + 1);
    }
    return value;
  }

  std::string format_value(const Value& value, const std::string& source) {
    if (source.empty()) return to_text(budget_, value);
    FormatSpec spec = parse_spec(source);
    if (value.is_number()) return format_number(budget_, value, spec);
    if (value.is_undefined()) raise_undefined(value);
    if (!value.is_text() || (spec.type != 0 && spec.type != 's') || spec.align == '=') {
      raise("the format `" + source + "` does not take `" + type_name(value) + "`");
    }
    std::string text = value.bytes();
    if (spec.precision >= 0) text = encode_utf8(decode_utf8(text).substr(0, static_cast<size_t>(spec.precision)));
    return pad(budget_, text, spec, '<');
  }

  Evaluator& evaluator_;
  Budget& budget_;
  const Arguments& arguments_;
  const Dict* mapping_;
  size_t automatic_ = 0;
};

}  // namespace

Value format_braces(Evaluator& evaluator, const Value& format, const Arguments& arguments, const Dict* mapping) {
  evaluator.budget().spend_bytes(format.bytes().size());
  return text_like(format, BraceFormatter(evaluator, arguments, mapping).format(format.bytes(), 0));
}

}  // namespace scratchy::jinja
