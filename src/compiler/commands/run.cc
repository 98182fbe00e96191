#include <cstdio>

#include "compiler/commands/commands.h"

namespace scratchy {

void add_common_flags(Command& command, CommonArguments& arguments) {
  command.add_option("--models", arguments.models, "folder of models")->show_default();
  command.add_option("--presets", arguments.presets, "folder of quant presets")->show_default();
  command.add_option("--diagnostics", arguments.diagnostics, "how mistakes are shown: text or json")->one_of({"text", "json"})->show_default();
}

int report(const Diagnostics& diagnostics, bool json) {
  if (diagnostics.empty()) return 0;
  std::fputs((json ? diagnostics.to_json() : diagnostics.to_text()).c_str(), stderr);
  return 1;
}

int report(const Failure& failure) {
  std::fprintf(stderr, "error: %s\n", failure.message().c_str());
  return 1;
}

int run_scratchyc(int argc, char** argv) {
  Command scratchyc("scratchyc", "scratchyc compiles a forward pass, a config and a quant preset to the sources of one program");
  for (const auto add : {add_build, add_compile, add_check, add_explain, add_interpret, add_fmt, add_diff}) add(scratchyc);
  return scratchyc.parse(argc, argv);
}

}  // namespace scratchy
