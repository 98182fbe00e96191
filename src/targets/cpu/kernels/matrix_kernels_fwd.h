// Declarations of the matrix kernels, for the tables of programs.
#pragma once

#include "tape/program.h"
#include "targets/cpu/kernels/act.h"
#include "targets/cpu/kernels/pack_form.h"

namespace scratchy::cpu {

template <PackForm kForm>
void unpack_row(const std::byte* panels, int32_t I, int32_t row, float* out);

template <PackForm kForm, Act kAct>
void gemm_variant(const GemmCall& c);

}  // namespace scratchy::cpu
