// Inside of load_matrix: one matrix being put together from its tensors.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/load_matrix.h"

namespace scratchy {

class MatrixLoader {
 public:
  MatrixLoader(const Checkpoint& checkpoint, std::string_view module, const MatrixShape& shape)
      : checkpoint_(checkpoint), module_(module), shape_(shape), storage_(std::make_shared<Storage>()) {}

  Result<QuantMatrix> load();

 private:
  // Bytes read, kept alive by the matrix.
  struct Storage {
    std::vector<std::unique_ptr<std::byte[]>> blocks;
  };

  const TensorInfo* find(std::string_view suffix) const;
  Result<const TensorInfo*> require(std::string_view suffix) const;
  Failure wrong(const TensorInfo& tensor, const std::string& what) const;
  Status expect_shape(const TensorInfo& tensor, std::vector<uint64_t> dims) const;  // experts lead
  Result<QuantPart> read(const TensorInfo& tensor);
  Result<QuantPart> read(std::string_view suffix, std::vector<uint64_t> dims);
  Result<std::vector<float>> read_floats(std::string_view suffix, uint64_t least, uint64_t most);
  Result<std::vector<int64_t>> read_integers(const TensorInfo& tensor) const;
  QuantPart own_floats(const std::vector<float>& values);

  Status check_section(const TensorInfo& tensor) const;
  Status check_width(const TensorInfo& tensor) const;

  Status load_parts();
  Status load_dense();
  Status load_blocks();
  Status load_awq();
  Status load_gptq();
  Status check_gptq_zeros() const;
  Status load_ct();
  Status load_fp8();
  Status load_nvfp4();
  Status load_mxfp4();
  Status load_mlx();
  Status load_nf4();
  Result<std::vector<float>> nf4_scales(const Json& state);
  Status load_scratch();
  Status load_column_groups(const TensorInfo& tensor);
  Status set_group_size(const TensorInfo& scales, uint64_t groups);

  uint64_t experts() const { return shape_.experts == 0 ? 1 : shape_.experts; }

  const Checkpoint& checkpoint_;
  const std::string module_;
  const MatrixShape shape_;
  std::shared_ptr<Storage> storage_;
  QuantParts parts_;
};

// The tensor called module + suffix in the file's spelling: as is, or with `/` for every `.`.
const TensorInfo* find_published(const Checkpoint& checkpoint, const std::string& name);

}  // namespace scratchy
