// A 128-bit name for content: two FNV-1a sums side by side. For caches, not against forgers.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace scratchy {

class KeyHash {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) {
      a_ = (a_ ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
      b_ = (b_ ^ static_cast<uint8_t>(c)) * 0x10000000233u;
    }
  }
  void add(int64_t number) { add(std::to_string(number) + ","); }

  std::string hex() const {
    char text[40];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(a_), static_cast<unsigned long long>(b_));
    return text;
  }

 private:
  uint64_t a_ = 0xcbf29ce484222325u, b_ = 0x84222325cbf29ce4u;
};

}  // namespace scratchy
