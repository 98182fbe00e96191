// datetime.strftime in the C locale.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "text/template/budget.h"

namespace scratchy::jinja {

// `format` with its directives filled from `time`; unknown ones stay as they are. Paid for by the output's size.
std::string format_time(Budget& budget, std::string_view format, const std::tm& time);

}  // namespace scratchy::jinja
