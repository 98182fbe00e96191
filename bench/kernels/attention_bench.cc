// Attention of one model shape (SmolLM2-135M: 30 layers, N=9, K=3, D=64) over a paged cache: a decode step at several
// depths, as a fraction of the memory bandwidth measured just before, and a prompt of 512.
//
//   g++ -std=c++20 -O2 -march=native -ffp-contract=off -Isrc bench/kernels/attention_bench.cc -o attention_bench -lpthread
//   ./attention_bench [threads] [f16|i8|f32]
//
// Pages hold all layers, as in a real pool, so each layer's tile is a jump of one page.
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "targets/cpu/kernels/attention.h"

namespace scratchy::cpu {
namespace {

constexpr int kLayers = 30;
constexpr int kHeads = 9;
constexpr int kKvHeads = 3;
constexpr int kWidth = 64;
constexpr int kMaxDepth = 8192;
constexpr int kPrompt = 512;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// All threads meet; spins.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  void wait() {
    const int turn = turn_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      turn_.fetch_add(1, std::memory_order_release);
    } else {
      while (turn_.load(std::memory_order_acquire) == turn) __builtin_ia32_pause();
    }
  }

 private:
  int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<int> turn_{0};
};

// Best of `repeats` times of work(thread), run by all threads together.
template <typename Work>
double best_time(int threads, int repeats, Work&& work) {
  Barrier barrier(threads);
  double best = 1e9;
  const auto body = [&](int thread) {
    pin(thread);
    for (int i = 0; i < repeats; ++i) {
      barrier.wait();
      const double start = seconds();
      work(thread, barrier);
      barrier.wait();
      if (thread == 0) best = std::min(best, seconds() - start);
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(body, i);
  body(0);
  for (std::thread& other : others) other.join();
  return best;
}

template <typename T>
T* map(size_t count) {
  void* p = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) std::exit(1);
  madvise(p, count * sizeof(T), MADV_HUGEPAGE);
  return static_cast<T*>(p);
}

double read_bandwidth(int threads) {
  constexpr size_t kBytes = size_t{256} << 20;
  static const uint64_t* data = nullptr;
  if (data == nullptr) {
    uint64_t* filled = map<uint64_t>(kBytes / 8);
    std::fill_n(filled, kBytes / 8, 1);
    data = filled;
  }
  std::atomic<uint64_t> sink{0};
  const double time = best_time(threads, 6, [&](int thread, Barrier&) {
    const size_t part = kBytes / 8 / threads / 32 * 32;
    const uint64_t* from = data + part * thread;
    uint64_t sum[32] = {};
    for (size_t i = 0; i < part; i += 32) {
      for (int k = 0; k < 32; ++k) sum[k] ^= from[i + k];
    }
    for (uint64_t x : sum) sink += x;
  });
  return kBytes / time;
}

template <KvType T>
void run(int threads) {
  constexpr KvPlane kKeys = {KvLayout::kColumns, T, kKvHeads, kWidth};
  constexpr KvPlane kValues = {KvLayout::kRows, T, kKvHeads, kWidth};
  constexpr AttentionShape kShape = {kHeads, kWidth, kWidth, kKeys, kValues};
  constexpr size_t kLayerBytes = plane_page_bytes(kKeys) + plane_page_bytes(kValues);
  const int page_count = kMaxDepth / kPageTokens;
  const KvPool pool = {map<std::byte>(kLayerBytes * kLayers * page_count), kLayerBytes * kLayers};
  std::byte* scratch = map<std::byte>(attention_scratch_bytes<kShape>(kMaxDepth));
  std::vector<int32_t> pages(page_count);
  for (int i = 0; i < page_count; ++i) pages[i] = i * 7 % page_count;
  std::vector<float> q(kPrompt * kHeads * kWidth);
  for (size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i * 2654435761u % 1000) / 500 - 1;
  std::vector<float> out(q.size());

  std::vector<TokenRow> rows;
  SequenceRows sequence = {0, 0, 0, pages.data()};
  Batch batch = {0, nullptr, 1, &sequence, 0, nullptr};
  const auto set_rows = [&](int begin, int end) {
    rows.clear();
    for (int j = begin; j < end; ++j) rows.push_back({0, j, 0});
    sequence.row_count = batch.token_count = end - begin;
    batch.rows = rows.data();
  };
  for (int begin = 0; begin < kMaxDepth; begin += kPrompt) {
    set_rows(begin, begin + kPrompt);
    for (int layer = 0; layer < kLayers; ++layer) {
      kv_append<kKeys>(batch, pool, layer * kLayerBytes, q.data(), kHeads * kWidth, {0, kPrompt, 0, kKvHeads});
      kv_append<kValues>(batch, pool, layer * kLayerBytes + plane_page_bytes(kKeys), q.data(), kHeads * kWidth,
                         {0, kPrompt, 0, kKvHeads});
    }
  }
  const auto all_layers = [&](int, Barrier& barrier) {
    for (int layer = 0; layer < kLayers; ++layer) {
      AttentionArgs args{};
      args.batch = &batch;
      args.pool = pool;
      args.keys_offset = layer * kLayerBytes;
      args.values_offset = layer * kLayerBytes + plane_page_bytes(kKeys);
      args.q = q.data();
      args.q_stride = args.out_stride = kHeads * kWidth;
      args.out = out.data();
      args.rule.scale = 0.125f;
      args.max_span = kMaxDepth;
      args.scratch = scratch;
      attention<kShape>(args, threads);
      barrier.wait();
    }
  };
  for (int depth : {64, 256, 1024, 4096, 8191}) {
    set_rows(depth, depth + 1);
    const double bandwidth = read_bandwidth(threads);
    const double time = best_time(threads, 12, all_layers);
    const double bytes = static_cast<double>(kLayerBytes) / kPageTokens * kLayers * (depth + 1);
    std::printf("decode depth %5d  %8.3f ms  %6.1f GB/s of %6.1f\n", depth, time * 1e3, bytes / time * 1e-9, bandwidth * 1e-9);
  }
  for (int begin : {0, 512, 3584}) {
    set_rows(begin, begin + kPrompt);
    const double time = best_time(threads, 5, all_layers);
    const double flops = 4.0 * kWidth * kHeads * kLayers * kPrompt * (begin + kPrompt / 2.0);
    std::printf("prompt 512 at %5d  %8.3f ms  %6.1f GFLOP/s\n", begin, time * 1e3, flops / time * 1e-9);
  }
  const double time = best_time(threads, 5, [&](int thread, Barrier&) {
    for (int layer = 0; layer < kLayers; ++layer) {
      const KvRange range = {kPrompt * thread / threads, kPrompt * (thread + 1) / threads, 0, kKvHeads};
      kv_append<kKeys>(batch, pool, layer * kLayerBytes, q.data(), kHeads * kWidth, range);
      kv_append<kValues>(batch, pool, layer * kLayerBytes + plane_page_bytes(kKeys), q.data(), kHeads * kWidth, range);
    }
  });
  std::printf("append 512         %8.3f ms\n", time * 1e3);
}

}  // namespace
}  // namespace scratchy::cpu

int main(int argc, char** argv) {
  using scratchy::cpu::KvType;
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const std::string_view type = argc > 2 ? argv[2] : "f16";
  std::printf("%d threads, %d lanes, %s\n", threads, scratchy::cpu::kLanes, argc > 2 ? argv[2] : "f16");
  if (type == "i8") scratchy::cpu::run<KvType::kI8>(threads);
  else if (type == "f32") scratchy::cpu::run<KvType::kF32>(threads);
  else scratchy::cpu::run<KvType::kF16>(threads);
}
