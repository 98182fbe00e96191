// The one way a .fwd text is laid out (`scratchy fmt`).
//
// Four spaces of indent, one statement a line, one space around operators and behind commas, none around `..`. Kept as
// the author has them: comments, single blank lines, blocks written on one line where they fit in kMaxColumns, and line
// breaks inside of a statement, which then go on under the open bracket. Formatting a formatted text changes nothing.
#pragma once

#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "base/source.h"

namespace scratchy {

inline constexpr size_t kMaxColumns = 120;

// Nothing, with diagnostics, when the text doesn't parse.
std::optional<std::string> format(const SourceFile& file, Diagnostics& diagnostics);

}  // namespace scratchy
