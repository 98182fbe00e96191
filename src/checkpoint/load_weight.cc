#include "checkpoint/load_weight.h"

#include <cmath>
#include <numeric>

#include "base/checked.h"
#include "checkpoint/load_matrix.h"

namespace scratchy {
namespace {

std::string where(const WeightSource& source) {
  std::string text = "weight `" + std::string(source.name) + "`";
  if (source.layer >= 0) text += " of layer " + std::to_string(source.layer);
  return text;
}

bool names_experts(const WeightForm& form) { return form.path.find("{expert}") != std::string_view::npos; }

// Whether the tensors of `path` are there, as a module (`.weight` and its quantised kin) or as a tensor.
bool is_there(const Checkpoint& checkpoint, const WeightForm& form, const std::string& path) {
  if (form.bare) return checkpoint.find(path) != nullptr;
  return checkpoint.find(path + ".weight") != nullptr || !weight_tensors(checkpoint, path).empty();
}

void replace(std::string& text, std::string_view from, const std::string& to) {
  const size_t at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
}

// Stored row of each of `rows` wanted rows, for all that a form may have done to rows; empty = as stored.
Result<std::vector<uint32_t>> row_order(const WeightForm& form, uint32_t rows) {
  if (form.of == 0 && form.rotary_heads == 0 && (form.tile_groups == 0 || form.tile_columns)) return std::vector<uint32_t>();
  std::vector<uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  if (form.rotary_heads > 0) {
    const uint32_t heads = static_cast<uint32_t>(form.rotary_heads);
    if (rows % (2 * heads) != 0) {
      return Failure(std::to_string(rows) + " rows are not whole rotary pairs of " + std::to_string(heads) + " heads");
    }
    const uint32_t width = rows / heads, half = width / 2;
    for (uint32_t row = 0; row < rows; ++row) {
      const uint32_t head = row / width, place = row % width;
      order[row] = head * width + (place % half) * 2 + place / half;
    }
  }
  if (form.of != 0) {
    for (uint32_t& row : order) row = static_cast<uint32_t>(form.first + int64_t{row} * form.step);
  }
  return order;
}

// Stored place of each wanted place of tiled value heads, over `count` rows or columns.
Result<std::vector<uint32_t>> tile_order(const WeightForm& form, uint32_t count) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  const uint32_t begin = static_cast<uint32_t>(form.tile_begin), width = static_cast<uint32_t>(form.tile_width);
  const uint32_t groups = static_cast<uint32_t>(form.tile_groups);
  if (begin > count || (count - begin) % (width * groups) != 0) {
    return Failure(std::to_string(count) + " places are not whole value heads of width " + std::to_string(width));
  }
  const uint32_t heads = (count - begin) / width, each = heads / groups;
  for (uint32_t place = begin; place < count; ++place) {
    const uint32_t head = (place - begin) / width, inside = (place - begin) % width;
    const uint32_t group = head / each, value = head % each;
    order[place] = begin + (value * groups + group) * width + inside;
  }
  return order;
}

Result<std::vector<QuantMatrix>> reorder(const WeightForm& form, QuantMatrix matrix, uint32_t rows) {
  TRY(std::vector<uint32_t> order, row_order(form, rows));
  if (form.tile_groups > 0 && !form.tile_columns) {
    TRY(order, tile_order(form, rows));
  }
  if (form.tile_groups > 0 && form.tile_columns) {
    TRY(const std::vector<uint32_t> columns, tile_order(form, matrix.cols()));
    matrix = matrix.with_columns(columns);
  }
  std::vector<QuantMatrix> out;
  if (order.empty()) {
    out.push_back(std::move(matrix));
    return out;
  }
  const bool run = form.of != 0 && form.step == 1 && form.rotary_heads == 0;
  if (run) {
    out.push_back(matrix.slice_rows(static_cast<uint32_t>(form.first), rows));
    return out;
  }
  for (uint32_t expert = 0; expert < matrix.experts(); ++expert) {
    out.push_back(matrix.experts() == 1 ? matrix.with_rows(order) : matrix.expert(expert).with_rows(order));
  }
  return out;
}

Result<LoadedWeight> load_matrices(const Checkpoint& checkpoint, const WeightRoot& root, const WeightSource& source,
                                   const WeightForm& form) {
  MatrixShape shape;
  shape.rows = form.of != 0 ? static_cast<uint32_t>(form.of) : source.rows;
  shape.cols = source.columns;
  shape.transposed = form.transposed;
  const bool each = source.kind == WeightShapeKind::kExperts && names_experts(form);
  if (source.kind == WeightShapeKind::kExperts && !each) shape.experts = source.experts;
  LoadedWeight out;
  const uint32_t count = each ? source.experts : 1;
  for (uint32_t expert = 0; expert < count; ++expert) {
    TRY(QuantMatrix matrix, load_matrix(checkpoint, weight_path(form, root, source.layer, expert), shape));
    TRY(std::vector<QuantMatrix> ordered, reorder(form, std::move(matrix), source.rows));
    for (QuantMatrix& part : ordered) out.matrices.push_back(std::move(part));
  }
  return out;
}

// The heads of a matrix put together from two tensors, in f32: one of them is stored the other way round.
Result<LoadedWeight> load_split_heads(const Checkpoint& checkpoint, const WeightRoot& root, const WeightSource& source, const WeightForm& form) {
  const std::string first_path = weight_path(form, root, source.layer, 0), other_path = weight_path(other_part(form), root, source.layer, 0);
  const uint32_t heads = static_cast<uint32_t>(form.split_heads), columns = source.columns, of_head = source.rows / heads;
  const TensorInfo* stored = checkpoint.find(first_path + ".weight");
  const uint64_t first = stored == nullptr || stored->shape.empty() ? 0 : stored->shape.back();
  if (first == 0 || first >= of_head || source.rows % heads != 0) {
    return Failure("tensor `" + first_path + ".weight` has " + std::to_string(first) + " of the " + std::to_string(of_head) + " rows of a head");
  }
  const auto rows = static_cast<uint32_t>(first);
  TRY(const QuantMatrix turned, load_matrix(checkpoint, first_path, {.rows = columns, .cols = rows, .experts = heads}));
  TRY(const QuantMatrix others, load_matrix(checkpoint, other_path, {.rows = of_head - rows, .cols = columns, .experts = heads}));
  LoadedWeight out;
  out.dense.resize(uint64_t{source.rows} * columns);
  std::vector<float> row(rows);
  for (uint64_t head = 0; head < heads; ++head) {
    float* to = out.dense.data() + head * of_head * columns;
    for (uint64_t column = 0; column < columns; ++column) {
      turned.dequantize_row(head * columns + column, row.data());
      for (uint64_t r = 0; r < rows; ++r) to[r * columns + column] = row[r];
    }
    for (uint64_t r = rows; r < of_head; ++r) others.dequantize_row(head * (of_head - rows) + r - rows, to + r * columns);
  }
  return out;
}

uint64_t at_least_one(uint64_t count) { return count == 0 ? 1 : count; }

// Rows of a dense weight are its last axis: [rows], or [experts, rows] of biases, or [rows, columns] of small tables.
Result<LoadedWeight> load_dense(const Checkpoint& checkpoint, const WeightRoot& root, const WeightSource& source,
                                const WeightForm& form) {
  const bool each = source.experts > 0 && names_experts(form);
  const uint64_t stored_rows = form.of != 0 ? static_cast<uint64_t>(form.of) : source.rows;
  const uint64_t stacks = at_least_one(source.experts), columns = at_least_one(source.columns);
  TRY(std::vector<uint32_t> order, row_order(form, source.rows));
  if (form.tile_groups > 0) {
    TRY(order, tile_order(form, source.rows));
  }
  LoadedWeight out;
  for (uint32_t part = 0; part < (each ? source.experts : 1); ++part) {
    std::string name = weight_path(form, root, source.layer, part);
    if (!form.bare) name += ".weight";
    TRY(std::vector<float> values, load_vector(checkpoint, name, (each ? 1 : stacks) * stored_rows * columns));
    if (order.empty()) {
      out.dense.insert(out.dense.end(), values.begin(), values.end());
      continue;
    }
    for (uint64_t stack = 0; stack < (each ? 1 : stacks); ++stack) {
      for (const uint32_t row : order) {
        const auto from = values.begin() + static_cast<std::ptrdiff_t>((stack * stored_rows + row) * columns);
        out.dense.insert(out.dense.end(), from, from + static_cast<std::ptrdiff_t>(columns));
      }
    }
  }
  for (float& value : out.dense) {
    if (form.log_of_negative) {
      if (!(value < 0.0F)) return Failure("the stored value " + std::to_string(value) + " is not -exp of anything");
      value = std::log(-value);
    }
    value += form.add;
  }
  return out;
}

}  // namespace

std::vector<float> dequantize(LoadedWeight loaded) {
  if (loaded.matrices.empty()) return std::move(loaded.dense);
  std::vector<float> values;
  for (const QuantMatrix& matrix : loaded.matrices) {
    const size_t begin = values.size();
    values.resize(begin + matrix.row_count() * matrix.cols());
    for (uint64_t row = 0; row < matrix.row_count(); ++row) matrix.dequantize_row(row, values.data() + begin + row * matrix.cols());
  }
  return values;
}

std::string weight_path(const WeightForm& form, const WeightRoot& root, int32_t layer, uint32_t expert) {
  std::string path;
  switch (form.place) {
    case WeightPlace::kDecoder: path = root.decoder; break;
    case WeightPlace::kOuter: path = root.outer; break;
    case WeightPlace::kGguf: break;
  }
  path += form.path;
  replace(path, "{layer}", std::to_string(layer));
  replace(path, "{expert}", std::to_string(expert));
  return path;
}

WeightForm other_part(const WeightForm& form) {
  WeightForm other = form;
  other.path = form.beside;
  return other;
}

const WeightForm* find_form_of(const Checkpoint& checkpoint, const WeightRoot& root, const WeightSource& source) {
  for (const WeightForm& form : source.forms) {
    if (has_form(checkpoint, root, source, form)) return &form;
  }
  return nullptr;
}

bool has_form(const Checkpoint& checkpoint, const WeightRoot& root, const WeightSource& source, const WeightForm& form) {
  return (form.place == WeightPlace::kGguf) == checkpoint.is_gguf() && is_there(checkpoint, form, weight_path(form, root, source.layer, 0));
}

Result<LoadedWeight> load_weight(const Checkpoint& checkpoint, const WeightRoot& root, const WeightSource& source) {
  const WeightForm* form = find_form_of(checkpoint, root, source);
  if (form == nullptr) {
    std::string tried;
    for (const WeightForm& option : source.forms) {
      if ((option.place == WeightPlace::kGguf) != checkpoint.is_gguf()) continue;
      tried += (tried.empty() ? "`" : ", `") + weight_path(option, root, source.layer, 0) + "`";
    }
    return Failure(where(source) + " is not in the checkpoint: looked for " + (tried.empty() ? "nothing, it has no form for this kind of file" : tried));
  }
  auto loaded = source.kind == WeightShapeKind::kDense ? load_dense(checkpoint, root, source, *form)
                : form->split_heads > 0                ? load_split_heads(checkpoint, root, source, *form)
                                                       : load_matrices(checkpoint, root, source, *form);
  if (!loaded.ok()) return std::move(loaded).failure().in(where(source));
  return loaded;
}

}  // namespace scratchy
