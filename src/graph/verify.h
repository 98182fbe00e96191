// The verifier: whether a graph obeys the rules of op.def.
//
// It checks, op by op: arity and attributes, the types of the results against the operands, that every operand is made
// by an earlier op (SSA order), that resources are what their op says, that a cache or state is read only as its newest
// version, and the bodies of scan and row_program. A graph that passes can be interpreted. Tests and debug builds run it
// after every pass; a complaint names the pass, the op and its place in the text.
//
// Bodies: value types of a scan's body are those of one token and head (no T). A row_program's body keeps the T of its
// values; `argument` n stands for operand n, whole weights included, and the ops inside treat every row alone.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace scratchy {

// The result types that op.def gives for `op` on operands of these types, or what is wrong. Resource ops take the type of
// their resource; scan and row_program that of their body's outputs.
Result<std::vector<Type>> infer_types(const Graph& graph, const Op& op);

// Complaints, at most 20: "after fuse: op 12 gemm (models/llama/forward.fwd:9:13): x[T, 64] and w[8, 32] differ in I".
std::vector<std::string> verify(const Graph& graph, const std::string& pass);

}  // namespace scratchy
