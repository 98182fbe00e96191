// The program as one model runs it: the statements of the forward function in the order they run,
// branches taken, compile-time values folded to what they are, layers that read the same put into one class.
//
// Calls of functions stay calls, so a line here is a line of the text; what they compute shows in the graph.
#pragma once

#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "config/model_facts.h"
#include "dsl/program.h"

namespace scratchy {

// Nothing, with diagnostics, where build_graph gives none.
std::optional<std::string> print_folded(const Program& program, const ModelFacts& facts, Diagnostics& diagnostics);

}  // namespace scratchy
