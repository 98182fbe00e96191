// Commands that a scope adds to a binary beyond the ones every scr has. The emitted sources define the list.
#pragma once

namespace CLI {
class App;
}

namespace scratchy::cli {

using AddCommand = void (*)(CLI::App& app, int& exit_code);

extern const AddCommand kExtraCommands[];  // ends with null

}  // namespace scratchy::cli
