#include "base/check_processor.h"

#include <string>

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstdint>
#endif

namespace scratchy {

#if defined(__x86_64__)
namespace {

// Where cpuid shows an instruction set (Intel SDM volume 2A, CPUID), and which profile begins to need it.
struct Feature {
  const char* name;
  uint32_t leaf, subleaf;
  enum Register : uint8_t { kEax, kEbx, kEcx, kEdx } place;
  int bit;
  int level;  // of x86-64; 5: v4 with BF16
};

constexpr Feature kFeatures[] = {
    {"AVX", 1, 0, Feature::kEcx, 28, 3},           {"FMA", 1, 0, Feature::kEcx, 12, 3},
    {"F16C", 1, 0, Feature::kEcx, 29, 3},          {"MOVBE", 1, 0, Feature::kEcx, 22, 3},
    {"AVX2", 7, 0, Feature::kEbx, 5, 3},           {"BMI1", 7, 0, Feature::kEbx, 3, 3},
    {"BMI2", 7, 0, Feature::kEbx, 8, 3},           {"LZCNT", 0x80000001, 0, Feature::kEcx, 5, 3},
    {"AVX512F", 7, 0, Feature::kEbx, 16, 4},       {"AVX512DQ", 7, 0, Feature::kEbx, 17, 4},
    {"AVX512CD", 7, 0, Feature::kEbx, 28, 4},      {"AVX512BW", 7, 0, Feature::kEbx, 30, 4},
    {"AVX512VL", 7, 0, Feature::kEbx, 31, 4},      {"AVX512_VNNI", 7, 0, Feature::kEcx, 11, 4},
    {"AVX512_VBMI", 7, 0, Feature::kEcx, 1, 4},    {"AVX512_BF16", 7, 1, Feature::kEax, 5, 5},
};

bool has(const Feature& feature) {
  uint32_t registers[4] = {};
  if (__get_cpuid_count(feature.leaf, feature.subleaf, &registers[0], &registers[1], &registers[2], &registers[3]) == 0) return false;
  return (registers[feature.place] >> feature.bit & 1) != 0;
}

// The register states the system saves (XCR0): 6 for the halves of AVX, 0xe6 with those of AVX-512.
bool system_saves(uint64_t states) {
  if (!has({"OSXSAVE", 1, 0, Feature::kEcx, 27, 3})) return false;
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return ((uint64_t{high} << 32 | low) & states) == states;
}

int level_of(std::string_view profile) {
  if (profile == "x86-64-v3") return 3;
  if (profile == "x86-64-v4") return 4;
  if (profile == "x86-64-v4-bf16") return 5;
  return 0;
}

}  // namespace

Status check_processor(std::string_view profile) {
  const int level = level_of(profile);
  if (level == 0) return Done{};
  std::string missing;
  const auto note = [&](const char* name) { missing += (missing.empty() ? "" : ", ") + std::string(name); };
  for (const Feature& feature : kFeatures) {
    if (feature.level <= level && !has(feature)) note(feature.name);
  }
  if (missing.empty() && !system_saves(level >= 4 ? 0xe6 : 6)) note(level >= 4 ? "AVX-512 registers (not enabled by the system)" : "AVX registers (not enabled by the system)");
  if (missing.empty()) return Done{};
  return Failure("this processor lacks " + missing + ", which the profile `" + std::string(profile) + "` of this binary needs; build it for this processor with `--profile native`");
}
#else
Status check_processor(std::string_view) { return Done{}; }
#endif

}  // namespace scratchy
