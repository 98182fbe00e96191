// Tokens to a tree. Follows Jinja's grammar, its precedences and its odd corners (`**` from the left, `is` tests that
// take the next primary as argument). `include`, `import` and `extends` are refused: a chat template stands alone.
#pragma once

#include <string_view>

#include "text/template/ast.h"

namespace scratchy::jinja {

// Raises RenderError with "line N: ..." for what is not a template.
Body parse_template(std::string_view source);

// Refuses filters and tests that do not exist, where Jinja does: within an `if` only their use fails. (check_names.cc)
void check_names(const Body& body);

}  // namespace scratchy::jinja
