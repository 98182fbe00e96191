// Reads one weight of a program from a checkpoint by its plan, undoing what the published form changed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/weight_source.h"
#include "numeric/quant_matrix.h"

namespace scratchy {

// Exactly one of the two is filled.
struct LoadedWeight {
  // kMatrix: one, or values where it was put together from parts. kExperts: one matrix of E experts, or E matrices of one.
  std::vector<QuantMatrix> matrices;
  // kDense: the values in f32.
  std::vector<float> dense;

  // Expert `index` of a kExperts weight.
  QuantMatrix expert(uint32_t index) const {
    return matrices.size() == 1 ? matrices[0].expert(index) : matrices.at(index);
  }
};

// All values of a loaded weight in f32, row-major, experts outermost.
std::vector<float> dequantize(LoadedWeight loaded);

// The weight at `source`, under the prefix `root` (choose_root of check_tensors.h; ignored for GGUF). A Failure names the
// weight and its layer, the tensor, what is there and what was wanted.
Result<LoadedWeight> load_weight(const Checkpoint& checkpoint, const WeightRoot& root, const WeightSource& source);

// The form of `source` that `checkpoint` has under `root`, null when it has none.
const WeightForm* find_form_of(const Checkpoint& checkpoint, const WeightRoot& root, const WeightSource& source);

// Whether the tensors of `form` are there, of the first expert where it names each.
bool has_form(const Checkpoint& checkpoint, const WeightRoot& root, const WeightSource& source, const WeightForm& form);

// The form of the second tensor of split heads.
WeightForm other_part(const WeightForm& form);

// The path of a form for a layer and an expert, prefix included.
std::string weight_path(const WeightForm& form, const WeightRoot& root, int32_t layer, uint32_t expert);

}  // namespace scratchy
