// Attention and cache kernels against naive sums in double, and against themselves divided in other ways. Compiled once
// for each CPU profile (CMakeLists.txt). Pools start as all-ones bytes, which are NaN in every float type: a position
// read without having been written shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "targets/cpu/kernels/attention.h"
#include "targets/cpu/kernels/cache_primitives.h"

namespace scratchy::cpu {
namespace {

// Rows [begin, end) of one sequence, as one step processes them.
struct Part {
  int sequence;
  int begin, end;
};

constexpr KvPlane columns(KvType type, int heads, int width) { return {KvLayout::kColumns, type, heads, width}; }
constexpr KvPlane rows(KvType type, int heads, int width) { return {KvLayout::kRows, type, heads, width}; }
constexpr AttentionShape shape(int heads, int kv_heads, int width, KvType type = KvType::kF16) {
  return {heads, width, width, columns(type, kv_heads, width), rows(type, kv_heads, width)};
}
constexpr AttentionShape mixed_widths(int heads, int kv_heads, int key_width, int value_width, KvType type) {
  return {heads, key_width, value_width, columns(type, kv_heads, key_width), rows(type, kv_heads, value_width)};
}
// One plane of latent + rope parts, the latent part doubling as values.
constexpr AttentionShape latent(int heads, int latent_width, int rope_width, KvType type) {
  return {heads, latent_width + rope_width, latent_width, rows(type, 1, latent_width + rope_width),
          rows(type, 1, latent_width + rope_width)};
}

// A cache filled with random sequences, and queries for every position of them.
template <AttentionShape S>
class World {
 public:
  static constexpr bool kOnePlane = S.keys.layout == KvLayout::kRows;
  static constexpr int K = S.keys.heads;

  World(std::vector<int> lengths, uint32_t seed = 1) : lengths_(std::move(lengths)), random_(seed) {
    int pages = 0;
    for (int length : lengths_) pages += (length + kPageTokens - 1) / kPageTokens;
    std::vector<int32_t> ids(pages);
    for (int i = 0; i < pages; ++i) ids[i] = i;
    std::shuffle(ids.begin(), ids.end(), random_);
    values_offset_ = kOnePlane ? kKeysOffset : kKeysOffset + plane_page_bytes(S.keys);
    pool_bytes_.resize((values_offset_ + plane_page_bytes(S.values)) * pages + 64, std::byte{0xff});
    pool_.page_bytes = values_offset_ + plane_page_bytes(S.values);
    pool_.base = pool_bytes_.data() + (64 - reinterpret_cast<uintptr_t>(pool_bytes_.data()) % 64) % 64;
    scratch_.resize(attention_scratch_bytes<S>(*std::max_element(lengths_.begin(), lengths_.end())));
    for (size_t s = 0, next = 0; s < lengths_.size(); ++s) {
      const size_t count = static_cast<size_t>(lengths_[s] + kPageTokens - 1) / kPageTokens;
      pages_.emplace_back(ids.begin() + next, ids.begin() + next + count);
      next += count;
      queries_.push_back(randoms(static_cast<size_t>(lengths_[s]) * S.heads * S.key_width));
      append(static_cast<int>(s), randoms(static_cast<size_t>(lengths_[s]) * K * S.keys.width),
             randoms(static_cast<size_t>(lengths_[s]) * K * S.values.width));
    }
  }

  AttentionRule rule{.scale = 1.5f / std::sqrt(static_cast<float>(S.key_width))};
  std::vector<float> sinks;
  std::vector<std::vector<int32_t>> visible_end;  // of each sequence and position, or empty

  struct Step {
    std::vector<TokenRow> rows;
    std::vector<SequenceRows> sequences;
    std::vector<float> q;
    std::vector<int32_t> visible_end;
    Batch batch;
  };

  Step step(const std::vector<Part>& parts) const {
    Step step;
    for (const Part& part : parts) {
      step.sequences.push_back(
          {static_cast<int32_t>(step.rows.size()), part.end - part.begin, 0, pages_[part.sequence].data()});
      for (int j = part.begin; j < part.end; ++j) {
        step.rows.push_back({0, j, static_cast<int32_t>(step.sequences.size()) - 1});
        const float* q = queries_[part.sequence].data() + static_cast<size_t>(j) * S.heads * S.key_width;
        step.q.insert(step.q.end(), q, q + S.heads * S.key_width);
        if (!visible_end.empty()) step.visible_end.push_back(visible_end[part.sequence][j]);
      }
    }
    step.batch = {static_cast<int32_t>(step.rows.size()),
                  step.rows.data(),
                  static_cast<int32_t>(step.sequences.size()),
                  step.sequences.data(),
                  0,
                  nullptr};
    return step;
  }

  std::vector<float> run(const std::vector<Part>& parts, int threads = 1) {
    const Step work = step(parts);
    std::vector<float> out(work.rows.size() * S.heads * S.value_width, NAN);
    AttentionArgs args{.batch = &work.batch,
                       .pool = pool_,
                       .keys_offset = kKeysOffset,
                       .values_offset = values_offset_,
                       .q = work.q.data(),
                       .q_stride = S.heads * S.key_width,
                       .out = out.data(),
                       .out_stride = S.heads * S.value_width,
                       .rule = rule,
                       .max_span = *std::max_element(lengths_.begin(), lengths_.end()),
                       .scratch = scratch_.data()};
    if (!sinks.empty()) args.sinks = sinks.data();
    if (!visible_end.empty()) args.visible_end = work.visible_end.data();
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([&] { attention<S>(args, threads); });
    attention<S>(args, threads);
    for (std::thread& other : others) other.join();
    return out;
  }

  // Scores, mask, softmax in double, mix.
  std::vector<float> run_plain(const std::vector<Part>& parts, int span) {
    const Step work = step(parts);
    const int rows = work.batch.token_count;
    std::vector<float> s(static_cast<size_t>(rows) * S.heads * span, NAN);
    std::vector<float> out(static_cast<size_t>(rows) * S.heads * S.value_width, NAN);
    cache_scores<S.keys, S.heads>(work.batch, pool_, kKeysOffset, work.q.data(), s.data(), span, 0, rows);
    for (float& x : s) x *= rule.scale;
    cache_mask(work.batch, rule, visible_end.empty() ? nullptr : work.visible_end.data(), s.data(), s.data(), S.heads,
               span, 0, rows);
    for (int i = 0; i < rows * S.heads; ++i) {
      float* row = s.data() + static_cast<size_t>(i) * span;
      const float max = *std::max_element(row, row + span);
      double sum = 0;
      for (int j = 0; j < span; ++j) sum += std::exp(static_cast<double>(row[j]) - max);
      for (int j = 0; j < span; ++j) row[j] = static_cast<float>(std::exp(static_cast<double>(row[j]) - max) / sum);
    }
    cache_mix<S.values, S.heads>(work.batch, pool_, values_offset_, s.data(), out.data(), span, 0, S.value_width, 0,
                                 rows);
    return out;
  }

  // The definition, in double, on the values as the cache holds them.
  std::vector<float> reference(const std::vector<Part>& parts) {
    std::vector<float> out;
    for (const Part& part : parts) {
      for (int i = part.begin; i < part.end; ++i) {
        for (int n = 0; n < S.heads; ++n) reference_row(part, i, n, out);
      }
    }
    return out;
  }

  // Replaces what positions [begin, end) of a sequence hold by one value.
  void overwrite(int sequence, int begin, int end, float value) {
    const Step work = step({{sequence, begin, end}});
    const std::vector<float> same(static_cast<size_t>(end - begin) * K * std::max(S.keys.width, S.values.width), value);
    write(work.batch, same, same);
  }

  int length(int sequence) const { return lengths_[sequence]; }

 private:
  static constexpr size_t kKeysOffset = 128;

  std::vector<float> randoms(size_t count) {
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> x(count);
    for (float& value : x) value = normal(random_);
    return x;
  }

  void append(int sequence, const std::vector<float>& keys, const std::vector<float>& values) {
    const Step work = step({{sequence, 0, lengths_[sequence]}});
    write(work.batch, keys, values);
  }

  void write(const Batch& batch, const std::vector<float>& keys, const std::vector<float>& values) {
    for (int head = 0; head < K; ++head) {
      const KvRange range{0, batch.token_count, head, head + 1};
      kv_append<S.keys>(batch, pool_, kKeysOffset, keys.data(), K * S.keys.width, range);
      if (!kOnePlane) kv_append<S.values>(batch, pool_, values_offset_, values.data(), K * S.values.width, range);
    }
  }

  void reference_row(const Part& part, int i, int n, std::vector<float>& out) {
    const float* q = queries_[part.sequence].data() + (static_cast<size_t>(i) * S.heads + n) * S.key_width;
    const int kv_head = n / (S.heads / K);
    std::vector<double> logits;
    std::vector<std::byte*> blocks;
    std::vector<int> positions;
    for (int j = 0; j < part.end; ++j) {
      bool seen = rule.causal ? j <= i : rule.window == 0 || std::abs(i - j) <= rule.window / 2;
      if (rule.causal && !visible_end.empty()) seen = seen || j < visible_end[part.sequence][i];
      if (rule.causal && rule.window != 0) seen = seen && j > i - rule.window;
      if (!seen) continue;
      std::byte* block = kv_head_block<S.keys>(pool_, kKeysOffset, pages_[part.sequence].data(), j, kv_head);
      double s = 0;
      for (int d = 0; d < S.key_width; ++d) s += static_cast<double>(q[d]) * internal::kv_value<S.keys>(block, j, d);
      s *= rule.scale;
      if (rule.softcap != 0) s = rule.softcap * std::tanh(s / rule.softcap);
      logits.push_back(s);
      positions.push_back(j);
    }
    double max = *std::max_element(logits.begin(), logits.end());
    if (!sinks.empty()) max = std::max(max, static_cast<double>(sinks[n]));
    double sum = sinks.empty() ? 0 : std::exp(sinks[n] - max);
    std::vector<double> row(S.value_width);
    for (size_t k = 0; k < logits.size(); ++k) {
      const double p = std::exp(logits[k] - max);
      sum += p;
      std::byte* block =
          kv_head_block<S.values>(pool_, values_offset_, pages_[part.sequence].data(), positions[k], kv_head);
      for (int d = 0; d < S.value_width; ++d) row[d] += p * internal::kv_value<S.values>(block, positions[k], d);
    }
    for (double value : row) out.push_back(static_cast<float>(value / sum));
  }

  std::vector<int> lengths_;
  std::mt19937 random_;
  std::vector<std::byte> pool_bytes_;
  std::vector<std::byte> scratch_;
  KvPool pool_;
  size_t values_offset_;
  std::vector<std::vector<int32_t>> pages_;
  std::vector<std::vector<float>> queries_;
};

float max_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  float most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float difference = std::fabs(a[i] - b[i]);
    if (!(difference <= most)) most = difference;
  }
  return most;
}

// Bits of two results, so that NaN and -0 count.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Logits have a deviation of 1.5, so |s| < 12; a chain of D products of unit values errs by about sqrt(D) * 2^-24 of
// its size, weights by that much relatively, and outputs by twice the weights times |v| < 5. 512 wide: 512^.5 * 6e-8
// * 8.
constexpr float kBound = 1.1e-5f;

template <AttentionShape S>
void expect_equals_reference(const char* name) {
  World<S> world({130, 67});
  const std::vector<Part> parts = {{0, 0, 130}, {1, 3, 67}};
  EXPECT_LE(max_difference(world.run(parts), world.reference(parts)), kBound) << name;
}
#define EXPECT_EQUALS_REFERENCE(...) expect_equals_reference<__VA_ARGS__>(#__VA_ARGS__)

TEST(Attention, EqualsReferenceForEveryWidth) {
  EXPECT_EQUALS_REFERENCE(shape(2, 2, 16));
  EXPECT_EQUALS_REFERENCE(shape(2, 1, 24));
  EXPECT_EQUALS_REFERENCE(shape(6, 2, 32));
  EXPECT_EQUALS_REFERENCE(shape(9, 3, 64));
  EXPECT_EQUALS_REFERENCE(shape(4, 1, 80));
  EXPECT_EQUALS_REFERENCE(shape(5, 1, 96));
  EXPECT_EQUALS_REFERENCE(shape(12, 1, 128));
  EXPECT_EQUALS_REFERENCE(shape(8, 1, 256));
  EXPECT_EQUALS_REFERENCE(shape(2, 1, 512));
  EXPECT_EQUALS_REFERENCE(mixed_widths(4, 2, 48, 32, KvType::kF16));
}

TEST(Attention, EqualsReferenceForEveryGroup) {
  EXPECT_EQUALS_REFERENCE(shape(6, 1, 16));
  EXPECT_EQUALS_REFERENCE(shape(7, 1, 16));
  EXPECT_EQUALS_REFERENCE(shape(10, 1, 16));
  EXPECT_EQUALS_REFERENCE(shape(11, 1, 16));
  EXPECT_EQUALS_REFERENCE(shape(40, 1, 16));
}

TEST(Attention, EqualsReferenceForEveryElementType) {
  EXPECT_EQUALS_REFERENCE(shape(6, 2, 40, KvType::kF32));
  EXPECT_EQUALS_REFERENCE(shape(6, 2, 40, KvType::kBf16));
  EXPECT_EQUALS_REFERENCE(shape(6, 2, 40, KvType::kI8));
}

TEST(Attention, EqualsReferenceWithOnePlaneAsKeysAndValues) {
  EXPECT_EQUALS_REFERENCE(latent(4, 64, 16, KvType::kF16));
  EXPECT_EQUALS_REFERENCE(latent(30, 40, 8, KvType::kBf16));
  EXPECT_EQUALS_REFERENCE(latent(4, 32, 16, KvType::kI8));
}

constexpr AttentionShape kSmall = shape(6, 2, 32);

TEST(Attention, EqualsReferenceAtEdgesOfTilesPagesAndSegments) {
  World<kSmall> world({1100});
  for (int edge : {1, 16, 64, 128, 256, 512, 1024}) {
    for (int position = edge - 1; position <= edge + 1; ++position) {
      const std::vector<Part> parts = {{0, position, position + 1}};
      EXPECT_LE(max_difference(world.run(parts), world.reference(parts)), kBound) << "position " << position;
    }
  }
}

TEST(Attention, EqualsReferenceForEveryWindow) {
  for (bool causal : {true, false}) {
    for (int window : {1, 2, 15, 16, 17, 63, 64, 65, 128, 300}) {
      World<kSmall> world({400, 90});
      world.rule.window = window;
      world.rule.causal = causal;
      const std::vector<Part> parts = {{0, 0, 400}, {1, 0, 90}};
      EXPECT_LE(max_difference(world.run(parts), world.reference(parts)), kBound)
          << "window " << window << " causal " << causal;
    }
  }
}

TEST(Attention, EqualsReferenceWithoutCausality) {
  World<kSmall> world({300, 1, 65});
  world.rule.causal = false;
  const std::vector<Part> parts = {{0, 0, 300}, {1, 0, 1}, {2, 0, 65}};
  EXPECT_LE(max_difference(world.run(parts), world.reference(parts)), kBound);
}

TEST(Attention, EqualsReferenceWithSoftcapAndSinks) {
  World<kSmall> world({300});
  world.rule.softcap = 4;
  world.sinks = {0, -3, 2, 30, 1, -100};
  const std::vector<Part> parts = {{0, 0, 300}};
  EXPECT_LE(max_difference(world.run(parts), world.reference(parts)), kBound);
}

TEST(Attention, EqualsReferenceWithRunsThatSeeEachOther) {
  for (int window : {0, 40}) {
    World<kSmall> world({200});
    world.rule.window = window;
    world.visible_end.assign(1, std::vector<int32_t>(200, 0));
    for (int j = 50; j < 130; ++j) world.visible_end[0][j] = 130;
    const std::vector<Part> parts = {{0, 0, 200}};
    EXPECT_LE(max_difference(world.run(parts), world.reference(parts)), kBound) << "window " << window;
  }
}

TEST(Attention, PlainStepsEqualReference) {
  for (bool causal : {true, false}) {
    World<kSmall> world({90, 20});
    world.rule.causal = causal;
    world.rule.window = 30;
    const std::vector<Part> parts = {{0, 0, 90}, {1, 0, 20}};
    EXPECT_LE(max_difference(world.run_plain(parts, 128), world.reference(parts)), kBound);
  }
  World<latent(4, 32, 16, KvType::kF16)> one_plane({70});
  EXPECT_LE(max_difference(one_plane.run_plain({{0, 0, 70}}, 128), one_plane.reference({{0, 0, 70}})), kBound);
}

// Rows [0, length) of sequence 0 as one step, then in other divisions; all must agree bit for bit.
template <AttentionShape S>
void expect_one_result(World<S>& world, const std::vector<int>& chunks) {
  const int length = world.length(0);
  const std::vector<float> whole = world.run({{0, 0, length}});
  const size_t row = static_cast<size_t>(S.heads) * S.value_width;
  for (int threads : {2, 3})
    EXPECT_TRUE(same_bits(world.run({{0, 0, length}}, threads), whole)) << threads << " threads";
  for (int chunk : chunks) {
    for (int threads : {1, 2, 3}) {
      std::vector<float> pieces;
      for (int begin = 0; begin < length; begin += chunk) {
        const std::vector<float> piece = world.run({{0, begin, std::min(begin + chunk, length)}}, threads);
        pieces.insert(pieces.end(), piece.begin(), piece.end());
      }
      EXPECT_TRUE(same_bits(pieces, whole)) << "chunks of " << chunk << ", " << threads << " threads";
    }
  }
  // Beside rows of another sequence.
  std::vector<float> beside = world.run({{1, 0, world.length(1)}, {0, 0, length}}, 2);
  beside.erase(beside.begin(), beside.begin() + world.length(1) * row);
  EXPECT_TRUE(same_bits(beside, whole));
  const std::vector<float> last = world.run({{1, 5, 6}, {0, length - 1, length}, {1, 2, 4}}, 3);
  EXPECT_EQ(std::memcmp(last.data() + row, whole.data() + whole.size() - row, row * sizeof(float)), 0);
}

TEST(Attention, RowDoesNotDependOnBatchChunkOrThreads) {
  World<kSmall> plain({700, 20});
  expect_one_result(plain, {1, 7, 16, 64, 300});
  World<kSmall> window({700, 20});
  window.rule.window = 200;
  window.sinks = {0, 1, 2, 3, 4, 5};
  expect_one_result(window, {1, 5, 130});
  World<kSmall> capped({300, 20});
  capped.rule.softcap = 20;
  expect_one_result(capped, {1, 13, 64});
}

TEST(Attention, RowDoesNotDependOnBatchChunkOrThreadsForOtherShapes) {
  World<shape(9, 3, 64, KvType::kI8)> int8({300, 20});
  expect_one_result(int8, {1, 50});
  World<latent(30, 40, 8, KvType::kBf16)> one_plane({300, 20});
  expect_one_result(one_plane, {1, 50});
  World<shape(3, 3, 24, KvType::kF32)> single({530, 20});
  expect_one_result(single, {1, 50});
}

TEST(Attention, LongSegmentsGiveOneResult) {
  World<shape(2, 1, 16)> world({9800});
  const std::vector<float> whole = world.run({{0, 9700, 9800}});
  EXPECT_LE(max_difference(whole, world.reference({{0, 9700, 9800}})), kBound);
  const std::vector<float> last = world.run({{0, 9799, 9800}}, 2);
  EXPECT_EQ(std::memcmp(last.data(), whole.data() + whole.size() - last.size(), last.size() * sizeof(float)), 0);
}

TEST(Attention, RowDoesNotDependOnLaterOrOtherValues) {
  World<kSmall> world({200});
  const std::vector<float> before = world.run({{0, 0, 200}});
  world.overwrite(0, 150, 200, NAN);
  std::vector<float> after = world.run({{0, 0, 200}});
  const size_t kept = 150 * 6 * 32;
  EXPECT_EQ(std::memcmp(before.data(), after.data(), kept * sizeof(float)), 0);
  EXPECT_TRUE(std::isnan(after[kept]));
  world.rule.window = 10;
  world.overwrite(0, 150, 200, 1);
  world.overwrite(0, 0, 100, NAN);
  after = world.run({{0, 109, 200}});
  for (float x : after) ASSERT_FALSE(std::isnan(x));
}

TEST(AttentionPlan, SegmentsCoverPositionsInOrder) {
  for (int segment = 0; segment < 120; ++segment) {
    const int begin = segment_begin(segment);
    const int end = segment_begin(segment + 1);
    ASSERT_LT(begin, end);
    EXPECT_EQ(begin % kPageTokens, 0);
    EXPECT_EQ(segment_of(begin), segment);
    EXPECT_EQ(segment_of(end - 1), segment);
  }
  EXPECT_EQ(segment_count(0), 0);
  EXPECT_EQ(segment_count(256), 1);
  EXPECT_EQ(segment_count(257), 2);
  EXPECT_EQ(segment_count(131072), 80);
}

TEST(KvMath, Exp2StaysWithinItsError) {
  double worst = 0;
  for (int i = 0; i <= 2000000; ++i) {
    const float x = -126.0f + static_cast<float>(i) * (126.5f / 2000000);
    const double exact = std::exp2(static_cast<double>(x));
    worst = std::max(worst, std::fabs(exp2_f32(x) - exact) / exact);
  }
  EXPECT_LE(worst, 1.3e-7);
  EXPECT_EQ(exp2_f32(0), 1);
  EXPECT_EQ(exp2_f32(-INFINITY), 0);
  EXPECT_EQ(exp2_f32(-300), 0);
  EXPECT_TRUE(std::isnan(exp2_f32(NAN)));
}

TEST(KvMath, TanhStaysWithinItsError) {
  double worst = 0;
  for (int i = 1; i <= 2000000; ++i) {
    const float x = 30.0f * std::pow(static_cast<float>(i) / 2000000, 6.0f);
    if (x < 1e-30f) continue;
    const double exact = std::tanh(static_cast<double>(x));
    worst = std::max(worst, std::fabs(vfirst(vtanh(vset(x))) - exact) / exact);
    worst = std::max(worst, std::fabs(vfirst(vtanh(vset(-x))) + exact) / exact);
  }
  EXPECT_LE(worst, 6e-7);
  EXPECT_EQ(vfirst(vtanh(vset(0))), 0);
}

TEST(KvElement, HalfConversionsRoundToNearestEvenAndSaturate) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const float x = to_f32(KvF16{static_cast<uint16_t>(bits)});
    ASSERT_EQ(to_f16(x).bits, bits);
    ASSERT_EQ(to_f16(-x).bits, bits | 0x8000);
    if (bits + 1 == 0x7c00) break;
    const float next = to_f32(KvF16{static_cast<uint16_t>(bits + 1)});
    const float middle = x + (next - x) / 2;
    ASSERT_EQ(to_f16(middle).bits, bits + (bits & 1));
    ASSERT_EQ(to_f16(std::nextafter(middle, 1e9f)).bits, bits + 1);
    ASSERT_EQ(to_f16(std::nextafter(middle, -1e9f)).bits, bits);
  }
  EXPECT_EQ(to_f16(1e6f).bits, 0x7bff);
  EXPECT_EQ(to_f16(-INFINITY).bits, 0xfbff);
  EXPECT_TRUE(std::isnan(to_f32(to_f16(NAN))));
  EXPECT_EQ(to_f32(to_bf16(1.00390625f)), 1.0f);
  EXPECT_EQ(to_f32(to_bf16(1.01171875f)), 1.015625f);
}

TEST(KvElement, VectorLoadsEqualScalarConversions) {
  for (uint32_t base = 0; base < 0x7c00; base += kLanes) {
    KvF16 half[kLanes];
    KvBf16 brain[kLanes];
    int8_t byte[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      half[i].bits = brain[i].bits = static_cast<uint16_t>(base + i);
      byte[i] = static_cast<int8_t>(base + i);
    }
    float loaded[3][kLanes];
    vstore(loaded[0], load_kv(half));
    vstore(loaded[1], load_kv(brain));
    vstore(loaded[2], load_kv(byte));
    for (int i = 0; i < kLanes; ++i) {
      ASSERT_EQ(loaded[0][i], to_f32(half[i]));
      ASSERT_EQ(loaded[1][i], to_f32(brain[i]));
      ASSERT_EQ(loaded[2][i], to_f32(byte[i]));
    }
  }
}

}  // namespace
}  // namespace scratchy::cpu
