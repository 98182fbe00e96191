// A priority queue of (rank, position), lowest first, for merging long words: many positions share few ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace scratchy {

class RankQueues {
 public:
  void push(uint32_t rank, uint32_t position) {
    if (rank >= queue_of_.size()) queue_of_.resize(size_t{rank} + 1 + rank / 2, kNone);
    uint32_t& index = queue_of_[rank];
    if (index == kNone) {
      index = used_;
      if (used_ == queues_.size()) queues_.emplace_back();
      ++used_;
      ranks_.push_back(rank);
      std::push_heap(ranks_.begin(), ranks_.end(), std::greater<>());
    }
    Queue& queue = queues_[index];
    if (queue.sorted.empty() || queue.sorted.back() <= position) {
      queue.sorted.push_back(position);
    } else {
      queue.heap.push_back(position);
      std::push_heap(queue.heap.begin(), queue.heap.end(), std::greater<>());
    }
  }

  // Takes the lowest rank's leftmost position; false when nothing waits, and then all is as new.
  bool pop(uint32_t& rank, uint32_t& position) {
    while (!ranks_.empty()) {
      rank = ranks_.front();
      Queue& queue = queues_[queue_of_[rank]];
      const bool any_sorted = queue.next < queue.sorted.size();
      if (!queue.heap.empty() && (!any_sorted || queue.heap.front() < queue.sorted[queue.next])) {
        position = queue.heap.front();
        std::pop_heap(queue.heap.begin(), queue.heap.end(), std::greater<>());
        queue.heap.pop_back();
        return true;
      }
      if (any_sorted) {
        position = queue.sorted[queue.next++];
        return true;
      }
      // Done with this rank; should it come back, it gets a queue of its own again.
      queue.sorted.clear();
      queue.next = 0;
      queue_of_[rank] = kNone;
      std::pop_heap(ranks_.begin(), ranks_.end(), std::greater<>());
      ranks_.pop_back();
    }
    used_ = 0;
    return false;
  }

 private:
  struct Queue {
    std::vector<uint32_t> sorted, heap;
    size_t next = 0;  // of sorted
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> queue_of_;  // by rank
  std::vector<Queue> queues_;
  std::vector<uint32_t> ranks_;     // those that have a queue, a heap
  uint32_t used_ = 0;               // queues in use or used since all was new
};

}  // namespace scratchy
