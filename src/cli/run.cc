#include <cerrno>
#include <cstdio>
#include <cstring>

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
  const int exit_code = scr.parse(argc, argv);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  return fail(Failure(std::string("write standard output: ") + std::strerror(errno)));  // a full disk, say
}

}  // namespace scratchy::cli
