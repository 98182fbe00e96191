// Ctrl-C as a flag. The one piece of state a signal handler can reach lives in interrupt.cc.
#pragma once

#include <atomic>

namespace scratchy::cli {

// Set by SIGINT from the first call on; who acts on it clears it. A second Ctrl-C while it is set leaves with status 130.
std::atomic<bool>& interrupted();

}  // namespace scratchy::cli
