#include <cstdio>

#include "cli/commands.h"
#include "cli/extra_commands.h"

namespace scratchy::cli {

int fail(const Failure& failure) {
  std::fprintf(stderr, "error: %s\n", failure.message().c_str());
  return 1;
}

int run(int argc, char** argv) {
  CLI::App app("scr runs the models it was compiled for");
  app.require_subcommand(1);
  int exit_code = 0;
  add_chat(app, exit_code);
  add_logits(app, exit_code);
  add_tokenize(app, exit_code);
  add_detokenize(app, exit_code);
  add_template(app, exit_code);
  add_model(app, exit_code);
  for (const AddCommand* add = kExtraCommands; *add != nullptr; ++add) (*add)(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_code : 2;
  }
  return exit_code;
}

}  // namespace scratchy::cli
