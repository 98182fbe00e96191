// Packs published matrices into the panels of kernels/pack_form.h, without loss.
//
// A matrix takes the narrowest layout of the program that holds its integers, scales and offsets exactly; what no such
// layout holds (activation order, blocks that straddle rows) is kept as f32 of the dequantised values.
#pragma once

#include "numeric/quant_matrix.h"
#include "targets/cpu/kernels/pack_form.h"
#include "tape/program.h"

namespace scratchy::cpu {

extern const WeightPacker kWeightPacker;

// Whether a matrix may be stored in `form`, by its form, widths and groups; packing may still find a value that does not fit.
bool suits(PackForm form, const QuantMatrix& matrix);

}  // namespace scratchy::cpu
