// What is known about one model before its text is traced: the config values the text may name, and the weights it may
// use. Made by bind_config (bind_config.h) from a config.json or GGUF metadata, the arch.json of its architecture and the
// shared declarations of models/std.json; read by the builder of the graph and by the weight plan.
//
// Keys are canonical: whatever spelling the published file has, a text reads one name (models/README.md lists them).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "dsl/constant.h"
#include "numeric/dtype.h"

namespace scratchy {

// One weight of arch.json, with its expressions evaluated for this model.
struct WeightDecl {
  std::string name;        // "self_attn.q_proj", "embed_tokens"
  bool per_layer = false;  // indexed by the layer
  int64_t experts = 0;     // leading dim of a stack of matrices, 0 = a plain matrix or vector
  bool absent = false;     // this model has none: the text reads `none`
  std::string tied_to;     // name of the weight this one is, for a tied head; empty = a weight of its own

  // What arch.json declares of [rows, columns]; nothing = left to the ops. Layers may differ.
  std::optional<int64_t> rows(int layer = 0) const { return at(rows_by_layer, layer); }
  std::optional<int64_t> columns(int layer = 0) const { return at(columns_by_layer, layer); }

  // Empty = not declared; one entry = the same in every layer; else an entry a layer.
  std::vector<int64_t> rows_by_layer;
  std::vector<int64_t> columns_by_layer;

 private:
  static std::optional<int64_t> at(const std::vector<int64_t>& values, int layer) {
    if (values.empty()) return std::nullopt;
    return values.size() == 1 ? values[0] : values.at(static_cast<size_t>(layer));
  }
};

struct ModelFacts {
  std::string arch;  // "llama"
  std::string stem;  // "smollm2-135m"
  std::string display() const { return arch + " x " + stem; }

  // Every declared key of the architecture, defaults included: an absent key without a default is not here, an explicit
  // null is here as none. Nested objects are records.
  std::map<std::string, Constant> values;
  // Places of the values in the config file; a default has none.
  std::map<std::string, Span> spans;

  // Every key the architecture declares, bound or not: the names a text may use.
  std::vector<std::string> declared_keys;
  // Every key of std.json, which the prelude may name for those architectures that declare it.
  std::vector<std::string> shared_keys;

  std::vector<WeightDecl> weights;
  DType weight_dtype = DType::kBF16;  // of the published checkpoint, as the config says

  const SourceFile* config_file = nullptr;

  const Constant* find(std::string_view key) const {
    const auto found = values.find(std::string(key));
    return found == values.end() ? nullptr : &found->second;
  }
  const WeightDecl* find_weight(std::string_view name) const {
    for (const WeightDecl& weight : weights) {
      if (weight.name == name) return &weight;
    }
    return nullptr;
  }
};

}  // namespace scratchy
