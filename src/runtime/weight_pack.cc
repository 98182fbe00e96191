#include "runtime/weight_pack.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/key_hash.h"
#include "checkpoint/check_tensors.h"
#include "checkpoint/load_weight.h"

namespace scratchy {
namespace {

constexpr uint64_t kDataAlignment = 64;

// Row-major f32 values under the transforms of a record.
struct DenseTensor {
  std::vector<int64_t> dims;
  std::vector<float> values;
};

DenseTensor slice(const DenseTensor& in, const WeightTransform& t) {
  DenseTensor out;
  out.dims = in.dims;
  out.dims[t.axis] = t.end - t.begin;
  int64_t outer = 1, inner = 1;
  for (int d = 0; d < t.axis; ++d) outer *= in.dims[d];
  for (size_t d = t.axis + 1; d < in.dims.size(); ++d) inner *= in.dims[d];
  const int64_t width = in.dims[t.axis];
  for (int64_t o = 0; o < outer; ++o) {
    const float* from = in.values.data() + (o * width + t.begin) * inner;
    out.values.insert(out.values.end(), from, from + (t.end - t.begin) * inner);
  }
  return out;
}

DenseTensor transpose(const DenseTensor& in) {
  DenseTensor out;
  out.dims = in.dims;
  const size_t rank = in.dims.size();
  const int64_t rows = in.dims[rank - 2], columns = in.dims[rank - 1];
  std::swap(out.dims[rank - 2], out.dims[rank - 1]);
  out.values.resize(in.values.size());
  const int64_t matrices = static_cast<int64_t>(in.values.size()) / (rows * columns);
  for (int64_t m = 0; m < matrices; ++m) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) out.values[(m * columns + c) * rows + r] = in.values[(m * rows + r) * columns + c];
    }
  }
  return out;
}

DenseTensor apply(DenseTensor tensor, const WeightTransform& t) {
  switch (t.kind) {
    case WeightTransform::kReshape: tensor.dims.assign(t.dims, t.dims + t.rank); return tensor;
    case WeightTransform::kSlice: return slice(tensor, t);
    case WeightTransform::kTranspose: return transpose(tensor);
  }
  return tensor;
}

// Packs one weight after the other and remembers where each went.
class PackWriter {
 public:
  PackWriter(const CompiledProgram& program, const Checkpoint& checkpoint, const PackSink& sink) : program_(program), checkpoint_(checkpoint), sink_(sink) {
    at_ = sizeof(PackHeader) + sizeof(PackEntry) * static_cast<uint64_t>(program.weight_count);
  }

  Result<uint64_t> run(const WeightRoot& root, const std::function<void(size_t, size_t)>& progress) {
    for (int32_t i = 0; i < program_.weight_count; ++i) {
      const WeightRecord& record = program_.weights[i];
      const WeightSource& source = program_.weight_plan->sources[record.source];
      if (const int32_t same = same_weight(i); same >= 0) {
        entries_.push_back(entries_[static_cast<size_t>(same)]);
        continue;
      }
      TRY(LoadedWeight loaded, load_weight(checkpoint_, root, source));
      TRY_STATUS(write(record, source, std::move(loaded)));
      if (progress) progress(static_cast<size_t>(i) + 1, static_cast<size_t>(program_.weight_count));
    }
    TRY_STATUS(sink_(sizeof(PackHeader), std::as_bytes(std::span(entries_))));
    PackHeader header{};
    std::memcpy(header.magic, "SCRPACK1", 8);
    header.file_bytes = at_;
    std::memcpy(header.key, pack_key(program_, checkpoint_).data(), 32);
    header.count = static_cast<uint64_t>(program_.weight_count);
    TRY_STATUS(sink_(0, std::as_bytes(std::span(&header, 1))));
    return at_;
  }

 private:
  // An earlier record that reads the same tensor into the same layout (a tied head and its embedding), -1 for none.
  int32_t same_weight(int32_t index) const {
    const auto key = [&](int32_t i) {
      const WeightRecord& r = program_.weights[i];
      const WeightSource& s = program_.weight_plan->sources[r.source];
      return std::tuple(s.forms.data(), s.layer, r.matrices, r.rows, r.columns, r.variant_count, r.transform_count);
    };
    for (int32_t i = 0; i < index; ++i) {
      if (program_.weights[i].transform_count == 0 && key(i) == key(index)) return i;
    }
    return -1;
  }

  Status write(const WeightRecord& record, const WeightSource& source, LoadedWeight loaded) {
    at_ = (at_ + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
    const bool whole = record.variant_count > 0 && record.transform_count == 0 && !loaded.matrices.empty();
    return whole ? write_matrices(record, loaded) : write_dense(record, source, std::move(loaded));
  }

  // Matrices of one layout: the narrowest that holds all of the stack.
  Status write_matrices(const WeightRecord& record, const LoadedWeight& loaded) {
    std::vector<std::byte> packed;
    for (int variant = -1;;) {
      variant = program_.packer->next_variant(record, loaded.matrices[0], variant);
      if (variant < 0) return no_layout(record);
      const size_t bytes = program_.packer->packed_bytes(record.variants[variant], record.rows, record.columns);
      const uint64_t begin = at_;
      packed.resize(bytes);
      bool fits = true;
      for (int32_t m = 0; m < record.matrices && fits; ++m) {
        fits = program_.packer->pack(record.variants[variant], record.matrices == 1 ? loaded.matrices[0] : loaded.expert(static_cast<uint32_t>(m)), packed.data());
        if (fits) TRY_STATUS(append(packed));
      }
      if (fits) {
        entries_.push_back({begin, bytes, variant, 0});
        return Done{};
      }
      at_ = begin;
    }
  }

  Status write_dense(const WeightRecord& record, const WeightSource& source, LoadedWeight loaded) {
    DenseTensor tensor;
    for (const uint32_t d : {source.experts, source.rows, source.columns}) {
      if (d > 0) tensor.dims.push_back(d);
    }
    tensor.values = dequantize(std::move(loaded));
    for (int32_t t = 0; t < record.transform_count; ++t) tensor = apply(std::move(tensor), record.transforms[t]);
    if (record.variant_count == 0) {
      entries_.push_back({at_, tensor.values.size() * sizeof(float), -1, 0});
      return append(std::as_bytes(std::span(tensor.values)));
    }
    const int variant = record.variant_count - 1;  // the plain f32 layout stands last
    const size_t bytes = program_.packer->packed_bytes(record.variants[variant], record.rows, record.columns);
    entries_.push_back({at_, bytes, variant, 0});
    std::vector<std::byte> packed(bytes);
    for (int32_t m = 0; m < record.matrices; ++m) {
      const float* values = tensor.values.data() + int64_t{m} * record.rows * record.columns;
      if (!program_.packer->pack_f32(record.variants[variant], values, record.rows, record.columns, packed.data())) return no_layout(record);
      TRY_STATUS(append(packed));
    }
    return Done{};
  }

  Status append(std::span<const std::byte> bytes) {
    TRY_STATUS(sink_(at_, bytes));
    at_ += bytes.size();
    return Done{};
  }

  Failure no_layout(const WeightRecord& record) const {
    const WeightSource& source = program_.weight_plan->sources[record.source];
    return Failure("weight `" + std::string(source.name) + "`" + (source.layer >= 0 ? " of layer " + std::to_string(source.layer) : "") +
                   ": this binary was compiled without a kernel for the form it is stored in (compiled for `" + program_.quant + "`); build it for this checkpoint");
  }

  const CompiledProgram& program_;
  const Checkpoint& checkpoint_;
  const PackSink& sink_;
  uint64_t at_;
  std::vector<PackEntry> entries_;
};

}  // namespace

std::string pack_key(const CompiledProgram& program, const Checkpoint& checkpoint) {
  KeyHash hash;
  hash.add(checkpoint.identity());
  for (const char* text : {program.arch, program.stem, program.quant}) hash.add(text);
  for (int32_t i = 0; i < program.weight_count; ++i) {
    const WeightRecord& record = program.weights[i];
    for (const int64_t n : {record.source, record.matrices, record.rows, record.columns, record.variant_count, record.transform_count}) hash.add(n);
    for (int32_t v = 0; v < record.variant_count; ++v) hash.add(record.variants[v].pack_form);
    for (int32_t t = 0; t < record.transform_count; ++t) {
      hash.add(record.transforms[t].axis * 1000003 + record.transforms[t].begin);
      hash.add(record.transforms[t].end * 4 + record.transforms[t].kind);
    }
  }
  return hash.hex();
}

Result<uint64_t> write_pack(const CompiledProgram& program, const Checkpoint& checkpoint, const PackSink& sink,
                            const std::function<void(size_t, size_t)>& progress) {
  TRY(const WeightRoot root, check_tensors(checkpoint, *program.weight_plan));
  TRY_STATUS(check_copies(checkpoint, *program.weight_plan, root));
  return PackWriter(program, checkpoint, sink).run(root, progress);
}

}  // namespace scratchy
