// What arch.json and std.json declare about an architecture, read and checked (read_arch.h), before any model is bound.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/source.h"
#include "checkpoint/weight_source.h"
#include "dsl/constant.h"

namespace scratchy {

// An expression of the language over config names; null = none.
using Expression = const SourceFile*;

// What a config value may be.
struct KeyRule {
  enum class Type { kInt, kFloat, kBool, kText, kTexts, kInts, kRope, kAny };
  enum class Null { kRefused, kAbsent, kValue };
  Type type = Type::kAny;
  double min = 0.0, max = 0.0;  // kInt, kFloat, inclusive
  Null null = Null::kRefused;
  Constant null_value;              // kValue: what null means
  std::vector<Constant> allowed;    // empty = any; of each item for lists
};

// A value or an expression.
struct DeclaredValue {
  Constant value;
  Expression expression = nullptr;
};

// A combination of values the text does not compute.
struct RefusedCase {
  Expression when = nullptr;
  std::string key;     // the one to point at
  std::string reason;  // {expression} in it is filled with its value
  bool shared = false;  // of std.json: skipped where a name in it isn't declared
};

// One base of two: rotary parameters of one kind of layer.
struct RopeKind {
  std::string name;                // "full_attention"
  std::vector<std::string> theta;  // older keys of its base
  bool scaled = false;             // the older `rope_scaling` is about this kind
  std::map<std::string, Constant> defaults;
};

struct RopeDecl {
  std::vector<std::string> types;              // implemented; empty = the architecture has no rotary parameters
  std::map<std::string, std::string> renames;  // published type -> ours
  std::vector<RopeKind> kinds;                 // empty = one base for all layers
};

struct FormDecl {
  WeightPlace place = WeightPlace::kDecoder;
  std::string path;
  bool bare = false, transposed = false, log_of_negative = false, tile_columns = false;
  Expression first = nullptr, step = nullptr, of = nullptr, rotary_heads = nullptr;
  Expression tile_groups = nullptr, tile_width = nullptr, tile_begin = nullptr;
  Expression split_heads = nullptr;
  std::string beside;
  double add = 0.0;
};

struct WeightEntry {
  std::string name;
  bool per_layer = false;
  bool dense = false;  // read as f32 values, whatever its rank
  Expression rows = nullptr, columns = nullptr, experts = nullptr;
  Expression when = nullptr;  // there when it holds; null = always
  std::string tied_to;
  Expression tied_when = nullptr;
  std::vector<FormDecl> forms;
};

// What tells an architecture from others of the same names: a published key that is, or is not, one value. An absent key
// is no value.
struct WhenDecl {
  std::string key;
  Constant value;
  bool is_not = false;
};

struct ArchDecl {
  std::string name;                 // folder name
  std::filesystem::path directory;  // models/<name>
  std::vector<std::string> stems;   // sorted

  std::vector<std::string> architectures, model_types, gguf;
  std::optional<WhenDecl> when;
  std::vector<WhenDecl> gguf_when;  // of GGUF metadata; all must hold

  std::map<std::string, KeyRule> keys;  // declared ones
  std::vector<std::string> shared_keys;  // all that std.json has rules for
  std::map<std::string, std::vector<std::string>> aliases;
  std::map<std::string, DeclaredValue> defaults;
  std::map<std::string, Expression> derived;
  std::vector<RefusedCase> refused;
  std::vector<std::pair<std::string, std::string>> irrelevant;  // pattern, reason
  RopeDecl rope;
  // `per_layer_config` (newest spelling of gemma4): key -> key of full-attention layers.
  std::map<std::string, std::string> per_layer_config;

  std::vector<WeightEntry> weights;
  std::vector<std::pair<std::string, std::string>> roots;    // decoder, outer
  std::vector<std::pair<std::string, std::string>> ignored;  // pattern, reason
  std::map<std::string, std::string> gguf_keys;              // metadata key -> canonical key
  std::map<std::string, DeclaredValue> gguf_defaults;        // of keys the metadata leaves out, in place of `defaults`

  const WeightEntry* find_weight(std::string_view weight) const {
    for (const WeightEntry& entry : weights) {
      if (entry.name == weight) return &entry;
    }
    return nullptr;
  }
};

}  // namespace scratchy
