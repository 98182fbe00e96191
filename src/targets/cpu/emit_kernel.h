// One kernel of a plan as a C++ function `k<number>`.
#pragma once

#include <string>

#include "plan/plan.h"
#include "targets/cpu/options.h"

namespace scratchy::cpu {

struct KernelContext {
  const Plan* plan;
  const Options* options;
  int32_t max_context;  // also the span of unfused attention
};

std::string emit_kernel(const KernelContext& context, size_t kernel);

// How a cache plane is stored: keys with positions in lanes, values (and what serves as both) with elements in lanes.
KvPlane kv_plane(const Plane& plane, KvType type);

// The bytes of scratch that the attention kernels of a plan need, as a constant expression.
std::string scratch_expression(const KernelContext& context);

}  // namespace scratchy::cpu
