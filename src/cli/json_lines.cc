#include "cli/json_lines.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "base/text.h"

namespace scratchy::cli {

Result<std::string> read_standard_input(uint64_t limit) {
  std::string text;
  char block[1 << 16];
  for (;;) {
    const ssize_t got = ::read(0, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failure(std::string("read standard input: ") + std::strerror(errno));
    if (got == 0) return text;
    text.append(block, static_cast<size_t>(got));
    if (text.size() > limit) return Failure("standard input is longer than " + with_thousands(limit) + " bytes");
  }
}

std::string to_text(const nlohmann::ordered_json& value) { return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace); }

int answer_json_lines(const std::function<Result<nlohmann::ordered_json>(const nlohmann::ordered_json& line)>& answer) {
  int exit_code = 0;
  size_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto parsed = nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    Result<nlohmann::ordered_json> out = Failure("line " + std::to_string(number) + " is no JSON object");
    if (parsed.is_object()) out = answer(parsed);
    else exit_code = 1;
    if (!out.ok()) out = nlohmann::ordered_json{{"error", out.failure().message()}};
    // ASCII only: readers that take U+2028 or U+0085 for the end of a line are not misled.
    const std::string text = out->dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) return 1;
  }
  return exit_code;
}

}  // namespace scratchy::cli
