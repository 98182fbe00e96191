// Reads models/std.json and models/<arch>/arch.json into an ArchDecl.
#pragma once

#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "base/source.h"
#include "checkpoint/json.h"
#include "config/arch_decl.h"

namespace scratchy {

// std.json, parsed, and its text to point at.
struct StdDecl {
  Json json;
  const SourceFile* file = nullptr;
};

// Nothing, with diagnostics, when the text is not an object of JSON.
std::optional<StdDecl> read_std(const SourceFile& file, Diagnostics& diagnostics);

// The architecture `name` that `file` declares over `shared`. Nothing, with diagnostics, on unknown keys, wrong types, and
// names no group, rule or weight has. Expressions are added to `sources`, which must outlive the result.
std::optional<ArchDecl> read_arch(const SourceFile& file, const std::string& name, const StdDecl& shared, SourceSet& sources,
                                  Diagnostics& diagnostics);

}  // namespace scratchy
