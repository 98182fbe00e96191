// The instruction set of the processor this program runs on.
#pragma once

#include <string>

#include "targets/cpu/options.h"

namespace scratchy {

// The widest profile this processor has; null when it has none.
const cpu::Profile* native_profile();

// "x86-64-v3, x86-64-v4, .."
std::string profile_names();

}  // namespace scratchy
