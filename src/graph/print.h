// The printer: a graph as readable SSA text, with types, layers and places in the text.
//
// Ops of one layer are its body. Layers with equal bodies form a class, which is printed once:
//
//   layer class 0: layers 0..29
//     in.0 : [T, 576]
//     %0 = weight input_layernorm[layer] : [576]                        models/llama/forward.fwd:5:30
//   layers 1..29: class 0, in.0 = previous.%31
//
// A body numbers its own values from %0; what it reads from outside is in.0, in.1, ..; "2.%31" is value %31 of layer 2,
// "previous.%31" that of the layer before.
#pragma once

#include <string>

#include "graph/graph.h"

namespace scratchy {

std::string print(const Graph& graph);

}  // namespace scratchy
