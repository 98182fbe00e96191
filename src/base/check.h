// Checks for bugs of ours: they print what was seen and abort. Never used on input.
#pragma once

#include <string>

namespace scratchy {

// Prints "bug: file:line: condition: message" to standard error and aborts.
[[noreturn]] void report_bug(const char* file, int line, const char* condition, const std::string& message);

}  // namespace scratchy

#define SCRATCHY_CHECK(condition, message)                                                  \
  do {                                                                                      \
    if (!(condition)) ::scratchy::report_bug(__FILE__, __LINE__, #condition, (message));    \
  } while (false)

#define SCRATCHY_UNREACHABLE(message) ::scratchy::report_bug(__FILE__, __LINE__, "unreachable", (message))
