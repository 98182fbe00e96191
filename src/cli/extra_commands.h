// Commands that a scope adds to a binary beyond the ones every scr has. The emitted sources define the list.
#pragma once

namespace scratchy {
class Command;
}

namespace scratchy::cli {

using AddCommand = void (*)(Command& app);

extern const AddCommand kExtraCommands[];  // ends with null

}  // namespace scratchy::cli
