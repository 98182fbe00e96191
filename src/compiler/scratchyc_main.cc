// scratchyc: the compiler's command line. One file a command (commands/); this one only dispatches.

#include <cstdio>

#include "compiler/commands/commands.h"

int main(int argc, char** argv) { return scratchy::run_scratchyc(argc, argv); }
