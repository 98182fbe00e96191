// How large a model is: parameters, those that a token uses, and the bytes its weights take in a quant form.
//
// Counts come from the traced graph, so a tied head is counted once and a weight nothing uses not at all. Bytes are those
// of the published form: codes, scales, zeros and offsets of the matrices that the form covers, the config's dtype for the
// rest. The types in a GGUF file are its own; a model of one is counted as if every matrix were q4_0.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/quant_section.h"
#include "compiler/pipeline.h"

namespace scratchy {

struct ModelSize {
  int64_t parameters = 0, active_parameters = 0;
  int64_t experts = 0, picks = 0;  // of the largest routed layer; 0: none
  double weight_bytes = 0;
  std::vector<double> bytes_of_resource;  // by ResourceId; 0 for what is no weight
};

ModelSize model_size(const OptimizedModel& model, const QuantSection& section);

// Bytes of one weight of a matrix of `rows` x `columns` in the section's form; `path` decides its width. Nothing when the
// section leaves it dense.
std::optional<double> bytes_per_weight(const QuantSection& section, std::string_view path, int64_t rows, int64_t columns);

}  // namespace scratchy
