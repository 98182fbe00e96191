#include "runtime/team.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

namespace scratchy {
namespace {

// Turns of spinning before a thread sleeps: about 20 us at 3 GHz, many times what a well shared step differs by, and far
// less than what a person waits.
constexpr int kSpins = 4000;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return processors;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) processors.push_back(cpu);
  }
  return processors;
}

// "0,4" for the two threads of a core; equal for both.
std::string core_of(int cpu) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
  std::string siblings;
  std::getline(file, siblings);
  return siblings.empty() ? std::to_string(cpu) : siblings;
}

// One processor a core first, then the cores' other threads.
std::vector<int> by_core(const std::vector<int>& processors) {
  std::vector<int> first, rest;
  std::set<std::string> seen;
  for (const int cpu : processors) (seen.insert(core_of(cpu)).second ? first : rest).push_back(cpu);
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

// Processors' worth of time a cgroup allows, 0 for no limit.
int cgroup_limit() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::max(1, static_cast<int>(std::atof(quota.c_str()) / period));
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);  // best effort: an unpinned thread is slower, not wrong
}

// Moves a number that others sleep on, and wakes them.
//
// The order must be sequentially consistent. libstdc++ wakes only when its count of sleepers is not 0, and a sleeper first
// counts itself, then looks at the number once more (in the kernel). Under a weaker order the new number may still be in
// this processor's store buffer while the count is read as 0: the other sees the old number and sleeps for ever.
void advance_and_wake(std::atomic<uint32_t>& number) {
  number.fetch_add(1, std::memory_order_seq_cst);
  number.notify_all();
}

}  // namespace

// A thread reads `round_` before it counts itself as arrived, so the number cannot move before it looks; it leaves only
// when the number has moved, after `arrived_` is 0 again, so a fast thread may enter the next round at once.
void Barrier::wait() {
  if (thread_count_ == 1) return;
  const uint32_t round = round_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == thread_count_) {
    arrived_.store(0, std::memory_order_relaxed);
    advance_and_wake(round_);
    return;
  }
  for (int spin = 0; spin < kSpins; ++spin) {
    if (round_.load(std::memory_order_acquire) != round) return;
    relax();
  }
  while (round_.load(std::memory_order_acquire) == round) round_.wait(round, std::memory_order_acquire);
}

int default_thread_count() {
  const std::vector<int> processors = allowed_processors();
  std::set<std::string> cores;
  for (const int cpu : processors) cores.insert(core_of(cpu));
  int count = std::max<int>(1, static_cast<int>(cores.size()));
  if (const int limit = cgroup_limit(); limit > 0) count = std::min(count, limit);
  return count;
}

Team::Team(int thread_count) : barrier_(thread_count) {
  const std::vector<int> processors = by_core(allowed_processors());
  const bool pinned = thread_count <= static_cast<int>(processors.size());
  for (int thread = 1; thread < thread_count; ++thread) {
    try {
      threads_.emplace_back([this, thread, cpu = pinned ? processors[thread] : -1] {
        if (cpu >= 0) pin(cpu);
        loop(thread);
      });
    } catch (const std::system_error&) {
      break;
    }
  }
  barrier_.set_thread_count(size());
  if (pinned) pin(processors[0]);
}

Team::~Team() {
  stop_.store(true, std::memory_order_relaxed);
  advance_and_wake(job_);
  for (std::thread& thread : threads_) thread.join();
}

void Team::run(const std::function<void(int)>& work) {
  work_ = &work;
  advance_and_wake(job_);
  work(0);
  barrier_.wait();
}

// `job_` is at most one ahead of `seen`: the next job begins when all have met at the end of this one.
void Team::loop(int thread) {
  for (uint32_t seen = 0;;) {
    for (int spin = 0; spin < kSpins && job_.load(std::memory_order_acquire) == seen; ++spin) relax();
    while (job_.load(std::memory_order_acquire) == seen) job_.wait(seen, std::memory_order_acquire);
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    (*work_)(thread);
    barrier_.wait();
  }
}

}  // namespace scratchy
