// Checks that the parts of a matrix have the types and sizes that its form and shape ask for.
#pragma once

#include "base/result.h"
#include "numeric/quant_matrix.h"

namespace scratchy {

// Afterwards no access by decode_parts.h leaves a part, and rows * experts fits in 32 bits.
Status check_parts(const QuantParts& parts);

}  // namespace scratchy
