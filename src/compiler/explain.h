// A plan explained: what each step of a tape reads, does and should take, as text and as one self-contained page.
#pragma once

#include <string>
#include <vector>

#include "compiler/step_cost.h"
#include "compiler/step_profile.h"

namespace scratchy {

// One tape at one use of it.
struct ExplainedTape {
  std::string title;  // "decode, 1 row after 1024 positions"
  CostInput input;
  std::vector<MeasuredStep> measured;  // of each step of the tape, or empty
};

struct Explanation {
  std::string model;  // "llama x smollm2-135m, gguf"
  MachineRate rate;
  std::vector<ExplainedTape> tapes;
};

// A line a step; a loop's steps once, with what all its turns take together.
std::string explain_text(const Explanation& explanation);

// The same as tables, and under each a map of the arenas: steps to the right, bytes of a row down, one box a value for as
// long as it lives. No other file is needed to show the page.
std::string explain_html(const Explanation& explanation);

}  // namespace scratchy
