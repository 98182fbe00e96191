// Binds one published config to an architecture: spellings to canonical keys, defaults, bounds, what the text does not
// compute, and the shapes its weights are declared to have.
//
// Order: `text_config` is hoisted (a top-level key wins), rotary parameters are brought to one spelling (bind_rope.h),
// aliases fill absent keys, then defaults, then derived values; expressions see what they name bound already. Nothing is
// ignored silently: a key that is neither declared nor listed as irrelevant is refused.
#pragma once

#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "base/source.h"
#include "config/arch_decl.h"
#include "config/model_facts.h"
#include "config/raw_config.h"

namespace scratchy {

// `config` is a config.json and must outlive the facts. Nothing, with all its mistakes as diagnostics, when it is no model
// of `arch` (C01-C13).
std::optional<ModelFacts> bind_config(const SourceFile& config, const ArchDecl& arch, const std::string& stem, Diagnostics& diagnostics);

// The same for keys that were read already.
std::optional<ModelFacts> bind_raw_config(RawConfig raw, const ArchDecl& arch, const std::string& stem, Diagnostics& diagnostics);

// Whether `raw` answers to the names of `arch` and to its `when`.
bool answers_to(const RawConfig& raw, const ArchDecl& arch);

}  // namespace scratchy
