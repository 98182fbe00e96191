#include "bench/probe.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/memory.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace scratchy {
namespace {

constexpr size_t kBytes = size_t{512} << 20;
constexpr int kRounds = 6, kTurns = 1 << 20, kChains = 10;

using Words = uint64_t __attribute__((vector_size(32)));

// Four independent chains keep enough loads in flight.
uint64_t read_words(const Words* words, size_t count) {
  Words sums[4] = {};
  for (size_t i = 0; i + 4 <= count; i += 4) {
#pragma GCC unroll 4
    for (size_t lane = 0; lane < 4; ++lane) sums[lane] ^= words[i + lane];
  }
  const Words all = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
  return all[0] ^ all[1] ^ all[2] ^ all[3];
}

// Units a second, where work(thread) does `units` on all threads together.
template <class Work>
double best_rate(Team& team, double units, Work work) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    team.run(work);
    best = std::max(best, units / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

#if defined(__x86_64__)

// kTurns times kChains multiplications that do not depend on each other. The empty statement hides the operand from the
// compiler, which would multiply once otherwise; the sums are stored for the same reason.
#define SCRATCHY_CHAINS(Vector, operand, step)                                      \
  Vector chains[kChains] = {};                                                      \
  for (int turn = 0; turn < kTurns; ++turn) {                                       \
    _Pragma("GCC unroll 10") for (Vector& chain : chains) {                         \
      __asm__ volatile("" : "+x"(operand));                                         \
      chain = step;                                                                 \
    }                                                                               \
  }                                                                                 \
  for (const Vector& chain : chains) *static_cast<volatile Vector*>(sink) = chain

[[gnu::target("avx512f,avx512vnni")]] void multiply_vnni(void* sink) {
  __m512i a = _mm512_set1_epi8(1);
  SCRATCHY_CHAINS(__m512i, a, _mm512_dpbusd_epi32(chain, a, a));
}
[[gnu::target("avx512f,avx512bf16")]] void multiply_bf16(void* sink) {
  __m512i a = _mm512_setzero_si512();
  SCRATCHY_CHAINS(__m512, a, _mm512_dpbf16_ps(chain, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(a)));
}
[[gnu::target("avx512f")]] void multiply_f32_512(void* sink) {
  __m512 a = _mm512_setzero_ps();
  SCRATCHY_CHAINS(__m512, a, _mm512_fmadd_ps(a, a, chain));
}
[[gnu::target("avx2")]] void multiply_maddubs(void* sink) {
  __m256i a = _mm256_set1_epi8(1);
  const __m256i ones = _mm256_set1_epi16(1);
  SCRATCHY_CHAINS(__m256i, a, _mm256_add_epi32(chain, _mm256_madd_epi16(_mm256_maddubs_epi16(a, a), ones)));
}
[[gnu::target("avx2,fma")]] void multiply_f32_256(void* sink) {
  __m256 a = _mm256_setzero_ps();
  SCRATCHY_CHAINS(__m256, a, _mm256_fmadd_ps(a, a, chain));
}

#undef SCRATCHY_CHAINS

#endif

struct Instruction {
  const char* name;
  int lanes;  // multiply-adds of one
  void (*run)(void* sink);
};

Instruction instruction_of([[maybe_unused]] const std::string& profile, [[maybe_unused]] Multiply kind) {
#if defined(__x86_64__)
  if (profile.starts_with("x86-64-v4")) {
    if (kind == Multiply::kBytes) return {"vpdpbusd", 64, multiply_vnni};
    if (kind == Multiply::kBF16) return {"vdpbf16ps", 32, multiply_bf16};
    return {"vfmadd, 512 bits", 16, multiply_f32_512};
  }
  if (profile == "x86-64-v3") {
    if (kind == Multiply::kBytes) return {"vpmaddubsw + vpmaddwd", 32, multiply_maddubs};
    return {"vfmadd, 256 bits", 8, multiply_f32_256};
  }
#endif
  return {"", 0, nullptr};
}

}  // namespace

double read_bandwidth(Team& team) {
  Result<Memory> memory = Memory::reserve(kBytes, Memory::Pages::kHuge);
  if (!memory.ok()) return 0;
  std::memset(memory->data(), 1, kBytes);
  const std::span<const Words> buffer(reinterpret_cast<const Words*>(memory->data()), kBytes / sizeof(Words));
  std::atomic<uint64_t> sink{0};
  return best_rate(team, kBytes, [&](int thread) {
    const size_t share = buffer.size() / static_cast<size_t>(team.size());
    sink += read_words(buffer.data() + share * static_cast<size_t>(thread), share);
  });
}

MultiplyRate multiply_rate(Team& team, const std::string& profile, Multiply kind) {
  const Instruction instruction = instruction_of(profile, kind);
  if (instruction.run == nullptr) return {};
  const double units = static_cast<double>(kTurns) * kChains * instruction.lanes * team.size();
  return {instruction.name, best_rate(team, units, [&](int) {
            alignas(64) float sink[16] = {};
            instruction.run(sink);
          })};
}

}  // namespace scratchy
