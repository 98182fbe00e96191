#include "targets/cpu/options.h"

#include <algorithm>

namespace scratchy::cpu {

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> kProfiles = {
      {"x86-64-v3", "-march=x86-64-v3", false},
      {"x86-64-v4", "-march=x86-64-v4 -mavx512vnni -mavx512vbmi", false},
      {"x86-64-v4-bf16", "-march=x86-64-v4 -mavx512vnni -mavx512vbmi -mavx512bf16", true},
      {"armv8.2-a", "-march=armv8.2-a+dotprod+fp16", false},
  };
  return kProfiles;
}

const Profile* find_profile(std::string_view name) {
  const auto found = std::find_if(profiles().begin(), profiles().end(), [&](const Profile& p) { return p.name == name; });
  return found == profiles().end() ? nullptr : &*found;
}

namespace {

constexpr PackForm kGguf[] = {PackForm::kQ4_0, PackForm::kQ4_1, PackForm::kQ5_0, PackForm::kQ5_1, PackForm::kQ8_0, PackForm::kQ2_K,
                              PackForm::kQ3_K, PackForm::kQ4_K, PackForm::kQ5_K, PackForm::kQ6_K, PackForm::kIQ4_NL};

// Layouts of a method's matrices whose activations stay f32, narrowest first: a matrix takes the first that holds it.
std::vector<PackForm> float_forms(std::string_view method) {
  if (method == "awq" || method == "gptq") {
    return {PackForm::kU4G32F16Zero, PackForm::kU4G64F16Zero, PackForm::kU4G128F16Zero, PackForm::kU4G32F32, PackForm::kU4G64F32, PackForm::kU4G128F32, PackForm::kU4Row};
  }
  if (method == "compressed-tensors") {
    return {PackForm::kU4G32F16Zero, PackForm::kU4G32BF16Zero, PackForm::kU4G64F16Zero, PackForm::kU4G64BF16Zero, PackForm::kU4G128F16Zero, PackForm::kU4G128BF16Zero,
            PackForm::kU8G128F16Zero, PackForm::kU8G128BF16Zero, PackForm::kU4G32F32, PackForm::kU4G64F32, PackForm::kU4G128F32, PackForm::kU8G32F32, PackForm::kU8G64F32,
            PackForm::kU8G128F32, PackForm::kU4Row, PackForm::kU8Row, PackForm::kFp8Row, PackForm::kFp8G128, PackForm::kNvfp4};
  }
  if (method == "bitsandbytes") return {PackForm::kNf4G64};
  if (method == "fp8") return {PackForm::kFp8Row, PackForm::kFp8G128};
  if (method == "modelopt" || method == "nvfp4") return {PackForm::kNvfp4, PackForm::kFp8Row};
  if (method == "scratch") return {PackForm::kU1Row, PackForm::kU4Row};
  if (method == "mlx") {
    return {PackForm::kU2G32BF16, PackForm::kU2G64BF16, PackForm::kU2G128BF16, PackForm::kU3G32BF16, PackForm::kU3G64BF16, PackForm::kU3G128BF16,
            PackForm::kU4G32BF16, PackForm::kU4G64BF16, PackForm::kU4G128BF16, PackForm::kU6G32BF16, PackForm::kU6G64BF16, PackForm::kU6G128BF16,
            PackForm::kU8G32BF16, PackForm::kU8G64BF16, PackForm::kU8G128BF16, PackForm::kU2G32F32, PackForm::kU2G64F32, PackForm::kU2G128F32,
            PackForm::kU3G32F32, PackForm::kU3G64F32, PackForm::kU3G128F32, PackForm::kU4G32F32, PackForm::kU4G64F32, PackForm::kU4G128F32,
            PackForm::kU5G32F32, PackForm::kU5G64F32, PackForm::kU5G128F32, PackForm::kU6G32F32, PackForm::kU6G64F32, PackForm::kU6G128F32,
            PackForm::kU8G32F32, PackForm::kU8G64F32, PackForm::kU8G128F32};
  }
  return {};
}

}  // namespace

std::vector<VariantChoice> variants_for(std::string_view quant_method, const Profile& profile) {
  std::vector<VariantChoice> variants;
  if (quant_method == "gguf") {
    for (const PackForm form : kGguf) variants.push_back({form, Act::kQ8});
  } else {
    const std::vector<PackForm> forms = float_forms(quant_method);
    if (forms.empty() && !quant_method.empty()) return {};
    for (const PackForm form : forms) variants.push_back({form, Act::kF32});
  }
  // Dense matrices stand beside quantised ones in every file.
  variants.push_back({PackForm::kBF16, profile.bf16_dot ? Act::kBF16 : Act::kF32});
  variants.push_back({PackForm::kF16, Act::kF32});
  variants.push_back({PackForm::kF32, Act::kF32});
  return variants;
}

PreparedKinds prepared_kinds(const std::vector<VariantChoice>& variants) {
  PreparedKinds kinds;
  for (const VariantChoice& variant : variants) {
    kinds.bf16 |= variant.activation == Act::kBF16;
    kinds.q8 |= variant.activation == Act::kQ8;
  }
  return kinds;
}

}  // namespace scratchy::cpu
