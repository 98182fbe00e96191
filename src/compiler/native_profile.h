// The instruction set of the processor this program runs on.
#pragma once

#include <string>

#include "base/diagnostic.h"
#include "targets/cpu/options.h"

namespace scratchy {

// The widest profile this processor has; null when it has none.
const cpu::Profile* native_profile();

// The profile a --profile flag names, "native" for that of this processor; null, with a diagnostic, when there is none.
const cpu::Profile* resolve_profile(const std::string& name, Diagnostics& diagnostics);

// "x86-64-v3, x86-64-v4, .."
std::string profile_names();

}  // namespace scratchy
