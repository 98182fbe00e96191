#include <cstdio>

#include "compiler/commands/commands.h"

namespace scratchy {

void add_common_flags(CLI::App& command, CommonArguments& arguments) {
  command.add_option("--models", arguments.models, "folder of models")->capture_default_str();
  command.add_option("--presets", arguments.presets, "folder of quant presets")->capture_default_str();
  command.add_option("--diagnostics", arguments.diagnostics, "how mistakes are shown: text or json")->check(CLI::IsMember({"text", "json"}))->capture_default_str();
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
  CLI::App app("scratchyc compiles a forward pass, a config and a quant preset to the sources of one program");
  app.require_subcommand(1);
  int exit_code = 0;
  for (const auto add : {add_build, add_compile, add_check, add_explain, add_interpret, add_fmt, add_diff}) add(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return exit_code;
}

}  // namespace scratchy
