// All architectures of a models folder, with the models each ships.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"
#include "config/arch_decl.h"
#include "config/model_facts.h"
#include "config/raw_config.h"

namespace scratchy {

class ModelRegistry {
 public:
  // Reads std.json and every <arch>/arch.json of `directory`. Nothing, with diagnostics, when one is wrong. Texts are
  // added to `sources`, which must outlive the registry and everything bound by it.
  static std::optional<ModelRegistry> load(const std::filesystem::path& directory, SourceSet& sources, Diagnostics& diagnostics);

  const std::vector<ArchDecl>& architectures() const { return architectures_; }  // sorted by name
  std::vector<std::string> names() const;

  // By folder name; null, with the nearest name suggested.
  const ArchDecl* find(const std::string& name, Diagnostics& diagnostics) const;

  // The one a config answers to, by its class, its model type and what tells architectures of one class apart.
  const ArchDecl* find_for(const RawConfig& raw, Diagnostics& diagnostics) const;

  // Those that a `general.architecture` of GGUF may be; the one of the same name first.
  std::vector<const ArchDecl*> find_for_gguf(const std::string& tag) const;

  // Binds models/<arch>/configs/<stem>.json, or the config.json at a path when `stem` ends in ".json".
  std::optional<ModelFacts> bind(const ArchDecl& arch, const std::string& stem, SourceSet& sources, Diagnostics& diagnostics) const;

  const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
  std::vector<ArchDecl> architectures_;
};

}  // namespace scratchy
