// scr: one binary, the programs it was compiled for.

#include "cli/commands.h"

int main(int argc, char** argv) { return scratchy::cli::run(argc, argv); }
