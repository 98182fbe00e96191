#include "dsl/program.h"

#include "dsl/parser.h"

namespace scratchy {
namespace {

class Linker {
 public:
  Linker(Program& program, Diagnostics& diagnostics) : program_(program), diagnostics_(diagnostics) {}

  void add(const Module& module) {
    for (const ConstItem& item : module.constants) {
      if (claim(item.name)) program_.constants.emplace(item.name.text, &item);
    }
    for (const Function& function : module.functions) {
      check_params(function);
      if (claim(function.name)) program_.functions.emplace(function.name.text, &function);
    }
  }

  void find_forward() {
    for (const Function& function : program_.prelude.functions) {
      if (function.forward) diagnostics_.add(DiagnosticKind::kForwardInPrelude, function.name.span);
    }
    for (const Function& function : program_.arch.functions) {
      if (!function.forward) continue;
      if (program_.forward != nullptr) {
        diagnostics_.add(DiagnosticKind::kTwoForwards, function.name.span).label(program_.forward->name.span, "the first one");
        continue;
      }
      program_.forward = &function;
      if (!function.params.empty()) {
        diagnostics_.add(DiagnosticKind::kForwardParams, function.params[0].name.span).suggest("read `input_ids` and `positions` by name");
      }
    }
    if (program_.forward == nullptr) {
      diagnostics_.add(DiagnosticKind::kNoForward, {program_.arch.file, 0, 0}, {{"file", program_.arch.file->path}})
          .suggest("mark the function that is the model: `#[forward] fn model() { .. }`");
    }
  }

 private:
  bool claim(const Word& name) {
    const auto [at, fresh] = seen_.emplace(name.text, name.span);
    if (fresh) return true;
    const bool in_prelude = at->second.file == program_.prelude.file && name.span.file != program_.prelude.file;
    Diagnostic& made = diagnostics_.add(DiagnosticKind::kDefinedTwice, name.span, {{"name", name.text}});
    made.label(at->second, in_prelude ? "the prelude's" : "the first definition");
    if (in_prelude) made.suggest("take another name, what the prelude defines means the same in every architecture");
    return false;
  }

  void check_params(const Function& function) {
    std::map<std::string, Span> params;
    for (const Param& param : function.params) {
      const auto [at, fresh] = params.emplace(param.name.text, param.name.span);
      if (!fresh) diagnostics_.add(DiagnosticKind::kParameterTwice, param.name.span, {{"function", function.name.text}, {"name", param.name.text}});
    }
    bool optional = false;
    for (const Param& param : function.params) {
      if (optional && !param.fallback) {
        diagnostics_.add(DiagnosticKind::kParameterOrder, param.name.span, {{"name", param.name.text}}).suggest("parameters with a default stand last");
      }
      optional = optional || param.fallback != nullptr;
    }
  }

  Program& program_;
  Diagnostics& diagnostics_;
  std::map<std::string, Span> seen_;
};

}  // namespace

std::optional<Program> read_program(const SourceFile& prelude, const SourceFile& arch, Diagnostics& diagnostics) {
  const size_t before = diagnostics.size();
  Program program;
  program.prelude = parse(prelude, diagnostics);
  program.arch = parse(arch, diagnostics);
  if (diagnostics.size() != before) return std::nullopt;
  Linker linker(program, diagnostics);
  linker.add(program.prelude);
  linker.add(program.arch);
  linker.find_forward();
  if (diagnostics.size() != before) return std::nullopt;
  return program;
}

}  // namespace scratchy
