// What is chosen when a binary for this target is built.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/quant_section.h"
#include "numeric/quant_form.h"
#include "targets/cpu/kernels/kv_cache.h"
#include "targets/cpu/kernels/pack_form.h"
#include "targets/cpu/kernels/prepared_rows.h"

namespace scratchy::cpu {

// An instruction set that a binary is compiled for.
struct Profile {
  std::string_view name;   // "x86-64-v3"
  std::string_view flags;  // for the C++ compiler
  bool bf16_dot;           // multiplies pairs of bf16
  int q16_block_bytes;     // sizeof(Q16Block) there, which the compiler itself cannot see
};

// All profiles, the plainest first; null for an unknown name.
const std::vector<Profile>& profiles();
const Profile* find_profile(std::string_view name);

// A layout of packed matrices and the activations it is multiplied with.
struct VariantChoice {
  PackForm form;
  Act activation;
};

// The layouts a program carries kernels for: those of the section's method and widths, and the dense ones, which stand
// beside quantised matrices in every file. `gguf_forms` narrows GGUF's to those a file really has; empty: all.
std::vector<VariantChoice> variants_for(const QuantSection& section, const std::vector<QuantForm>& gguf_forms, const Profile& profile);

// What the chosen activations need prepared.
PreparedKinds prepared_kinds(const std::vector<VariantChoice>& variants);

struct Options {
  const Profile* profile;
  KvType kv = KvType::kF16;
  std::vector<VariantChoice> variants;
};

}  // namespace scratchy::cpu
