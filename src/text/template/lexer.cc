#include "text/template/lexer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "text/template/characters.h"
#include "text/template/numbers.h"
#include "text/template/unescape.h"

namespace scratchy::jinja {
namespace {

std::string normalize_lines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
    } else {
      out.push_back('\n');
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

size_t leading_space(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const std::string_view next = text.substr(at, 4);
    const unsigned char lead = static_cast<unsigned char>(next[0]);
    const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (!is_space(decode_utf8(next.substr(0, length))[0])) break;
    at += std::min(length, next.size());
  }
  return at;
}

std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty()) {
    size_t start = text.size() - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
    if (!is_space(decode_utf8(text.substr(start))[0])) break;
    text = text.substr(0, start);
  }
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)), rest_(source_) {}

  std::vector<Token> run() {
    while (!rest_.empty()) read_data();
    push(TokenKind::kEnd);
    return std::move(tokens_);
  }

 private:
  // Moves over `bytes`, counting lines.
  void advance(size_t bytes) {
    line_ += static_cast<int>(std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(bytes), '\n'));
    if (bytes > 0) at_line_start_ = rest_[bytes - 1] == '\n';
    rest_.remove_prefix(bytes);
  }
  void advance_space() { advance(leading_space(rest_)); }

  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    advance(text.size());
    return true;
  }

  void push(TokenKind kind, std::string text = "", Value value = {}) {
    tokens_.push_back({kind, std::move(text), std::move(value), line_});
  }

  // The text before a tag: `sign` is what stands behind the tag's opening, `outputs` whether it is {{.
  void push_data(std::string_view text, char sign, bool outputs) {
    if (sign == '-') {
      text = without_trailing_space(text);
    } else if (sign != '+' && !outputs) {
      const size_t newline = text.rfind('\n');
      const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
      const bool line_starts = start > 0 || at_line_start_;
      if (line_starts && start < text.size() && leading_space(text.substr(start)) == text.size() - start) {
        text = text.substr(0, start);
      }
    }
    if (!text.empty()) push(TokenKind::kData, std::string(text));
  }

  static char sign_of(std::string_view text) {
    return !text.empty() && (text[0] == '-' || text[0] == '+') ? text[0] : ' ';
  }

  void read_data() {
    size_t at = 0;
    while (true) {
      at = rest_.find('{', at);
      if (at == std::string_view::npos || at + 1 >= rest_.size()) {
        push(TokenKind::kData, std::string(rest_));
        return advance(rest_.size());
      }
      if (rest_[at + 1] == '{' || rest_[at + 1] == '%' || rest_[at + 1] == '#') break;
      ++at;
    }
    const char mark = rest_[at + 1];
    const char sign = sign_of(rest_.substr(at + 2));
    push_data(rest_.substr(0, at), sign, mark == '{');
    advance(at);
    if (mark == '#') return read_comment();
    if (mark == '%' && read_raw()) return;
    advance(2 + (sign == ' ' ? 0 : 1));
    push(mark == '{' ? TokenKind::kOutputBegin : TokenKind::kBlockBegin);
    read_tag(mark == '{');
  }

  void read_comment() {
    const int line = line_;
    const size_t end = rest_.find("#}", 2);
    if (end == std::string_view::npos) raise_at(line, "a comment is not closed; `#}` is missing");
    const char sign = end > 2 ? rest_[end - 1] : ' ';
    advance(end + 2);
    close_tag(sign, true);
  }

  // What follows the end of a tag: "-" takes all white space, a block takes one line end unless "+" keeps it.
  void close_tag(char sign, bool trims_line) {
    if (sign == '-') return advance_space();
    if (trims_line && sign != '+' && rest_.starts_with('\n')) advance(1);
  }

  // `{% raw %} ... {% endraw %}`; false when the tag is another.
  bool read_raw() {
    std::string_view tag = rest_.substr(2);
    if (sign_of(tag) != ' ') tag.remove_prefix(1);
    tag.remove_prefix(leading_space(tag));
    if (!tag.starts_with("raw")) return false;
    tag.remove_prefix(3);
    tag.remove_prefix(leading_space(tag));
    const bool trims = tag.starts_with("-%}");
    if (!trims && !tag.starts_with("%}")) return false;
    tag.remove_prefix(trims ? 3 : 2);
    const int line = line_;
    advance(rest_.size() - tag.size());
    if (trims) advance_space();
    read_raw_text(line);
    return true;
  }

  void read_raw_text(int line) {
    if (rest_.empty()) return;  // Jinja lets a raw block stand open at the very end
    for (size_t at = rest_.find("{%"); at != std::string_view::npos; at = rest_.find("{%", at + 1)) {
      std::string_view tag = rest_.substr(at + 2);
      const char open_sign = sign_of(tag);
      if (open_sign != ' ') tag.remove_prefix(1);
      tag.remove_prefix(leading_space(tag));
      if (!tag.starts_with("endraw")) continue;
      tag.remove_prefix(6);
      tag.remove_prefix(leading_space(tag));
      const char close_sign = sign_of(tag);
      if (close_sign != ' ') tag.remove_prefix(1);
      if (!tag.starts_with("%}")) continue;
      push_data(rest_.substr(0, at), open_sign, false);
      advance(rest_.size() - tag.size() + 2);
      return close_tag(close_sign, true);
    }
    raise_at(line, "a raw block is not closed; `{% endraw %}` is missing");
  }

  void read_tag(bool outputs) {
    const std::string_view end = outputs ? "}}" : "%}";
    brackets_.clear();
    while (true) {
      if (brackets_.empty()) {
        const char sign = sign_of(rest_);
        const bool signed_end = (sign == '-' || (sign == '+' && !outputs)) && rest_.substr(1).starts_with(end);
        if (signed_end || rest_.starts_with(end)) {
          push(outputs ? TokenKind::kOutputEnd : TokenKind::kBlockEnd);
          advance(signed_end ? 3 : 2);
          return close_tag(signed_end ? sign : ' ', !outputs);
        }
      }
      if (rest_.empty()) return;
      if (const size_t space = leading_space(rest_); space > 0) {
        advance(space);
      } else {
        read_token();
      }
    }
  }

  void read_token() {
    const char c = rest_[0];
    if (c == '\'' || c == '"') return read_string(c);
    if (c >= '0' && c <= '9') return read_number();
    size_t name = 0;
    std::u32string characters = decode_utf8(rest_.substr(0, 4));
    if (is_name_start(characters[0]) || c == '_') {
      while (name < rest_.size()) {
        const std::string_view next = rest_.substr(name, 4);
        const char32_t character = decode_utf8(next)[0];
        if (!is_name_part(character)) break;
        std::string encoded;
        append_utf8(encoded, character);
        name += encoded.size();
      }
      push(TokenKind::kName, std::string(rest_.substr(0, name)));
      return advance(name);
    }
    read_operator();
  }

  void read_operator() {
    static constexpr std::array<std::string_view, 27> kOperators = {
        "**", "//", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "[", "]",
        "(",  ")",  "{",  "}",  ">",  "<",  "=", ".", ":", "|", ",", ";", "",
    };
    for (std::string_view op : kOperators) {
      if (op.empty() || !rest_.starts_with(op)) continue;
      balance(op[0]);
      push(TokenKind::kOperator, std::string(op));
      return advance(op.size());
    }
    raise_at(line_, "unexpected character `" + escape_for_message(rest_.substr(0, 1)) + "`");
  }

  void balance(char c) {
    if (c == '(') brackets_.push_back(')');
    if (c == '[') brackets_.push_back(']');
    if (c == '{') brackets_.push_back('}');
    if (c != ')' && c != ']' && c != '}') return;
    if (brackets_.empty()) raise_at(line_, std::string("unexpected `") + c + "`");
    if (brackets_.back() != c) {
      raise_at(line_, std::string("unexpected `") + c + "`, expected `" + brackets_.back() + "`");
    }
    brackets_.pop_back();
  }

  void read_string(char quote) {
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != quote) end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) raise_at(line_, "a text that starts with " + std::string(1, quote) + " is not closed");
    push(TokenKind::kText, unescape(rest_.substr(1, end - 1), line_));
    advance(end + 1);
  }

  // The digits from `at`, single underscores between them.
  size_t digits_end(size_t at, std::string_view allowed) const {
    size_t end = at;
    while (end < rest_.size()) {
      const bool joins = rest_[end] == '_' && end > at && end + 1 < rest_.size() &&
                         allowed.find(rest_[end + 1]) != std::string_view::npos;
      if (allowed.find(rest_[end]) == std::string_view::npos && !joins) break;
      ++end;
    }
    return end;
  }

  // Bytes of a float at the front, 0 when there is none; none directly behind a dot (`a.1.0`).
  size_t float_end() const {
    static constexpr std::string_view kDigits = "0123456789";
    if (!tokens_.empty() && tokens_.back().is_operator(".") && rest_.data()[-1] == '.') return 0;
    const size_t whole = digits_end(0, kDigits);
    size_t end = whole;
    if (end + 1 < rest_.size() && rest_[end] == '.' && digits_end(end + 1, kDigits) > end + 1) {
      end = digits_end(end + 1, kDigits);
    }
    if (end < rest_.size() && (rest_[end] | 0x20) == 'e') {
      size_t exponent = end + 1;
      if (exponent < rest_.size() && (rest_[exponent] == '+' || rest_[exponent] == '-')) ++exponent;
      const size_t exponent_end = digits_end(exponent, kDigits);
      if (exponent_end > exponent) end = exponent_end;
    }
    return end > whole ? end : 0;
  }

  size_t integer_end() const {
    const char mark = rest_.size() > 2 && rest_[0] == '0' ? static_cast<char>(rest_[1] | 0x20) : ' ';
    const std::string_view allowed = mark == 'x' ? "0123456789abcdefABCDEF" : mark == 'o' ? "01234567" : mark == 'b' ? "01" : "";
    if (!allowed.empty()) {
      const size_t start = rest_[2] == '_' ? 3 : 2;
      if (const size_t end = digits_end(start, allowed); end > start) return end;
    }
    return digits_end(0, rest_[0] == '0' ? "0" : "0123456789");
  }

  void read_number() {
    if (const size_t end = float_end(); end > 0) {
      const auto value = parse_float(rest_.substr(0, end));
      if (!value) raise_at(line_, "not a number: `" + escape_for_message(rest_.substr(0, end)) + "`");
      push(TokenKind::kFloat, std::string(rest_.substr(0, end)), *value);
      return advance(end);
    }
    const size_t end = integer_end();
    std::optional<Integer> value;
    try {
      value = parse_integer(rest_.substr(0, end), 0);
    } catch (const RenderError& error) {
      raise_at(line_, error.message);
    }
    if (!value) raise_at(line_, "not a number: `" + escape_for_message(rest_.substr(0, end)) + "`");
    push(TokenKind::kInteger, std::string(rest_.substr(0, end)), *value);
    advance(end);
  }

  const std::string source_;
  std::string_view rest_;
  int line_ = 1;
  bool at_line_start_ = true;
  std::string brackets_;
  std::vector<Token> tokens_;
};

}  // namespace

void raise_at(int line, const std::string& message) {
  throw RenderError{"line " + std::to_string(line) + ": " + message, true};
}

std::vector<Token> tokenize(std::string_view source) { return Lexer(normalize_lines(source)).run(); }

}  // namespace scratchy::jinja
