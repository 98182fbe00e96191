#include "compiler/native_profile.h"

#include "base/check_processor.h"
#include "base/text.h"

namespace scratchy {
namespace {

// Whether a profile is one of the kind of processor this program was built for.
bool is_of_this_kind(const cpu::Profile& profile) {
#if defined(__x86_64__)
  return profile.name.starts_with("x86-64");
#else
  return profile.name.starts_with("arm");
#endif
}

}  // namespace

const cpu::Profile* native_profile() {
  const cpu::Profile* widest = nullptr;
  for (const cpu::Profile& profile : cpu::profiles()) {
    if (is_of_this_kind(profile) && check_processor(profile.name).ok()) widest = &profile;
  }
  return widest;
}

const cpu::Profile* resolve_profile(const std::string& name, Diagnostics& diagnostics) {
  const cpu::Profile* profile = name == "native" ? native_profile() : cpu::find_profile(name);
  if (profile == nullptr) {
    diagnostics.add(DiagnosticKind::kBadFlag, {}, {{"flag", "--profile"}, {"value", escape_for_message(name)}, {"rule", "native or one of " + profile_names()}});
  }
  return profile;
}

std::string profile_names() {
  std::string names;
  for (const cpu::Profile& profile : cpu::profiles()) names += (names.empty() ? "" : ", ") + std::string(profile.name);
  return names;
}

}  // namespace scratchy
