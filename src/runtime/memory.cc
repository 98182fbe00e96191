#include "runtime/memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace scratchy {

Result<Memory> Memory::reserve(size_t bytes, Pages pages) {
  Memory memory;
  if (bytes == 0) return memory;
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return Failure("reserve " + with_thousands(bytes) + " bytes of memory: " + std::strerror(errno));
  if (pages == Pages::kHuge) ::madvise(data, bytes, MADV_HUGEPAGE);  // a wish: without it pages are small
  memory.data_ = static_cast<std::byte*>(data);
  memory.size_ = bytes;
  return memory;
}

Memory::~Memory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace scratchy
