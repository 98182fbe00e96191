// The keys of one published config as they were spelled, before anything is bound.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "base/source.h"
#include "dsl/constant.h"

namespace scratchy {

struct RawValue {
  Constant value;
  std::string path;  // as published: "text_config.hidden_size"
  Span key, span;    // of the name and of the value; none for GGUF metadata
};

struct RawConfig {
  std::map<std::string, RawValue> values;  // by key, `text_config` hoisted
  const SourceFile* file = nullptr;        // null for GGUF metadata

  const Constant* find(const std::string& key) const {
    const auto found = values.find(key);
    return found == values.end() ? nullptr : &found->second.value;
  }
  // find, but an explicit null counts as absent.
  const Constant* given(const std::string& key) const {
    const Constant* value = find(key);
    return value == nullptr || value->is_none() ? nullptr : value;
  }
  // Sets a value, keeping the place of `like` when that key is there.
  void set(const std::string& key, Constant value, const std::string& like);
};

// The keys of `file`, a config.json: top-level ones, and those of `text_config` that the top level does not have. Nothing,
// with diagnostics, when it isn't one JSON object or a number passes 63 bits (C01).
std::optional<RawConfig> read_raw_config(const SourceFile& file, Diagnostics& diagnostics);

}  // namespace scratchy
