// One tensor of a checkpoint as its file declares it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "numeric/dtype.h"
#include "numeric/quant_form.h"

namespace scratchy {

struct TensorInfo {
  std::string name;
  // kU8 for tensors stored as blocks.
  DType dtype = DType::kF32;
  // The block form of a GGUF tensor; nothing for plain elements.
  std::optional<QuantForm> blocks;
  // Elements, slowest dimension first: [N, K] for a matrix in every container.
  std::vector<uint64_t> shape;
  // Where its bytes are: in file number `file` of the checkpoint, from the file's start.
  uint32_t file = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  uint64_t count() const {
    uint64_t product = 1;
    for (const uint64_t dim : shape) product *= dim;  // readers have checked that it does not overflow
    return product;
  }
};

// "[576, 1536]".
std::string shape_text(const std::vector<uint64_t>& shape);

}  // namespace scratchy
