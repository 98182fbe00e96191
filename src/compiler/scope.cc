#include "compiler/scope.h"

#include <algorithm>

#include "base/text.h"

namespace scratchy {
namespace {

constexpr std::string_view kTargets[] = {"cpu", "cuda", "metal", "spyre"};

class ScopeParser {
 public:
  ScopeParser(const ModelRegistry& registry, const std::vector<std::string>& presets, Diagnostics& diagnostics)
      : registry_(registry), presets_(presets), diagnostics_(diagnostics) {}

  void word(const std::string& word) {
    if (word.empty()) return;
    if (std::find(std::begin(kTargets), std::end(kTargets), word) != std::end(kTargets)) {
      targets_.push_back(word);
    } else if (word.rfind("model/", 0) == 0) {
      model(word.substr(6));
    } else if (word.rfind("quant/", 0) == 0) {
      quant(word.substr(6));
    } else if (word == "serve") {
      scope_.serve = true;
    } else if (word == "bench") {
      scope_.bench = true;
    } else {
      unknown(word);
    }
  }

  Scope finish(bool models_given) {
    if (targets_.empty()) diagnostics_.add(DiagnosticKind::kNoTarget, {}).suggest("say `-F cpu,..`; targets are " + join({kTargets, kTargets + 4}, ", "));
    if (targets_.size() > 1) diagnostics_.add(DiagnosticKind::kTwoTargets, {}, {{"first", targets_[0]}, {"second", targets_[1]}});
    if (targets_.size() == 1 && targets_[0] != "cpu") {
      diagnostics_.add(DiagnosticKind::kNoBackEnd, {}, {{"target", targets_[0]}}).suggest("build for `cpu`");
    }
    if (scope_.models.empty() && !models_given && !model_failed_) {
      diagnostics_.add(DiagnosticKind::kNoModel, {}).suggest("say `model/<stem>`, `model/<arch>` or `model/all`");
    }
    if (!targets_.empty()) scope_.target = targets_[0];
    return std::move(scope_);
  }

 private:
  void add(const ArchDecl& arch, const std::string& stem) {
    const auto same = [&](const ScopeModel& m) { return m.arch == &arch && m.stem == stem; };
    if (std::none_of(scope_.models.begin(), scope_.models.end(), same)) scope_.models.push_back({&arch, stem});
  }

  void model(const std::string& name) {
    bool found = false;
    std::vector<std::string> known = {"all"};
    for (const ArchDecl& arch : registry_.architectures()) {
      known.push_back(arch.name);
      for (const std::string& stem : arch.stems) {
        known.push_back(stem);
        if (name != "all" && name != arch.name && name != stem) continue;
        add(arch, stem);
        found = true;
      }
    }
    if (found) return;
    model_failed_ = true;
    Diagnostic& diagnostic = diagnostics_.add(DiagnosticKind::kUnknownModel, {}, {{"name", escape_for_message(name)}});
    // A name cut short is likelier than a slip in it: `smollm2` of smollm2-135m.
    auto meant = std::find_if(known.begin(), known.end(), [&](const std::string& one) { return name.size() > 2 && one.starts_with(name); });
    if (meant == known.end()) meant = std::find(known.begin(), known.end(), nearest_name(name, known).value_or(""));
    if (meant != known.end()) diagnostic.suggest("did you mean `model/" + *meant + "`?");
  }

  void quant(const std::string& name) {
    if (std::find(presets_.begin(), presets_.end(), name) == presets_.end()) {
      suggest(diagnostics_.add(DiagnosticKind::kUnknownPreset, {}, {{"name", escape_for_message(name)}}), name, presets_);
      return;
    }
    if (!scope_.quant.empty() && scope_.quant != name) {
      diagnostics_.add(DiagnosticKind::kTwoPresets, {}, {{"first", scope_.quant}, {"second", name}});
    }
    scope_.quant = name;
  }

  void unknown(const std::string& word) {
    std::vector<std::string> known(std::begin(kTargets), std::end(kTargets));
    known.insert(known.end(), {"serve", "bench"});
    for (const ArchDecl& arch : registry_.architectures()) {
      known.push_back("model/" + arch.name);
      for (const std::string& stem : arch.stems) known.push_back("model/" + stem);
    }
    for (const std::string& preset : presets_) known.push_back("quant/" + preset);
    Diagnostic& diagnostic = diagnostics_.add(DiagnosticKind::kUnknownScopeWord, {}, {{"word", escape_for_message(word)}});
    const size_t slash = std::min(word.find('/'), word.size());
    const auto kind = nearest_name(word.substr(0, slash), {"model", "quant"});
    if (nearest_name(word, known)) suggest(diagnostic, word, known);
    else if (kind && slash < word.size()) diagnostic.suggest("did you mean `" + *kind + escape_for_message(word.substr(slash)) + "`?");
    else diagnostic.suggest("words are a target, `model/<stem>`, `quant/<preset>`, `serve` and `bench`");
  }

  static void suggest(Diagnostic& diagnostic, const std::string& word, const std::vector<std::string>& known) {
    if (const auto nearest = nearest_name(word, known)) diagnostic.suggest("did you mean `" + *nearest + "`?");
  }

  const ModelRegistry& registry_;
  const std::vector<std::string>& presets_;
  Diagnostics& diagnostics_;
  Scope scope_;
  std::vector<std::string> targets_;
  bool model_failed_ = false;
};

}  // namespace

std::optional<Scope> parse_scope(const std::string& text, const ModelRegistry& registry, const std::vector<std::string>& presets, bool models_given,
                                 Diagnostics& diagnostics) {
  const size_t before = diagnostics.size();
  ScopeParser parser(registry, presets, diagnostics);
  for (const std::string& word : split(text, ',')) parser.word(word);
  Scope scope = parser.finish(models_given);
  if (diagnostics.size() > before) return std::nullopt;
  return scope;
}

}  // namespace scratchy
