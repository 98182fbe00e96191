// Matrix products by form: a decode step (one token, weights from memory) in GB/s of packed weights and as a fraction
// of the read bandwidth measured in the same second; a prompt of 128 in GMAC/s and as a fraction of the rate of the
// same multiply instruction in a bare loop.
//
//   g++ -std=c++20 -O3 -march=native -ffp-contract=off -Isrc bench/kernels/gemm_bench.cc src/numeric/dtype.cc
//       src/base/check.cc -o gemm_bench -lpthread
//   ./gemm_bench [threads] [O I]
//
// Without a shape all four of SmolLM2-135M run. For decode the matrix is repeated until it fills 192 MiB, beyond any
// cache of the machines we have; weights are random codes with scales of zero bits (speed does not depend on values).
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "targets/cpu/kernels/gemm.h"

namespace scratchy::cpu {
namespace {

constexpr size_t kStream = size_t{192} << 20;
constexpr size_t kSlice = size_t{12} << 20;  // bytes a turn of decode reads
constexpr int kTurns = 128;
constexpr int kPrompt = 128;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// The best time of many turns of work(thread, turn) on pinned threads that begin each turn together. A turn is well
// under a time slice of the scheduler, so that on a busy machine some turns run undisturbed.
template <class Work>
double best_seconds(int threads, Work work) {
  std::atomic<int> arrived{0};
  std::vector<std::vector<double>> taken(static_cast<size_t>(threads), std::vector<double>(kTurns));
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) {
    pool.emplace_back([&, i] {
      pin(i);
      for (int turn = 0; turn < kTurns; ++turn) {
        arrived.fetch_add(1);
        while (arrived.load() < (turn + 1) * threads) {
        }
        const double begin = seconds();
        work(i, turn);
        taken[static_cast<size_t>(i)][static_cast<size_t>(turn)] = seconds() - begin;
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  double best = 1e30;
  for (int turn = 0; turn < kTurns; ++turn) {
    double slowest = 0;
    for (const std::vector<double>& times : taken) slowest = std::max(slowest, times[static_cast<size_t>(turn)]);
    best = std::min(best, slowest);
  }
  return best;
}

std::byte* memory() {
  static std::byte* const bytes = [] {
    void* p = mmap(nullptr, kStream, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) std::abort();
    madvise(p, kStream, MADV_HUGEPAGE);
    uint64_t state = 1;
    for (size_t i = 0; i < kStream; i += 8) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const uint64_t word = state & 0x3f3f3f3f3f3f3f3fu;  // no NaN in any narrow float
      __builtin_memcpy(static_cast<char*>(p) + i, &word, 8);
    }
    return static_cast<std::byte*>(p);
  }();
  return bytes;
}

volatile int32_t sink;

// GB/s of plain loads, four independent sums.
double read_bandwidth(int threads) {
  const std::byte* bytes = memory();
  const double time = best_seconds(threads, [&](int i, int turn) {
    const size_t share = kSlice / static_cast<size_t>(threads);
    const std::byte* p =
        bytes + static_cast<size_t>(turn) % (kStream / kSlice) * kSlice + share * static_cast<size_t>(i);
    I32x16 a = i32_zero(), b = a, c = a, d = a;
    for (size_t at = 0; at < share; at += 256) {
      a = bit_or(a, as_i32(b8_load(p + at)));
      b = bit_or(b, as_i32(b8_load(p + at + 64)));
      c = bit_or(c, as_i32(b8_load(p + at + 128)));
      d = bit_or(d, as_i32(b8_load(p + at + 192)));
    }
    sink = reduce_add(bit_or(bit_or(a, b), bit_or(c, d)));
  });
  return static_cast<double>(kSlice) / time * 1e-9;
}

// GMAC/s of the multiply instruction alone: sixteen independent chains.
template <PackForm kForm, Act kAct>
double multiply_rate(int threads) {
  constexpr int kRounds = 2000, kChains = kSimdRegisters == 32 ? 16 : 6;
  const double time = best_seconds(threads, [&](int, int) {
    alignas(64) std::byte operands[128] = {};
    const B8x64 w[1][8] = {{b8_load(operands)}};
    constexpr int kBits = dot_bits(traits_of(kForm));
    DotWeights<kBits> weights[1][8];
    for (int j = 0; j < 8; ++j) weights[0][j] = dot_weights<kBits>(w[0][0]);
    DotCodes codes{};
    I32x16 dots[kChains];
    F32x16 sums[kChains];
    for (int t = 0; t < kChains; ++t) {
      dots[t] = i32_splat(sink + t);
      sums[t] = to_f32(dots[t]);
    }
    for (int r = 0; r < kRounds; ++r) {
#pragma GCC unroll 16
      for (int t = 0; t < kChains; ++t) {
        if constexpr (kAct == Act::kQ16) {
          asm volatile("" : "+m"(codes));  // no compiler knows them
          dot_codes<kBits, 0, 8, 1>(weights, codes, dots[t], &dots[t]);
        } else if constexpr (kAct == Act::kBF16) {
          sums[t] = dot2_bf16(sums[t], w[0][0], reinterpret_cast<const uint16_t*>(operands));
        } else {
          sums[t] = fma(bits_as_f32(as_i32(w[0][0])), f32_splat(static_cast<float>(t)), sums[t]);
        }
      }
    }
    for (int t = 1; t < kChains; ++t) {
      dots[0] = add(dots[0], dots[t]);
      sums[0] = add(sums[0], sums[t]);
    }
    sink = reduce_add(add(dots[0], round_to_i32(sums[0])));
  });
  const int macs = kAct == Act::kQ16 ? 512 : kAct == Act::kBF16 ? 32 : 16;
  return static_cast<double>(kRounds) * kChains * macs * threads / time * 1e-9;
}

template <PackForm kForm, Act kAct>
void measure(int threads, int O, int I, double bandwidth, double rate) {
  const size_t bytes = packed_bytes(kForm, O, I);
  const int copies = static_cast<int>(std::max<size_t>(1, kStream / bytes));
  const int panels = panels_of(O);
  std::vector<std::byte> x(act_row_bytes(kAct, I) * kPrompt);
  std::vector<float> y(static_cast<size_t>(kPrompt) * static_cast<size_t>(O));
  const auto run = [&](int thread, int T, const std::byte* w) {
    const PanelRange mine{panels * thread / threads, panels * (thread + 1) / threads};
    gemm<kForm, kAct>(x.data(), w, {T, I, O}, mine, y.data(), static_cast<size_t>(O));
  };
  const int a_turn = std::max(1, static_cast<int>(kSlice / bytes));
  const double decode = best_seconds(threads, [&](int thread, int turn) {
    for (int c = 0; c < a_turn; ++c)
      run(thread, 1, memory() + static_cast<size_t>((turn * a_turn + c) % copies) * bytes);
  });
  const double prompt = best_seconds(threads, [&](int thread, int) { run(thread, kPrompt, memory()); });
  const double gb = static_cast<double>(bytes) * a_turn / decode * 1e-9;
  const double gmac = static_cast<double>(O) * I * kPrompt / prompt * 1e-9;
  const char* act = kAct == Act::kQ16 ? "q16" : kAct == Act::kBF16 ? "bf16" : "f32";
  std::printf("%-13.*s %-5s %5d x %-5d  decode %6.1f GB/s %3.0f %%   prompt %6.1f GMAC/s %3.0f %%\n",
              static_cast<int>(pack_form_name(kForm).size()), pack_form_name(kForm).data(), act, O, I, gb,
              100 * gb / bandwidth, gmac, 100 * gmac / rate);
}

struct Shape {
  int O, I;
};

template <PackForm kForm, Act kAct>
void measure_all(int threads, const std::vector<Shape>& shapes) {
  for (const Shape& shape : shapes) {
    measure<kForm, kAct>(threads, shape.O, shape.I, read_bandwidth(threads), multiply_rate<kForm, kAct>(threads));
  }
}

int main_of(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  std::vector<Shape> shapes = {{576, 576}, {1536, 576}, {576, 1536}};
  if (argc > 3) shapes = {{std::atoi(argv[2]), std::atoi(argv[3])}};
  std::printf("%s, %d threads: read %.1f GB/s, dot products %.0f, bf16 %.0f, f32 %.0f GMAC/s\n", kSimdName, threads,
              read_bandwidth(threads), multiply_rate<PackForm::kQ4_0, Act::kQ16>(threads),
              multiply_rate<PackForm::kBF16, Act::kBF16>(threads), multiply_rate<PackForm::kF32, Act::kF32>(threads));
  measure_all<PackForm::kQ4_0, Act::kQ16>(threads, shapes);
  measure_all<PackForm::kQ4_1, Act::kQ16>(threads, shapes);
  measure_all<PackForm::kQ8_0, Act::kQ16>(threads, shapes);
  measure_all<PackForm::kQ4_K, Act::kQ16>(threads, {{shapes[0].O, 1536}});
  measure_all<PackForm::kQ6_K, Act::kQ16>(threads, {{shapes[0].O, 1536}});
  measure_all<PackForm::kU4G64BF16, Act::kQ16>(threads, shapes);
  measure_all<PackForm::kBF16, Act::kBF16>(threads, shapes);
  measure_all<PackForm::kBF16, Act::kF32>(threads, shapes);
  measure_all<PackForm::kF32, Act::kF32>(threads, shapes);
  measure_all<PackForm::kQ4_0, Act::kF32>(threads, shapes);
  return 0;
}

}  // namespace
}  // namespace scratchy::cpu

int main(int argc, char** argv) { return scratchy::cpu::main_of(argc, argv); }
