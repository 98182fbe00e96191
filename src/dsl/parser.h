// Reads a .fwd text into its tree.
//
// A statement that doesn't parse is reported once and left out, and reading goes on behind it, so one run shows the
// errors of a whole file. The grammar is docs/language.md. Nesting is bounded; what is deeper ends the reading.
#pragma once

#include "base/diagnostic.h"
#include "dsl/ast.h"

namespace scratchy {

// `file` must outlive the module. With new diagnostics the module is incomplete.
Module parse(const SourceFile& file, Diagnostics& diagnostics);

// The whole of `file` as one expression; null with a diagnostic when it is none.
ExprPtr parse_expression(const SourceFile& file, Diagnostics& diagnostics);

}  // namespace scratchy
