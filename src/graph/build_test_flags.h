// Flags of the test program of this folder.
#pragma once

namespace scratchy::testing {

// `--regenerate`: tests write what they would compare with.
extern bool regenerate_goldens;

}  // namespace scratchy::testing
