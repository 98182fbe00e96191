// Steps of a tape: how each kernel takes its operands from a frame and its share of the work from the thread number.
//
// Operands stand in the order of the graph op: what it reads, then what it writes; a leading number says whether every
// thread does all rows (1) or a share of them (0), for steps that split by row. Rows of a slot are padded to 16 floats.
#pragma once

#include <cstring>

#include "targets/cpu/kernels/attention.h"
#include "targets/cpu/kernels/cache_primitives.h"
#include "targets/cpu/kernels/pack_panel.h"
#include "targets/cpu/kernels/prepared_rows.h"

namespace scratchy::cpu {

// Rows of the largest bucket: bounds the row lists of grouped products.
inline constexpr int kMaxBucketRows = 8192;

// The rows a thread does of a step that splits by row.
inline Share row_share(const Frame& frame, const Operand& replicated, bool sampled) {
  const int32_t count = sampled ? frame.batch->output_count : frame.batch->token_count;
  return replicated.offset != 0 ? Share{0, count} : share_of(count, frame.thread, frame.thread_count);
}

// The token row that row t of a step stands for.
inline const TokenRow& token_row(const Frame& frame, int t, bool sampled) {
  return frame.batch->rows[sampled ? frame.batch->output_rows[t] : t];
}

// [replicated, ids, table, out]: out[t, j] = table[ids[t, j]], `count` ids a row; ids are the batch's tokens when the
// operand is none.
template <int kWidth, int kCount, bool kSampled>
void embed_step(const Frame& f, const Operand* o) {
  const Share rows = row_share(f, o[0], kSampled);
  const WeightView& table = f.weight(o[2]);
  for (int t = rows.begin; t < rows.end; ++t) {
    for (int j = 0; j < kCount; ++j) {
      const int32_t id = o[1].kind == Operand::kNone
                             ? token_row(f, t, kSampled).token
                             : reinterpret_cast<const int32_t*>(f.rows(o[1]))[t * row_stride(kCount) + j];
      table.variant->unpack_row(table.data, kWidth, id, f.floats(o[3]) + t * row_stride(int64_t{kWidth} * kCount) + j * kWidth);
    }
  }
}

// [x, w, y]: a share of the panels for all rows.
template <PreparedKinds kKinds, int kInputs, int kOutputs, bool kSampled>
void gemm_step(const Frame& f, const Operand* o) {
  const WeightView& w = f.weight(o[1]);
  const Share panels = share_of(panels_of(kOutputs), f.thread, f.thread_count);
  GemmCall call{};
  call.x = f.rows(o[0]) + prepared_part(kKinds, w.variant->activation, kInputs, 1, f.row_capacity);
  call.weights = w.data;
  call.y = f.floats(o[2]);
  call.y_stride = row_stride(kOutputs);
  call.row_count = kSampled ? f.batch->output_count : f.batch->token_count;
  call.inputs = kInputs;
  call.outputs = kOutputs;
  call.panel_begin = panels.begin;
  call.panel_end = panels.end;
  if (call.row_count > 0) w.variant->gemm(call);
}

// [x, w, y]: y[t, n] = x[t, n] * w[n]^T; units are the panels of all heads.
template <PreparedKinds kKinds, int kHeads, int kInputs, int kOutputs>
void gemm_heads_step(const Frame& f, const Operand* o) {
  const WeightView& w = f.weight(o[1]);
  constexpr int kPanels = panels_of(kOutputs);
  const Share units = share_of(kHeads * kPanels, f.thread, f.thread_count);
  thread_local int32_t x_rows[kMaxBucketRows], y_rows[kMaxBucketRows];
  const int32_t count = f.batch->token_count;
  for (int n = units.begin / kPanels; n * kPanels < units.end; ++n) {
    for (int t = 0; t < count; ++t) {
      x_rows[t] = t * kHeads + n;
      y_rows[t] = static_cast<int32_t>(t * row_stride(int64_t{kHeads} * kOutputs) + n * kOutputs);
    }
    GemmCall call{};
    call.x = f.rows(o[0]) + prepared_part(kKinds, w.variant->activation, kInputs, kHeads, f.row_capacity);
    call.x_rows = x_rows;
    call.weights = w.data + n * w.expert_bytes;
    call.y = f.floats(o[2]);
    call.y_stride = 1;
    call.y_rows = y_rows;
    call.row_count = count;
    call.inputs = kInputs;
    call.outputs = kOutputs;
    call.panel_begin = units.begin > n * kPanels ? units.begin - n * kPanels : 0;
    call.panel_end = units.end < (n + 1) * kPanels ? units.end - n * kPanels : kPanels;
    w.variant->gemm(call);
  }
}

// [x, w, picks, y]: y[t, j] = x[t, j or only] * w[picks[t, j]]^T. Expert by expert, so that each expert's panels are read
// once; a thread does a share of the panels of every expert.
template <PreparedKinds kKinds, int kExperts, int kPicks, int kInputs, int kOutputs, bool kOneRow>
void gemm_experts_step(const Frame& f, const Operand* o) {
  const WeightView& w = f.weight(o[1]);
  const auto* picks = reinterpret_cast<const int32_t*>(f.rows(o[2]));
  thread_local int32_t x_rows[kMaxBucketRows * kPicks], y_rows[kMaxBucketRows * kPicks];
  const Share panels = share_of(panels_of(kOutputs), f.thread, f.thread_count);
  GemmCall call{};
  call.x = f.rows(o[0]) + prepared_part(kKinds, w.variant->activation, kInputs, kOneRow ? 1 : kPicks, f.row_capacity);
  call.x_rows = x_rows;
  call.y = f.floats(o[3]);
  call.y_stride = 1;
  call.y_rows = y_rows;
  call.inputs = kInputs;
  call.outputs = kOutputs;
  call.panel_begin = panels.begin;
  call.panel_end = panels.end;
  for (int e = 0; e < kExperts; ++e) {
    call.row_count = 0;
    for (int t = 0; t < f.batch->token_count; ++t) {
      for (int j = 0; j < kPicks; ++j) {
        if (picks[t * row_stride(kPicks) + j] != e) continue;
        x_rows[call.row_count] = kOneRow ? t : t * kPicks + j;
        y_rows[call.row_count++] = static_cast<int32_t>(t * row_stride(int64_t{kPicks} * kOutputs) + j * kOutputs);
      }
    }
    call.weights = w.data + e * w.expert_bytes;
    if (call.row_count > 0) w.variant->gemm(call);
  }
}

// [replicated, x, out]: the rows whose logits are wanted.
template <int kElements>
void sample_rows_step(const Frame& f, const Operand* o) {
  const Share rows = row_share(f, o[0], true);
  for (int t = rows.begin; t < rows.end; ++t) {
    std::memcpy(f.floats(o[2]) + t * row_stride(kElements), f.floats(o[1]) + f.batch->output_rows[t] * row_stride(kElements), kElements * sizeof(float));
  }
}

// [plane, x]: units are heads for few rows, rows for many.
template <KvPlane kPlane>
void cache_append_step(const Frame& f, const Operand* o) {
  KvRange range{0, f.batch->token_count, 0, kPlane.heads};
  if (f.batch->token_count < f.thread_count) {
    const Share heads = share_of(kPlane.heads, f.thread, f.thread_count);
    range.head_begin = heads.begin;
    range.head_end = heads.end;
  } else {
    const Share rows = share_of(f.batch->token_count, f.thread, f.thread_count);
    range.row_begin = rows.begin;
    range.row_end = rows.end;
  }
  kv_append<kPlane>(*f.batch, f.kv, static_cast<size_t>(f.at(o[0])), f.floats(o[1]), row_stride(int64_t{kPlane.heads} * kPlane.width), range);
}

// [q, keys, values, sinks or none, out]
template <AttentionShape kShape>
void attention_step(const Frame& f, const Operand* o, const AttentionRule& rule, int max_span) {
  AttentionArgs args{};
  args.batch = f.batch;
  args.pool = f.kv;
  args.keys_offset = static_cast<size_t>(f.at(o[1]));
  args.values_offset = static_cast<size_t>(f.at(o[2]));
  args.q = f.floats(o[0]);
  args.q_stride = static_cast<size_t>(row_stride(int64_t{kShape.heads} * kShape.key_width));
  args.out = f.floats(o[4]);
  args.out_stride = static_cast<size_t>(row_stride(int64_t{kShape.heads} * kShape.value_width));
  args.sinks = o[3].kind == Operand::kNone ? nullptr : f.dense(o[3]);
  args.rule = rule;
  args.max_span = max_span;
  args.scratch = f.scratch;
  attention<kShape>(args, f.thread_count);
}

// Calls f(t, adjust) for a share of the rows; `adjust(p, n)` moves p so that row t of packed rows of n floats is row t of
// the slot, whose rows are padded.
template <typename F>
void for_plain_rows(const Frame& frame, F f) {
  const Share rows = share_of(frame.batch->token_count, frame.thread, frame.thread_count);
  for (int t = rows.begin; t < rows.end; ++t) f(t, [&](float* p, int64_t n) { return p + t * (row_stride(n) - n); });
}

// [q, plane, s], [s, out], [p, plane, out]: attention unfused, rows shared out.
template <KvPlane kPlane, int kHeads>
void cache_scores_step(const Frame& f, const Operand* o, int span) {
  for_plain_rows(f, [&](int t, auto adjust) {
    cache_scores<kPlane, kHeads>(*f.batch, f.kv, static_cast<size_t>(f.at(o[1])), adjust(f.floats(o[0]), int64_t{kHeads} * kPlane.width),
                                 adjust(f.floats(o[2]), int64_t{kHeads} * span), span, t, t + 1);
  });
}
template <int kHeads>
void mask_step(const Frame& f, const Operand* o, const AttentionRule& rule, int span) {
  const int64_t width = int64_t{kHeads} * span;
  for_plain_rows(f, [&](int t, auto adjust) {
    cache_mask(*f.batch, rule, nullptr, adjust(f.floats(o[0]), width), adjust(f.floats(o[1]), width), kHeads, span, t, t + 1);
  });
}
template <KvPlane kPlane, int kHeads>
void cache_mix_step(const Frame& f, const Operand* o, int span, int begin, int end) {
  for_plain_rows(f, [&](int t, auto adjust) {
    cache_mix<kPlane, kHeads>(*f.batch, f.kv, static_cast<size_t>(f.at(o[1])), adjust(f.floats(o[0]), int64_t{kHeads} * span),
                              adjust(f.floats(o[2]), int64_t{kHeads} * (end - begin)), span, begin, end - begin, t, t + 1);
  });
}

// [x, w, state, y]: y[t, c] = sum_j w[c, j] * x[t - W + 1 + j, c]; the state is the last W - 1 rows of x. A thread does a
// share of the channels.
template <int kChannels, int kTaps>
void conv1d_step(const Frame& f, const Operand* o) {
  const float* w = f.dense(o[1]);
  const Share channels = share_of(kChannels, f.thread, f.thread_count);
  const int64_t stride = row_stride(kChannels);
  for (int s = 0; s < f.batch->sequence_count; ++s) {
    const SequenceRows& sequence = f.batch->sequences[s];
    auto* state = reinterpret_cast<float*>(f.state(o[2], sequence.state_slot));  // [W - 1, C]
    const float* x = f.floats(o[0]) + sequence.first_row * stride;
    float* y = f.floats(o[3]) + sequence.first_row * stride;
    for (int c = channels.begin; c < channels.end; ++c) {
      float window[kTaps];
      for (int j = 0; j < kTaps - 1; ++j) window[j] = state[j * kChannels + c];
      for (int t = 0; t < sequence.row_count; ++t) {
        window[kTaps - 1] = x[t * stride + c];
        float sum = 0;
        for (int j = 0; j < kTaps; ++j) sum += w[c * kTaps + j] * window[j];
        y[t * stride + c] = sum;
        for (int j = 0; j < kTaps - 1; ++j) window[j] = window[j + 1];
      }
      for (int j = 0; j < kTaps - 1; ++j) state[j * kChannels + c] = window[j];
    }
  }
}

}  // namespace scratchy::cpu
