// Whether this processor has the instructions a program was compiled for, asked before any of them runs.
#pragma once

#include <string_view>

#include "base/result.h"

namespace scratchy {

// A Failure names what is missing for the profile. Profiles of other processors than x86 are taken as present.
Status check_processor(std::string_view profile);

}  // namespace scratchy
