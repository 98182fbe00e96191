// The threads that walk a tape together: made once, pinned one to a processor, meeting at barriers.
//
// A barrier spins for a short while, since within a token the others are at most microseconds away, then sleeps in the
// kernel. Between tokens the threads sleep: an idle chat costs nothing. The calling thread is thread 0.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace scratchy {

// All threads of a team wait here for each other. Reusable at once.
class Barrier {
 public:
  explicit Barrier(int thread_count) : thread_count_(thread_count) {}
  void wait();
  // Before anybody waits.
  void set_thread_count(int thread_count) { thread_count_ = thread_count; }

 private:
  int thread_count_;
  alignas(64) std::atomic<int32_t> arrived_{0};
  alignas(64) std::atomic<uint32_t> round_{0};
};

// How many threads to use when nobody says: the physical cores this process may run on.
int default_thread_count();

class Team {
 public:
  // Starts thread_count - 1 threads, fewer where the system gives no more, and pins all, the caller too, when there are
  // processors enough for that.
  explicit Team(int thread_count);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }
  Barrier& barrier() { return barrier_; }

  // Runs work(thread) on every thread, the caller included, and returns when all are done.
  void run(const std::function<void(int)>& work);

 private:
  void loop(int thread);

  Barrier barrier_;
  std::vector<std::thread> threads_;
  const std::function<void(int)>* work_ = nullptr;
  std::atomic<uint32_t> job_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace scratchy
