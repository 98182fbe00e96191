#include "targets/cpu/options.h"

#include <algorithm>

namespace scratchy::cpu {

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> kProfiles = {
      {"x86-64-v3", "-march=x86-64-v3", false, 144},
      {"x86-64-v4", "-march=x86-64-v4 -mavx512vnni -mavx512vbmi", false, 80},
      {"x86-64-v4-bf16", "-march=x86-64-v4 -mavx512vnni -mavx512vbmi -mavx512bf16", true, 80},
      {"armv8.2-a", "-march=armv8.2-a+dotprod+fp16", false, 80},
  };
  return kProfiles;
}

const Profile* find_profile(std::string_view name) {
  const auto found = std::find_if(profiles().begin(), profiles().end(), [&](const Profile& p) { return p.name == name; });
  return found == profiles().end() ? nullptr : &*found;
}

namespace {

// What the published methods may hold, narrowest first: a matrix takes the first layout that holds it without loss.
std::vector<PackForm> forms_of(QuantMethod method) {
  const auto between = [](PackForm first, PackForm last) {
    std::vector<PackForm> forms;
    for (int form = static_cast<int>(first); form <= static_cast<int>(last); ++form) forms.push_back(static_cast<PackForm>(form));
    return forms;
  };
  const auto with = [](std::vector<PackForm> forms, const std::vector<PackForm>& more) {
    forms.insert(forms.end(), more.begin(), more.end());
    return forms;
  };
  const std::vector<PackForm> rows = {PackForm::kU1Row, PackForm::kU4Row, PackForm::kU8Row};
  switch (method) {
    case QuantMethod::kNone: return {PackForm::kU1Row, PackForm::kU4Row};  // scratch-packed files have no section
    case QuantMethod::kAwq:
    case QuantMethod::kGptq:
    case QuantMethod::kCtInt:
      return with(with(between(PackForm::kU4G32F16Zero, PackForm::kU8G128BF16Zero), between(PackForm::kU2G32F32, PackForm::kU8G128F32)), rows);
    case QuantMethod::kBnbNf4: return {PackForm::kNf4G64};
    case QuantMethod::kFp8: return {PackForm::kFp8Row, PackForm::kFp8G128};
    case QuantMethod::kNvfp4:
    case QuantMethod::kNvfp4Ct: return {PackForm::kNvfp4, PackForm::kFp8Row};
    case QuantMethod::kMxfp4: return {PackForm::kMxfp4};
    case QuantMethod::kMlxAffine: return with(between(PackForm::kU2G32BF16, PackForm::kU8G128BF16), between(PackForm::kU2G32F32, PackForm::kU8G128F32));
    case QuantMethod::kGguf: return between(PackForm::kQ4_0, PackForm::kMxfp4);
  }
  return {};
}

// Whether a section that states widths can have matrices of this layout.
bool has_width(const QuantSection& section, PackForm form) {
  const PackTraits& traits = traits_of(form);
  const auto same = [&](const QuantSection::Width& width) {
    if (width.bits != traits.bits) return false;
    if (traits.group == 0) return true;  // one group a row is any width of row
    return width.group_size == traits.group || (width.group_size > 0 && width.group_size % traits.group == 0);
  };
  if (std::any_of(section.widths.begin(), section.widths.end(), same)) return true;
  return std::any_of(section.modules.begin(), section.modules.end(), [&](const auto& module) { return module.second && same(*module.second); });
}

// Whether a GGUF file of these forms, empty for any, has matrices of this layout.
bool may_hold(const std::vector<QuantForm>& gguf_forms, PackForm form) {
  const auto is_form = [&](QuantForm published) { return quant_form_name(published) == pack_form_name(form); };
  return gguf_forms.empty() || std::any_of(gguf_forms.begin(), gguf_forms.end(), is_form);
}

bool states_widths(const QuantSection& section) {
  const QuantMethod m = section.method;
  return !section.widths.empty() && (m == QuantMethod::kAwq || m == QuantMethod::kGptq || m == QuantMethod::kCtInt || m == QuantMethod::kMlxAffine) && section.bits_overrides.empty();
}

}  // namespace

std::vector<VariantChoice> variants_for(const QuantSection& section, const std::vector<QuantForm>& gguf_forms, const Profile& profile) {
  std::vector<VariantChoice> variants;
  const bool gguf = section.method == QuantMethod::kGguf;
  for (const PackForm form : forms_of(section.method)) {
    if (states_widths(section) && !has_width(section, form)) continue;
    if (gguf && !may_hold(gguf_forms, form)) continue;
    variants.push_back({form, gguf ? Act::kQ16 : Act::kF32});
  }
  // Products of two bf16 where the whole file is rounded that far anyway; beside finer quantised forms f32 is kept.
  if (profile.bf16_dot && (gguf ? may_hold(gguf_forms, PackForm::kBF16) : section.empty())) variants.push_back({PackForm::kBF16, Act::kBF16});
  variants.push_back({PackForm::kBF16, Act::kF32});
  variants.push_back({PackForm::kF16, Act::kF32});
  variants.push_back({PackForm::kF32, Act::kF32});
  return variants;
}

PreparedKinds prepared_kinds(const std::vector<VariantChoice>& variants) {
  PreparedKinds kinds;
  for (const VariantChoice& variant : variants) {
    kinds.bf16 |= variant.activation == Act::kBF16;
    kinds.q16 |= variant.activation == Act::kQ16;
  }
  return kinds;
}

}  // namespace scratchy::cpu
