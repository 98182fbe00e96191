// Translates Oniguruma patterns (Ruby syntax, UTF-8) to PCRE2's, in one pass without recursion.
//
//   \s \S      Unicode White_Space, spelled out (PCRE2's own set has one character more)
//   \d \D \w   by property, as Oniguruma defines them
//   \v \uHHHH  the vertical tab; a character by number
//   [a[bc]]    a class inside a class is a union: its brackets are dropped
//
// Refused: what means something else to the two engines, or would let a file reach into PCRE2's own features.
#include <cctype>

#include "base/text.h"
#include "text/tokenizer/regex.h"

namespace scratchy {
namespace {

constexpr std::string_view kSpaceMembers =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
constexpr std::string_view kNonSpaceMembers =
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}"
    "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{d7ff}\\x{e000}-\\x{10ffff}";
constexpr std::string_view kWordMembers = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        TRY_STATUS(escape());
      } else if (class_depth_ > 0) {
        TRY_STATUS(class_member(c));
      } else if (c == '[') {
        TRY_STATUS(open_class());
      } else if (c == '(') {
        TRY_STATUS(group());
      } else {
        if (c == '+' && at_ == interval_end_) return refuse("a possessive interval `{n,m}+`");
        if (c == '}') interval_end_ = at_ + 1;
        out_.push_back(c);
        ++at_;
      }
    }
    if (class_depth_ > 0) return refuse("a class without its `]`");
    return std::move(out_);
  }

 private:
  Failure refuse(std::string_view what) const {
    return Failure("pattern `" + escape_for_message(pattern_) + "`: " + std::string(what) + " at byte " +
                   std::to_string(at_) + " is not supported");
  }
  char peek(size_t ahead) const { return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0'; }
  Status emit(std::string_view text, size_t consumed) {
    out_.append(text);
    at_ += consumed;
    return Done{};
  }
  Status members(std::string_view in_class, bool negated, size_t consumed) {
    if (class_depth_ > 0) return emit(in_class, consumed);
    return emit(std::string(negated ? "[^" : "[") + std::string(in_class) + "]", consumed);
  }

  Status escape() {
    const char c = peek(1);
    switch (c) {
      case 's': return members(kSpaceMembers, false, 2);
      case 'S': return class_depth_ > 0 ? members(kNonSpaceMembers, false, 2) : members(kSpaceMembers, true, 2);
      case 'd': return emit("\\p{Nd}", 2);
      case 'D': return emit("\\P{Nd}", 2);
      case 'w': return members(kWordMembers, false, 2);
      case 'W': return class_depth_ > 0 ? Status(refuse("`\\W` in a class")) : members(kWordMembers, true, 2);
      case 'v': return emit("\\x{b}", 2);
      case 'u': return number();
      case '\0':
        if (at_ + 1 >= pattern_.size()) return refuse("a `\\` at the end");
        return refuse("`\\` before NUL");
      case 'b': case 'B': case 'A': case 'z': case 'Z':
        if (class_depth_ > 0) return refuse("`\\" + std::string(1, c) + "` in a class");
        return emit(pattern_.substr(at_, 2), 2);
      case 'p': case 'P': case 'x': return braced();
      case 'n': case 'r': case 't': case 'f': case 'a': case 'e':
        return emit(pattern_.substr(at_, 2), 2);
    }
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      return refuse(c >= '1' && c <= '9' ? "a back-reference" : "escape `\\" + std::string(1, c) + "`");
    // An escaped character stands for itself; of a longer one only the first byte needs to be carried here.
    return static_cast<unsigned char>(c) < 0x80 ? emit(pattern_.substr(at_, 2), 2) : emit("", 1);
  }

  // `\p{L}`, `\x{1F}`, `\x1F`.
  Status braced() {
    if (peek(2) != '{') return emit(pattern_.substr(at_, 2), 2);
    const size_t end = pattern_.find('}', at_);
    if (end == pattern_.npos || end - at_ > 64) return refuse("a `{` without its `}`");
    return emit(pattern_.substr(at_, end + 1 - at_), end + 1 - at_);
  }

  Status number() {
    const std::string_view digits = pattern_.substr(at_ + 2, 4);
    if (digits.size() != 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos)
      return refuse("`\\u` without four digits");
    return emit("\\x{" + std::string(digits) + "}", 6);
  }

  Status open_class() {
    class_depth_ = 1;
    size_t consumed = peek(1) == '^' ? 2 : 1;
    TRY_STATUS(emit(pattern_.substr(at_, consumed), consumed));
    if (peek(0) == ']') return refuse("a class that starts with `]`");
    return Done{};
  }

  Status class_member(char c) {
    if (c == '[' && peek(1) == ':') {
      const size_t end = pattern_.find(":]", at_ + 2);
      if (end == pattern_.npos || end - at_ > 16) return refuse("`[:`");
      return emit(pattern_.substr(at_, end + 2 - at_), end + 2 - at_);
    }
    if (c == '[') {
      if (peek(1) == '^' || peek(1) == ']') return refuse("a class of this kind inside a class");
      if (++class_depth_ > 16) return refuse("a class nested so deep");
      return emit("", 1);
    }
    if (c == ']') return emit(--class_depth_ == 0 ? "]" : "", 1);
    if (c == '&' && peek(1) == '&') return refuse("an intersection of classes `&&`");
    return emit(pattern_.substr(at_, 1), 1);
  }

  Status group() {
    if (peek(1) == '*') return refuse("`(*`");
    if (peek(1) != '?') return emit("(", 1);
    static constexpr std::string_view kKnown[] = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:", "(?-i:", "(?i)", "(?-i)"};
    for (const std::string_view known : kKnown) {
      if (pattern_.substr(at_).starts_with(known)) return emit(known, known.size());
    }
    return refuse("a group that starts with `" + escape_for_message(pattern_.substr(at_, 4)) + "`");
  }

  std::string_view pattern_;
  size_t at_ = 0;
  size_t class_depth_ = 0;
  size_t interval_end_ = 0;  // past the last `}` that is not of an escape
  std::string out_;
};

}  // namespace

Result<std::string> translate_regex(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace scratchy
