// Cuts a .fwd text into tokens.
//
// A text is UTF-8 of at most kMaxTextBytes; outside of strings and comments only ASCII has a meaning. Control and
// bidirectional characters are refused everywhere, because they make a text read other than it is. Lines end with LF or
// CRLF.
#pragma once

#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"

namespace scratchy {

inline constexpr size_t kMaxTextBytes = size_t{1} << 20;

enum class TokenKind : uint8_t {
#define TOKEN(name, spelling) k##name,
#define PUNCTUATION(name, spelling) k##name,
#define KEYWORD(name, spelling) k##name,
#include "dsl/token.def"
#undef TOKEN
#undef PUNCTUATION
#undef KEYWORD
};

// "`=`", "a name", ...
std::string describe(TokenKind kind);
bool is_keyword(TokenKind kind);

struct Token {
  TokenKind kind;
  Span span;
  std::string_view text(const SourceFile& file) const { return std::string_view(file.text).substr(span.begin, span.end - span.begin); }
};

// All tokens, comments among them when asked for, the last one kEnd. What is no token is reported and left out.
std::vector<Token> lex(const SourceFile& file, bool keep_comments, Diagnostics& diagnostics);

}  // namespace scratchy
