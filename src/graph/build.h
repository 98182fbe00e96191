// The builder: runs a checked program on the facts of one model and writes down what it does, as a graph.
//
// Everything that is decided before the graph exists is decided here: functions are written out where they are called,
// loops and branches on the config are run, arithmetic of compile-time values is done. What remains are ops. Shapes are
// inferred on the way; widths that nothing has fixed yet are unknowns that later ops unify (build_dims.h). A pure op on
// the same operands is made once per layer; one that follows from constants and inputs alone (a rope table) is made once
// for the whole graph and has no layer.
//
// The span of an op is the place in the architecture's text that asked for it, also where a prelude function wrote it.
// Caches and states are versioned: each append and each step of a state gives the next value.
#pragma once

#include <optional>

#include "base/diagnostic.h"
#include "config/model_facts.h"
#include "dsl/check_names.h"
#include "dsl/program.h"
#include "graph/graph.h"

namespace scratchy {

// The graph of `program` for the model of `facts`, with outputs "logits" and, where the text binds it, "hidden". Nothing,
// with diagnostics, when a name is unknown, a shape doesn't fit, or the text refuses the model.
std::optional<Graph> build_graph(const Program& program, const ModelFacts& facts, Diagnostics& diagnostics);

// The names a text may use for this model (check_names.h).
Vocabulary vocabulary_of(const ModelFacts& facts);

}  // namespace scratchy
