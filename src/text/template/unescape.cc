#include "text/template/unescape.h"

#include <array>

#include "base/text.h"
#include "text/template/characters.h"
#include "text/template/lexer.h"

namespace scratchy::jinja {
namespace {

struct NamedCharacter {
  std::string_view name;
  char32_t character;
};
// The names that templates spell out; the full list of Unicode is not worth its size.
constexpr std::array kNamed = {
    NamedCharacter{"BULLET", 0x2022},
    NamedCharacter{"EM DASH", 0x2014},
    NamedCharacter{"EN DASH", 0x2013},
    NamedCharacter{"HORIZONTAL ELLIPSIS", 0x2026},
    NamedCharacter{"NO-BREAK SPACE", 0xA0},
    NamedCharacter{"ZERO WIDTH SPACE", 0x200B},
    NamedCharacter{"ZERO WIDTH JOINER", 0x200D},
    NamedCharacter{"LEFT SINGLE QUOTATION MARK", 0x2018},
    NamedCharacter{"RIGHT SINGLE QUOTATION MARK", 0x2019},
    NamedCharacter{"LEFT DOUBLE QUOTATION MARK", 0x201C},
    NamedCharacter{"RIGHT DOUBLE QUOTATION MARK", 0x201D},
    NamedCharacter{"RIGHTWARDS ARROW", 0x2192},
    NamedCharacter{"CHECK MARK", 0x2713},
    NamedCharacter{"SPACE", 0x20},
    NamedCharacter{"LINE FEED", 0x0A},
    NamedCharacter{"DEGREE SIGN", 0xB0},
    NamedCharacter{"COPYRIGHT SIGN", 0xA9},
    NamedCharacter{"EURO SIGN", 0x20AC},
    NamedCharacter{"MIDDLE DOT", 0xB7},
    NamedCharacter{"LOWER ONE EIGHTH BLOCK", 0x2581},
    NamedCharacter{"FULLWIDTH VERTICAL LINE", 0xFF5C},
};

class Unescaper {
 public:
  Unescaper(std::string_view rest, int line) : rest_(rest), line_(line) {}

  std::string run() {
    while (!rest_.empty()) {
      const size_t backslash = rest_.find('\\');
      out_ += rest_.substr(0, backslash);
      if (backslash == std::string_view::npos || backslash + 1 == rest_.size()) break;
      const char escape = rest_[backslash + 1];
      rest_.remove_prefix(backslash + 2);
      read(escape);
    }
    return std::move(out_);
  }

 private:
  void read(char escape) {
    static constexpr std::string_view kFrom = "\\'\"abfnrtv";
    static constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
    if (const size_t at = kFrom.find(escape); at != std::string_view::npos) {
      out_.push_back(kTo[at]);
    } else if (escape == '\n') {
      return;
    } else if (escape >= '0' && escape <= '7') {
      read_octal(escape);
    } else if (escape == 'x' || escape == 'u' || escape == 'U') {
      read_hex(escape);
    } else if (escape == 'N') {
      read_name();
    } else {
      out_ += {'\\', escape};
    }
  }

  void read_octal(char first) {
    char32_t code = static_cast<char32_t>(first - '0');
    for (int i = 0; i < 2 && !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '7'; ++i) {
      code = code * 8 + static_cast<char32_t>(rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    append_utf8(out_, code);
  }

  void read_hex(char kind) {
    const size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
    const std::string_view text = rest_.substr(0, digits);
    if (text.size() < digits || text.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
      raise_at(line_, std::string("the escape `\\") + kind + "` needs " + std::to_string(digits) + " hex digits");
    }
    const auto code = static_cast<char32_t>(std::stoul(std::string(text), nullptr, 16));
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      raise_at(line_, "the escape of `" + std::string(text) + "` is not a character");
    }
    append_utf8(out_, code);
    rest_.remove_prefix(digits);
  }

  void read_name() {
    const size_t end = rest_.find('}');
    if (!rest_.starts_with('{') || end == std::string_view::npos) raise_at(line_, "the escape `\\N` needs a `{name}`");
    const std::string_view name = rest_.substr(1, end - 1);
    for (const NamedCharacter& named : kNamed) {
      if (named.name != name) continue;
      append_utf8(out_, named.character);
      return rest_.remove_prefix(end + 1);
    }
    raise_at(line_, "no character named `" + escape_for_message(name) + "`; write it itself or as `\\uXXXX`");
  }

  std::string_view rest_;
  const int line_;
  std::string out_;
};

}  // namespace

std::string unescape(std::string_view literal, int line) { return Unescaper(literal, line).run(); }

}  // namespace scratchy::jinja
