// Brings the spellings of rotary parameters to one.
#pragma once

#include "base/diagnostic.h"
#include "config/arch_decl.h"
#include "config/raw_config.h"

namespace scratchy {

// Published configs say `rope_theta`, `rope_scaling` and `partial_rotary_factor` side by side, or all of it in
// `rope_parameters`, or one such record a kind of layer, or one base key a kind. Afterwards `raw` has
//
//   one base   `rope_scaling` (none, or a record with `rope_type`), and `rope_theta` and `partial_rotary_factor` if given,
//   kinds      `rope_parameters` {full_attention: {..}, sliding_attention: {..}}, every record with `rope_theta`,
//              `rope_type` and `partial_rotary_factor`,
//
// and none of the other keys. Types that `arch` does not implement, unknown or missing parameters, numbers that cannot be
// (C08), and spellings that disagree are diagnostics.
void bind_rope(const ArchDecl& arch, RawConfig& raw, Diagnostics& diagnostics);

}  // namespace scratchy
