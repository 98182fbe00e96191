// The ops of the reference interpreter as plain loops over whole tensors, one function an op (op.def has the formulas).
// Internal to interpret.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "graph/interpret.h"

namespace scratchy::interpret {

inline int64_t product(const std::vector<int64_t>& dims) {
  int64_t out = 1;
  for (const int64_t dim : dims) out *= dim;
  return out;
}

template <typename Real>
Tensor<Real> make(std::vector<int64_t> dims) {
  Tensor<Real> out{std::move(dims), {}};
  out.data.resize(static_cast<size_t>(product(out.dims)));
  return out;
}

inline std::vector<int64_t> with_last(std::vector<int64_t> dims, int64_t last) {
  dims.back() = last;
  return dims;
}

// --- elementwise

template <typename Real, typename F>
Tensor<Real> map(const Tensor<Real>& x, F f) {
  Tensor<Real> out = make<Real>(x.dims);
  for (size_t i = 0; i < x.data.size(); ++i) out.data[i] = f(x.data[i]);
  return out;
}

// out[i..] = f of the operands at i.., dims aligned at the last axis, 1 or missing repeated.
template <typename Real, size_t N, typename F>
Tensor<Real> zip(const std::array<const Tensor<Real>*, N>& x, F f) {
  size_t rank = 0;
  for (const auto* t : x) rank = std::max(rank, t->dims.size());
  std::vector<int64_t> dims(rank, 1);
  for (const auto* t : x) {
    for (size_t i = 0; i < t->dims.size(); ++i) {
      int64_t& dim = dims[rank - t->dims.size() + i];
      if (dim == 1) dim = t->dims[i];
    }
  }
  std::array<std::vector<int64_t>, N> strides;
  for (size_t n = 0; n < N; ++n) {
    strides[n].assign(rank, 0);
    int64_t stride = 1;
    for (size_t i = x[n]->dims.size(); i-- > 0;) {
      if (x[n]->dims[i] != 1) strides[n][rank - x[n]->dims.size() + i] = stride;
      stride *= x[n]->dims[i];
    }
  }
  Tensor<Real> out = make<Real>(dims);
  std::vector<int64_t> index(rank, 0);
  std::array<int64_t, N> at{};
  for (Real& value : out.data) {
    std::array<Real, N> operands;
    for (size_t n = 0; n < N; ++n) operands[n] = x[n]->data[static_cast<size_t>(at[n])];
    value = f(operands);
    for (size_t i = rank; i-- > 0;) {
      for (size_t n = 0; n < N; ++n) at[n] += strides[n][i];
      if (++index[i] < dims[i]) break;
      for (size_t n = 0; n < N; ++n) at[n] -= strides[n][i] * dims[i];
      index[i] = 0;
    }
  }
  return out;
}

template <typename Real>
Real sigmoid(Real x) {
  return Real(1) / (Real(1) + std::exp(-x));
}

template <typename Real>
Real softplus(Real x) {
  return x > Real(20) ? x : std::log1p(std::exp(x));
}

template <typename Real>
Real gelu(Real x) {
  return x / 2 * (1 + std::tanh(Real(0.79788456080286535588) * (x + Real(0.044715) * x * x * x)));
}

template <typename Real>
Real gelu_erf(Real x) {
  return x / 2 * (1 + std::erf(x * Real(0.70710678118654752440)));
}

// --- over the last axis

template <typename Real>
Tensor<Real> reduce(OpKind kind, const Tensor<Real>& x) {
  const int64_t width = x.dims.back();
  Tensor<Real> out = make<Real>(with_last(x.dims, 1));
  for (size_t row = 0; row < out.data.size(); ++row) {
    const Real* in = &x.data[row * static_cast<size_t>(width)];
    Real value = kind == OpKind::kMax ? in[0] : Real(0);
    for (int64_t i = 0; i < width; ++i) value = kind == OpKind::kMax ? std::max(value, in[i]) : value + in[i];
    out.data[row] = kind == OpKind::kMean ? value / static_cast<Real>(width) : value;
  }
  return out;
}

// Row r of x[.., C] belongs to head r % N of sinks[N], if there are sinks.
template <typename Real>
Tensor<Real> softmax(const Tensor<Real>& x, const Tensor<Real>* sinks) {
  const size_t width = static_cast<size_t>(x.dims.back());
  Tensor<Real> out = make<Real>(x.dims);
  for (size_t begin = 0, row = 0; begin < x.data.size(); begin += width, ++row) {
    const Real* in = &x.data[begin];
    Real largest = *std::max_element(in, in + width);
    if (sinks) largest = std::max(largest, sinks->data[row % sinks->data.size()]);
    Real sum = 0;
    for (size_t i = 0; i < width; ++i) sum += out.data[begin + i] = std::exp(in[i] - largest);
    if (sinks) sum += std::exp(sinks->data[row % sinks->data.size()] - largest);
    for (size_t i = 0; i < width; ++i) out.data[begin + i] /= sum;
  }
  return out;
}

// Indices of the `count` largest of in[0..width), falling, ties to the lower index.
template <typename Real>
std::vector<int64_t> largest(const Real* in, int64_t width, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(width));
  for (int64_t i = 0; i < width; ++i) order[static_cast<size_t>(i)] = i;
  std::stable_sort(order.begin(), order.end(), [in](int64_t a, int64_t b) { return in[a] > in[b]; });
  order.resize(static_cast<size_t>(count));
  return order;
}

template <typename Real>
std::vector<Tensor<Real>> topk(const Tensor<Real>& x, int64_t count) {
  const int64_t width = x.dims.back();
  Tensor<Real> values = make<Real>(with_last(x.dims, count));
  Tensor<Real> picks = values;
  for (int64_t row = 0; row < product(x.dims) / width; ++row) {
    const Real* in = &x.data[static_cast<size_t>(row * width)];
    const std::vector<int64_t> order = largest(in, width, count);
    for (int64_t j = 0; j < count; ++j) {
      values.data[static_cast<size_t>(row * count + j)] = in[order[static_cast<size_t>(j)]];
      picks.data[static_cast<size_t>(row * count + j)] = static_cast<Real>(order[static_cast<size_t>(j)]);
    }
  }
  return {std::move(values), std::move(picks)};
}

template <typename Real>
Tensor<Real> topk_mask(const Tensor<Real>& x, int64_t count) {
  const int64_t width = x.dims.back();
  Tensor<Real> out = make<Real>(x.dims);
  for (int64_t row = 0; row < product(x.dims) / width; ++row) {
    for (const int64_t pick : largest(&x.data[static_cast<size_t>(row * width)], width, count)) out.data[static_cast<size_t>(row * width + pick)] = 1;
  }
  return out;
}

template <typename Real>
Tensor<Real> gather(const Tensor<Real>& x, const Tensor<Real>& picks) {
  const size_t width = static_cast<size_t>(x.dims.back());
  const size_t count = static_cast<size_t>(picks.dims.back());
  Tensor<Real> out = make<Real>(picks.dims);
  for (size_t i = 0; i < out.data.size(); ++i) out.data[i] = x.data[i / count * width + static_cast<size_t>(picks.data[i])];
  return out;
}

// --- rows and products

// y[r, o] = sum_i x[r, i] * w[o, i] for contiguous rows, i rising; rows in blocks so that a weight row is read once a block.
template <typename Real>
void multiply(const Real* x, const Real* w, Real* y, int64_t rows, int64_t outputs, int64_t inputs, int64_t y_stride) {
  constexpr int64_t kBlock = 8;
  int64_t row = 0;
  std::vector<Real> turned(static_cast<size_t>(inputs * kBlock));
  for (; row + kBlock <= rows; row += kBlock) {
    for (int64_t i = 0; i < inputs; ++i) {
      for (int64_t b = 0; b < kBlock; ++b) turned[static_cast<size_t>(i * kBlock + b)] = x[(row + b) * inputs + i];
    }
    for (int64_t o = 0; o < outputs; ++o) {
      Real sums[kBlock] = {};
      const Real* in = turned.data();
      for (int64_t i = 0; i < inputs; ++i, in += kBlock) {
        const Real weight = w[o * inputs + i];
        for (int64_t b = 0; b < kBlock; ++b) sums[b] += in[b] * weight;
      }
      for (int64_t b = 0; b < kBlock; ++b) y[(row + b) * y_stride + o] = sums[b];
    }
  }
  for (; row < rows; ++row) {
    for (int64_t o = 0; o < outputs; ++o) {
      Real sum = 0;
      for (int64_t i = 0; i < inputs; ++i) sum += x[row * inputs + i] * w[o * inputs + i];
      y[row * y_stride + o] = sum;
    }
  }
}

template <typename Real>
Tensor<Real> gemm(const Tensor<Real>& x, const Tensor<Real>& w) {
  const int64_t inputs = w.dims[1], outputs = w.dims[0];
  Tensor<Real> out = make<Real>(with_last(x.dims, outputs));
  multiply(x.data.data(), w.data.data(), out.data.data(), product(x.dims) / inputs, outputs, inputs, outputs);
  return out;
}

template <typename Real>
Tensor<Real> gemm_heads(const Tensor<Real>& x, const Tensor<Real>& w) {
  const int64_t heads = w.dims[0], outputs = w.dims[1], inputs = w.dims[2];
  Tensor<Real> out = make<Real>({x.dims[0], heads, outputs});
  for (int64_t row = 0; row < x.dims[0] * heads; ++row) {
    const int64_t head = row % heads;
    multiply(&x.data[static_cast<size_t>(row * inputs)], &w.data[static_cast<size_t>(head * outputs * inputs)], &out.data[static_cast<size_t>(row * outputs)], 1, outputs, inputs, outputs);
  }
  return out;
}

template <typename Real>
Tensor<Real> gemm_experts(const Tensor<Real>& x, const Tensor<Real>& w, const Tensor<Real>& picks) {
  const int64_t outputs = w.dims[1], inputs = w.dims[2], count = picks.dims[1];
  Tensor<Real> out = make<Real>({picks.dims[0], count, outputs});
  for (int64_t i = 0; i < picks.dims[0] * count; ++i) {
    const int64_t row = x.dims.size() == 3 ? i : i / count;
    const int64_t expert = static_cast<int64_t>(picks.data[static_cast<size_t>(i)]);
    multiply(&x.data[static_cast<size_t>(row * inputs)], &w.data[static_cast<size_t>(expert * outputs * inputs)], &out.data[static_cast<size_t>(i * outputs)], 1, outputs, inputs, outputs);
  }
  return out;
}

template <typename Real>
Tensor<Real> weighted_sum(const Tensor<Real>& y, const Tensor<Real>& w) {
  const int64_t rows = y.dims[0], count = y.dims[1], width = y.dims[2];
  Tensor<Real> out = make<Real>({rows, width});
  for (int64_t t = 0; t < rows; ++t) {
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t i = 0; i < width; ++i) {
        out.data[static_cast<size_t>(t * width + i)] += w.data[static_cast<size_t>(t * count + j)] * y.data[static_cast<size_t>((t * count + j) * width + i)];
      }
    }
  }
  return out;
}

template <typename Real>
Tensor<Real> slice(const Tensor<Real>& x, int64_t axis, int64_t begin, int64_t end) {
  std::vector<int64_t> dims = x.dims;
  dims[static_cast<size_t>(axis)] = end - begin;
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < dims.size(); ++i) inner *= dims[i];
  const int64_t whole = x.dims[static_cast<size_t>(axis)];
  Tensor<Real> out{std::move(dims), {}};
  for (int64_t o = 0; o < product(x.dims) / (whole * inner); ++o) {
    const auto first = x.data.begin() + (o * whole + begin) * inner;
    out.data.insert(out.data.end(), first, first + (end - begin) * inner);
  }
  return out;
}

template <typename Real>
Tensor<Real> concat(const std::vector<std::shared_ptr<const Tensor<Real>>>& x) {
  int64_t width = 0;
  for (const auto& part : x) width += part->dims.back();
  Tensor<Real> out{with_last(x[0]->dims, width), {}};
  for (int64_t row = 0; row < product(x[0]->dims) / x[0]->dims.back(); ++row) {
    for (const auto& part : x) {
      const auto first = part->data.begin() + row * part->dims.back();
      out.data.insert(out.data.end(), first, first + part->dims.back());
    }
  }
  return out;
}

template <typename Real>
Tensor<Real> transpose(const Tensor<Real>& x) {
  std::vector<int64_t> dims = x.dims;
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  const int64_t rows = x.dims[x.dims.size() - 2], columns = x.dims.back();
  Tensor<Real> out = make<Real>(std::move(dims));
  for (int64_t i = 0; i < product(x.dims); ++i) {
    const int64_t block = i / (rows * columns), row = i / columns % rows, column = i % columns;
    out.data[static_cast<size_t>((block * columns + column) * rows + row)] = x.data[static_cast<size_t>(i)];
  }
  return out;
}

// The rows `index` of x[R, ..].
template <typename Real, typename Index>
Tensor<Real> take_rows(const Tensor<Real>& x, const std::vector<Index>& index) {
  std::vector<int64_t> dims = x.dims;
  dims[0] = static_cast<int64_t>(index.size());
  const int64_t width = product(x.dims) / x.dims[0];
  Tensor<Real> out{std::move(dims), {}};
  for (const Index row : index) {
    const auto first = x.data.begin() + static_cast<int64_t>(row) * width;
    out.data.insert(out.data.end(), first, first + width);
  }
  return out;
}

// --- positions and caches

template <typename Real>
Tensor<Real> rope(const Tensor<Real>& x, const Tensor<Real>& cosines, const Tensor<Real>& sines, bool adjacent) {
  const int64_t heads = x.dims[1], width = x.dims[2], pairs = cosines.dims[1];
  Tensor<Real> out = x;
  for (int64_t row = 0; row < x.dims[0] * heads; ++row) {
    for (int64_t i = 0; i < pairs; ++i) {
      const size_t first = static_cast<size_t>(row * width + (adjacent ? 2 * i : i));
      const size_t second = first + static_cast<size_t>(adjacent ? 1 : pairs);
      const size_t angle = static_cast<size_t>(row / heads * pairs + i);
      out.data[first] = x.data[first] * cosines.data[angle] - x.data[second] * sines.data[angle];
      out.data[second] = x.data[second] * cosines.data[angle] + x.data[first] * sines.data[angle];
    }
  }
  return out;
}

template <typename Real>
Tensor<Real> cache_scores(const Tensor<Real>& q, const Tensor<Real>& keys) {
  const int64_t heads = q.dims[1], width = q.dims[2], span = keys.dims[0], kv_heads = keys.dims[1];
  Tensor<Real> out = make<Real>({q.dims[0], heads, span});
  for (int64_t row = 0; row < q.dims[0] * heads; ++row) {
    const int64_t kv_head = row % heads / (heads / kv_heads);
    for (int64_t j = 0; j < span; ++j) {
      Real sum = 0;
      for (int64_t d = 0; d < width; ++d) sum += q.data[static_cast<size_t>(row * width + d)] * keys.data[static_cast<size_t>((j * kv_heads + kv_head) * width + d)];
      out.data[static_cast<size_t>(row * span + j)] = sum;
    }
  }
  return out;
}

inline bool visible(int64_t i, int64_t j, int64_t window, bool causal) {
  if (causal) return j <= i && (window <= 0 || j > i - window);
  return window <= 0 || std::abs(i - j) <= window / 2;
}

template <typename Real>
Tensor<Real> mask(const Tensor<Real>& scores, const std::vector<int32_t>& positions, int64_t window, bool causal) {
  const int64_t heads = scores.dims[1], span = scores.dims[2];
  Tensor<Real> out = scores;
  for (int64_t i = 0; i < product(scores.dims); ++i) {
    const int64_t position = positions[static_cast<size_t>(i / (heads * span))];
    if (!visible(position, i % span, window, causal)) out.data[static_cast<size_t>(i)] = -std::numeric_limits<Real>::infinity();
  }
  return out;
}

template <typename Real>
Tensor<Real> cache_mix(const Tensor<Real>& p, const Tensor<Real>& values, int64_t begin, int64_t end) {
  const int64_t heads = p.dims[1], span = p.dims[2], kv_heads = values.dims[1], width = values.dims[2];
  if (end == 0) end = width;
  Tensor<Real> out = make<Real>({p.dims[0], heads, end - begin});
  for (int64_t row = 0; row < p.dims[0] * heads; ++row) {
    const int64_t kv_head = row % heads / (heads / kv_heads);
    for (int64_t j = 0; j < span; ++j) {
      const Real weight = p.data[static_cast<size_t>(row * span + j)];
      for (int64_t d = begin; d < end; ++d) out.data[static_cast<size_t>(row * (end - begin) + d - begin)] += weight * values.data[static_cast<size_t>((j * kv_heads + kv_head) * width + d)];
    }
  }
  return out;
}

// By its definition in op.def. sinks may be null.
template <typename Real>
Tensor<Real> attention(const Tensor<Real>& q, const Tensor<Real>& keys, const Tensor<Real>& values, const Tensor<Real>* sinks, const Attributes& a, const std::vector<int32_t>& positions) {
  Tensor<Real> scores = cache_scores(q, keys);
  for (Real& s : scores.data) {
    s *= static_cast<Real>(a.scale);
    if (a.softcap > 0) s = static_cast<Real>(a.softcap) * std::tanh(s / static_cast<Real>(a.softcap));
  }
  return cache_mix(softmax(mask(scores, positions, a.window, a.causal), sinks), values, a.begin, a.end);
}

// --- recurrence

template <typename Real>
std::vector<Tensor<Real>> conv1d(const Tensor<Real>& x, const Tensor<Real>& w, const Tensor<Real>& state) {
  const int64_t rows = x.dims[0], channels = x.dims[1], taps = w.dims[1];
  std::vector<Real> history = state.data;  // row t + j is x at time t - W + 1 + j
  history.insert(history.end(), x.data.begin(), x.data.end());
  Tensor<Real> out = make<Real>(x.dims);
  for (int64_t t = 0; t < rows; ++t) {
    for (int64_t c = 0; c < channels; ++c) {
      Real sum = 0;
      for (int64_t j = 0; j < taps; ++j) sum += w.data[static_cast<size_t>(c * taps + j)] * history[static_cast<size_t>((t + j) * channels + c)];
      out.data[static_cast<size_t>(t * channels + c)] = sum;
    }
  }
  return {std::move(out), {state.dims, std::vector<Real>(history.begin() + rows * channels, history.end())}};
}

template <typename Real>
Tensor<Real> vecmat(const Tensor<Real>& a, const Tensor<Real>& m) {
  Tensor<Real> out = make<Real>({m.dims[1]});
  for (size_t i = 0; i < a.data.size(); ++i) {
    for (size_t j = 0; j < out.data.size(); ++j) out.data[j] += a.data[i] * m.data[i * out.data.size() + j];
  }
  return out;
}

template <typename Real>
Tensor<Real> outer(const Tensor<Real>& a, const Tensor<Real>& b) {
  Tensor<Real> out{{a.dims[0], b.dims[0]}, {}};
  for (const Real x : a.data) {
    for (const Real y : b.data) out.data.push_back(x * y);
  }
  return out;
}

}  // namespace scratchy::interpret
