#include <cstdio>

#include "compiler/commands/commands.h"

namespace scratchy {

int report(const Diagnostics& diagnostics, bool json) {
  if (diagnostics.empty()) return 0;
  std::fputs((json ? diagnostics.to_json() : diagnostics.to_text()).c_str(), stderr);
  return 1;
}

int run_scratchyc(int argc, char** argv) {
  CLI::App app("scratchyc compiles a forward pass, a config and a quant preset to the sources of one program");
  app.require_subcommand(1);
  int exit_code = 0;
  add_build(app, exit_code);
  add_compile(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return exit_code;
}

}  // namespace scratchy
