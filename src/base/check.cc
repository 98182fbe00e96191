#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace scratchy {

void report_bug(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "bug: %s:%d: %s: %s\n", file, line, condition, message.c_str());
  std::abort();
}

}  // namespace scratchy
