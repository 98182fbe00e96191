#include "compiler/native_profile.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace scratchy {
namespace {

#if defined(__x86_64__)
// Clang 14 has no name for this one: leaf 1, ECX bit 29.
bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1U << 29)) != 0;
}
#endif

bool runs_here(std::string_view profile) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c() && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi");
  if (profile == "x86-64-v3") return v3;
  if (profile == "x86-64-v4") return v4;
  return profile == "x86-64-v4-bf16" && v4 && __builtin_cpu_supports("avx512bf16");
#else
  return profile == "armv8.2-a";
#endif
}

}  // namespace

const cpu::Profile* native_profile() {
  const cpu::Profile* widest = nullptr;
  for (const cpu::Profile& profile : cpu::profiles()) {
    if (runs_here(profile.name)) widest = &profile;
  }
  return widest;
}

std::string profile_names() {
  std::string names;
  for (const cpu::Profile& profile : cpu::profiles()) names += (names.empty() ? "" : ", ") + std::string(profile.name);
  return names;
}

}  // namespace scratchy
