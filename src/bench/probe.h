// What this machine can do, measured in the same minute as a benchmark: the rate at which its threads read memory.
//
// Every thread reads its own part of one buffer far larger than the caches, with independent loads; the best of several
// rounds counts, since anything else on the machine only slows a round down.
#pragma once

#include "runtime/team.h"

namespace scratchy {

// Bytes a second that all threads of the team read together.
double read_bandwidth(Team& team);

}  // namespace scratchy
