// Escapes in the texts of a template, by the rules of Python's string literals.
#pragma once

#include <string>
#include <string_view>

namespace scratchy::jinja {

// The text that `literal` (without its quotes) stands for. Unknown escapes stay as they are; broken ones, halves of
// surrogate pairs and names of characters outside a short list raise with `line`.
std::string unescape(std::string_view literal, int line);

}  // namespace scratchy::jinja
