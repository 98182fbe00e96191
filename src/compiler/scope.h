// The scope of a binary, as -F states it: one target, models, a quant preset, and what goes beyond `scr chat`.
//
//   cpu,model/smollm2-135m,quant/gguf,serve
//
// Words: cpu cuda metal spyre (exactly one) | model/<stem> model/<arch> model/all (at least one) | quant/<preset> (at most
// one; none means dense) | serve | bench.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "config/model_registry.h"

namespace scratchy {

struct ScopeModel {
  const ArchDecl* arch;
  std::string stem;
};

struct Scope {
  std::string target;
  std::vector<ScopeModel> models;
  std::string quant;  // "" = dense
  bool serve = false, bench = false;
};

// Nothing, with a diagnostic for every wrong or missing word. `models_given`: a model is named elsewhere (--config), so
// the scope may name none.
std::optional<Scope> parse_scope(const std::string& text, const ModelRegistry& registry, const std::vector<std::string>& presets, bool models_given,
                                 Diagnostics& diagnostics);

}  // namespace scratchy
