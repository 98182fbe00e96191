#include "text/template/strftime.h"

namespace scratchy::jinja {
namespace {

// One directive by the library, which knows no locale but C here. A mark in front tells an empty result from a failure.
std::string format_directive(char directive, std::string_view flag, const std::tm& time) {
  const std::string format = ">%" + std::string(flag) + directive;
  char buffer[128];
  const size_t size = std::strftime(buffer, sizeof buffer, format.c_str(), &time);
  return size == 0 ? "" : std::string(buffer + 1, size - 1);
}

}  // namespace

std::string format_time(Budget& budget, std::string_view format, const std::tm& time) {
  budget.spend_product(format.size(), 16);
  static constexpr std::string_view kKnown = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyY%";
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out.push_back(format[i]);
      continue;
    }
    const bool flagged = std::string_view("-_0^#").find(format[i + 1]) != std::string_view::npos && i + 2 < format.size();
    const char directive = format[i + (flagged ? 2 : 1)];
    const std::string_view flag = format.substr(i + 1, flagged ? 1 : 0);
    i += flagged ? 2 : 1;
    if (directive == 'f') out += "000000";
    else if (directive == 'z' || directive == 'Z') out += "";
    else if (kKnown.find(directive) == std::string_view::npos) out += "%" + std::string(flag) + directive;
    else out += format_directive(directive, flag, time);
  }
  return out;
}

}  // namespace scratchy::jinja
