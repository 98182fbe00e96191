#include <cstdio>

#include "cli/commands.h"
#include "cli/extra_commands.h"

namespace scratchy::cli {

int fail(const Failure& failure) {
  std::fprintf(stderr, "error: %s\n", failure.message().c_str());
  return 1;
}

int run(int argc, char** argv) {
  Command scr("scr", "scr runs the models it was compiled for");
  for (const auto add : {add_chat, add_logits, add_tokenize, add_detokenize, add_template, add_model}) add(scr);
  for (const AddCommand* add = kExtraCommands; *add != nullptr; ++add) (*add)(scr);
  return scr.parse(argc, argv);
}

}  // namespace scratchy::cli
