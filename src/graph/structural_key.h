// A text that two graphs share exactly when they do the same work: kinds, attributes, types and wiring; no names, spans
// or layers. Used to store equal kernels once.
#pragma once

#include <string>

#include "graph/graph.h"

namespace scratchy {

std::string structural_key(const Graph& graph);
std::string structural_key(const Attributes& attributes);

}  // namespace scratchy
