// Template source to tokens, by Jinja's rules as transformers sets them: trim_blocks and lstrip_blocks are on.
//
// Line ends become "\n" and one trailing line end is dropped, as Jinja does. `{%-`, `-%}`, `{%+` and `+%}` control white
// space around tags, raw blocks and comments; a tag alone on its line takes the line's indentation and end with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/template/value.h"

namespace scratchy::jinja {

enum class TokenKind { kData, kOutputBegin, kOutputEnd, kBlockBegin, kBlockEnd, kName, kText, kInteger, kFloat, kOperator, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // data, name, operator, or the text of a literal
  Value value;       // of numbers
  int line = 1;

  bool is_operator(std::string_view op) const { return kind == TokenKind::kOperator && text == op; }
  bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
};

// Raises RenderError with "line N: ..." for source that has no tokens.
std::vector<Token> tokenize(std::string_view source);

[[noreturn]] void raise_at(int line, const std::string& message);

}  // namespace scratchy::jinja
