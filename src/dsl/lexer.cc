#include "dsl/lexer.h"

#include <cctype>
#include <cstdio>

#include "base/text.h"

namespace scratchy {
namespace {

enum class Form : uint8_t { kOther, kPunctuation, kKeyword };

struct TokenRow {
  Form form;
  std::string_view spelling;
};

constexpr TokenRow kRows[] = {
#define TOKEN(name, spelling) {Form::kOther, spelling},
#define PUNCTUATION(name, spelling) {Form::kPunctuation, spelling},
#define KEYWORD(name, spelling) {Form::kKeyword, spelling},
#include "dsl/token.def"
#undef TOKEN
#undef PUNCTUATION
#undef KEYWORD
};
constexpr int kRowCount = sizeof kRows / sizeof kRows[0];

bool name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool name_rest(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

// A code point and its length in bytes; the text is known to be UTF-8.
struct CodePoint {
  uint32_t value;
  uint32_t bytes;
};

CodePoint code_point(std::string_view text, size_t at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  if (lead < 0x80) return {lead, 1};
  const uint32_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  uint32_t value = lead & (0x7F >> bytes);
  for (uint32_t i = 1; i < bytes; ++i) value = value << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3F);
  return {value, bytes};
}

// Characters that hide what a text says: controls, bidirectional marks, zero-width ones, the byte order mark.
bool hidden(uint32_t c) {
  if (c < 0x20) return c != '\n' && c != '\t' && c != '\r';
  return (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
}

class Lexer {
 public:
  Lexer(const SourceFile& file, bool keep_comments, Diagnostics& diagnostics)
      : file_(file), text_(file.text), keep_comments_(keep_comments), diagnostics_(diagnostics) {}

  std::vector<Token> run() {
    if (check_text()) {
      const size_t before = diagnostics_.size();
      while (at_ < text_.size() && diagnostics_.size() - before < kMaxErrors) step();
      if (at_ < text_.size()) at_ = static_cast<uint32_t>(text_.size());
    } else {
      at_ = static_cast<uint32_t>(text_.size());
    }
    tokens_.push_back({TokenKind::kEnd, {&file_, at_, at_}});
    return std::move(tokens_);
  }

 private:
  // Whole-text rules: size, encoding, no hidden characters.
  bool check_text() {
    if (text_.size() > kMaxTextBytes) {
      diagnostics_.add(DiagnosticKind::kTextTooLong, {&file_, 0, 0}, {{"bytes", with_thousands(text_.size())}, {"limit", with_thousands(kMaxTextBytes)}});
      return false;
    }
    if (!is_utf8(text_)) {
      diagnostics_.add(DiagnosticKind::kNotUtf8, {&file_, 0, 0}).suggest("save the file as UTF-8");
      return false;
    }
    int seen = 0;
    for (uint32_t i = 0; i < text_.size() && seen < kMaxHidden;) {
      const CodePoint c = code_point(text_, i);
      const bool lone_return = c.value == '\r' && (i + 1 >= text_.size() || text_[i + 1] != '\n');
      if (hidden(c.value) || lone_return) {
        report_character(DiagnosticKind::kHiddenCharacter, c, i);
        ++seen;
      }
      i += c.bytes;
    }
    return seen == 0;
  }

  void report_character(DiagnosticKind kind, CodePoint c, uint32_t at) {
    char name[16];
    std::snprintf(name, sizeof name, "U+%04X", c.value);
    diagnostics_.add(kind, {&file_, at, at + c.bytes}, {{"character", name}});
  }

  void push(TokenKind kind, uint32_t begin) { tokens_.push_back({kind, {&file_, begin, at_}}); }

  char peek(uint32_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void step() {
    const uint32_t begin = at_;
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else if (c == '/' && peek(1) == '/') {
      while (at_ < text_.size() && peek() != '\n') ++at_;
      while (at_ > begin && (text_[at_ - 1] == '\r' || text_[at_ - 1] == ' ' || text_[at_ - 1] == '\t')) --at_;
      if (keep_comments_) push(TokenKind::kComment, begin);
    } else if (name_start(c)) {
      word(begin);
    } else if (digit(c)) {
      number(begin);
    } else if (c == '"') {
      string(begin);
    } else {
      punctuation(begin);
    }
  }

  void word(uint32_t begin) {
    while (name_rest(peek())) ++at_;
    const std::string_view text = text_.substr(begin, at_ - begin);
    for (int i = 0; i < kRowCount; ++i) {
      if (kRows[i].form == Form::kKeyword && kRows[i].spelling == text) return push(static_cast<TokenKind>(i), begin);
    }
    push(TokenKind::kName, begin);
  }

  // 12, 1.5, 1e-6, 2.5e3; `0..4` is 0, `..`, 4.
  void number(uint32_t begin) {
    TokenKind kind = TokenKind::kInt;
    while (digit(peek())) ++at_;
    if (peek() == '.' && digit(peek(1))) {
      kind = TokenKind::kFloat;
      ++at_;
      while (digit(peek())) ++at_;
    }
    const uint32_t sign = peek(1) == '-' || peek(1) == '+' ? 2 : 1;
    if ((peek() == 'e' || peek() == 'E') && digit(peek(sign))) {
      kind = TokenKind::kFloat;
      at_ += sign;
      while (digit(peek())) ++at_;
    }
    if (name_rest(peek())) {
      while (name_rest(peek())) ++at_;
      diagnostics_.add(DiagnosticKind::kBadNumber, {&file_, begin, at_}, {{"text", std::string(text_.substr(begin, at_ - begin))}})
          .suggest("a name begins with a letter or `_`, a number is written like `12`, `0.5` or `1e-6`");
      return push(TokenKind::kInt, begin);
    }
    push(kind, begin);
  }

  // "..." on one line; \" and \\ are the only escapes.
  void string(uint32_t begin) {
    ++at_;
    while (at_ < text_.size() && peek() != '"' && peek() != '\n') at_ += peek() == '\\' && peek(1) != '\n' && at_ + 1 < text_.size() ? 2 : 1;
    if (peek() == '"' && at_ < text_.size()) {
      ++at_;
    } else {
      diagnostics_.add(DiagnosticKind::kOpenString, {&file_, begin, at_}).suggest("close it with `\"` on the same line");
    }
    push(TokenKind::kString, begin);
  }

  void punctuation(uint32_t begin) {
    for (int i = 0; i < kRowCount; ++i) {
      if (kRows[i].form == Form::kPunctuation && text_.substr(begin).starts_with(kRows[i].spelling)) {
        at_ += static_cast<uint32_t>(kRows[i].spelling.size());
        return push(static_cast<TokenKind>(i), begin);
      }
    }
    const CodePoint c = code_point(text_, begin);
    at_ += c.bytes;
    if (c.value < 0x80) {
      diagnostics_.add(DiagnosticKind::kUnknownCharacter, {&file_, begin, at_}, {{"character", std::string(1, static_cast<char>(c.value))}});
    } else {
      report_character(DiagnosticKind::kForeignCharacter, c, begin);
    }
  }

  static constexpr int kMaxHidden = 20;
  static constexpr size_t kMaxErrors = 100;  // a text with more is no text of the language

  const SourceFile& file_;
  std::string_view text_;
  bool keep_comments_;
  Diagnostics& diagnostics_;
  uint32_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::string describe(TokenKind kind) {
  const TokenRow& row = kRows[static_cast<size_t>(kind)];
  return row.form == Form::kOther ? std::string(row.spelling) : "`" + std::string(row.spelling) + "`";
}

bool is_keyword(TokenKind kind) { return kRows[static_cast<size_t>(kind)].form == Form::kKeyword; }

std::vector<Token> lex(const SourceFile& file, bool keep_comments, Diagnostics& diagnostics) {
  return Lexer(file, keep_comments, diagnostics).run();
}

}  // namespace scratchy
