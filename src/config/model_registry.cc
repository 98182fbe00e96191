#include "config/model_registry.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "config/bind_config.h"
#include "config/read_arch.h"

namespace scratchy {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;

const SourceFile* read_source(const fs::path& path, SourceSet& sources, Diagnostics& diagnostics) {
  auto text = read_file(path, kMaxConfigBytes);
  if (text.ok()) return &sources.add(path.generic_string(), std::move(*text));
  diagnostics.add(DiagnosticKind::kMalformedFile, {}, {{"file", escape_for_message(path.generic_string(), 400)}, {"problem", text.failure().message()}});
  return nullptr;
}

std::vector<fs::path> sorted_entries(const fs::path& directory) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) out.push_back(at->path());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> stems_of(const fs::path& arch) {
  std::vector<std::string> stems;
  for (const fs::path& path : sorted_entries(arch / "configs")) {
    if (path.extension() == ".json") stems.push_back(path.stem().string());
  }
  return stems;
}

std::string quoted(const std::vector<std::string>& names) { return "`" + join(names, "`, `") + "`"; }

}  // namespace

std::optional<ModelRegistry> ModelRegistry::load(const fs::path& directory, SourceSet& sources, Diagnostics& diagnostics) {
  const SourceFile* std_file = read_source(directory / "std.json", sources, diagnostics);
  if (std_file == nullptr) return std::nullopt;
  const auto shared = read_std(*std_file, diagnostics);
  if (!shared) return std::nullopt;
  ModelRegistry registry;
  registry.directory_ = directory;
  bool good = true;
  for (const fs::path& path : sorted_entries(directory)) {
    std::error_code error;
    if (!fs::exists(path / "arch.json", error)) continue;
    const SourceFile* file = read_source(path / "arch.json", sources, diagnostics);
    auto arch = file == nullptr ? std::nullopt : read_arch(*file, path.filename().string(), *shared, sources, diagnostics);
    if (!arch) {
      good = false;
      continue;
    }
    arch->directory = path;
    arch->stems = stems_of(path);
    registry.architectures_.push_back(std::move(*arch));
  }
  if (!good) return std::nullopt;
  return registry;
}

std::vector<std::string> ModelRegistry::names() const {
  std::vector<std::string> out;
  for (const ArchDecl& arch : architectures_) out.push_back(arch.name);
  return out;
}

const ArchDecl* ModelRegistry::find(const std::string& name, Diagnostics& diagnostics) const {
  for (const ArchDecl& arch : architectures_) {
    if (arch.name == name) return &arch;
  }
  Diagnostic& diagnostic = diagnostics.add(DiagnosticKind::kUnknownArchitecture, {}, {{"name", "`" + escape_for_message(name) + "`"}});
  if (const auto nearest = nearest_name(name, names())) {
    diagnostic.suggest("did you mean `" + *nearest + "`?");
  } else {
    diagnostic.suggest("there are " + quoted(names()));
  }
  return nullptr;
}

const ArchDecl* ModelRegistry::find_for(const RawConfig& raw, Diagnostics& diagnostics) const {
  for (const ArchDecl& arch : architectures_) {
    if (answers_to(raw, arch)) return &arch;
  }
  const auto shown = [&](const char* key) {
    const Constant* value = raw.find(key);
    return value == nullptr ? std::string("absent") : escape_for_message(to_string(*value));
  };
  Diagnostic& diagnostic = diagnostics.add(DiagnosticKind::kUnknownArchitecture, Span{raw.file, 0, 0},
                                           {{"name", shown("architectures") + " (`model_type` " + shown("model_type") + ")"}});
  diagnostic.suggest("there are " + quoted(names()));
  return nullptr;
}

std::vector<const ArchDecl*> ModelRegistry::find_for_gguf(const std::string& tag) const {
  std::vector<const ArchDecl*> out;
  for (const ArchDecl& arch : architectures_) {
    if (std::find(arch.gguf.begin(), arch.gguf.end(), tag) != arch.gguf.end()) out.push_back(&arch);
  }
  std::stable_sort(out.begin(), out.end(), [&](const ArchDecl* a, const ArchDecl* b) { return (a->name == tag) > (b->name == tag); });
  return out;
}

std::optional<ModelFacts> ModelRegistry::bind(const ArchDecl& arch, const std::string& stem, SourceSet& sources, Diagnostics& diagnostics) const {
  if (stem.ends_with(".json")) {
    const SourceFile* file = read_source(stem, sources, diagnostics);
    if (file == nullptr) return std::nullopt;
    return bind_config(*file, arch, fs::path(stem).stem().string(), diagnostics);
  }
  if (std::find(arch.stems.begin(), arch.stems.end(), stem) == arch.stems.end()) {
    Diagnostic& diagnostic = diagnostics.add(DiagnosticKind::kUnknownStem, {}, {{"arch", arch.name}, {"stem", escape_for_message(stem)}});
    const auto nearest = nearest_name(stem, arch.stems);
    diagnostic.suggest(nearest ? "did you mean `" + *nearest + "`?" : "there are " + quoted(arch.stems));
    return std::nullopt;
  }
  const SourceFile* file = read_source(arch.directory / "configs" / (stem + ".json"), sources, diagnostics);
  if (file == nullptr) return std::nullopt;
  return bind_config(*file, arch, stem, diagnostics);
}

}  // namespace scratchy
