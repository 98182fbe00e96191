// Zeroed memory that the system commits page by page as it is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace scratchy {

class Memory {
 public:
  Memory() = default;
  // Reserves `bytes`; a Failure says how many were asked for. kHuge: committed 2 MiB at a time where the system can, for
  // memory that is used from its begin on.
  enum class Pages : uint8_t { kSmall, kHuge };
  static Result<Memory> reserve(size_t bytes, Pages pages = Pages::kSmall);
  Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Memory();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace scratchy
