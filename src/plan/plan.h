// The tape as the compiler holds it: steps over slots, weights, cache planes and states, one tape a bucket.
//
// A plan is what lowering makes of a fused graph: the distinct kernels (each once), the weight table, the layout of cache
// pages and states, and per bucket a linear list of steps with barriers, slots and segments. A target turns it into
// sources; nothing in it is specific to one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace scratchy {

// What splits a step's work over threads.
enum class Work : uint8_t {
  kReplicated,  // every thread does all of it, into its own arena
  kRows,        // consecutive rows a thread
  kUnits,       // parts that differ from step to step (panels of outputs, heads): other threads' results are needed next
};

struct TapeOperand {
  enum Kind : uint8_t { kNone, kSlot, kInput, kWeight, kPlane, kState };
  Kind kind = kNone;
  int32_t index = -1;  // slot: value number; input: 0 ids, 1 positions; else into the plan's tables
  bool operator==(const TapeOperand&) const = default;
};

// One distinct piece of work: what a kernel is made from. Layers share kernels.
struct TapeKernel {
  OpKind kind;
  Attributes attributes;
  std::vector<Type> operand_types;
  std::vector<Type> result_types;
  std::shared_ptr<Graph> body;  // scan, row_program
  bool sampled = false;         // runs over output rows
  std::vector<bool> plane_roles;  // keys and values of each plane operand: a target may store them differently
};

struct TapeStep {
  int32_t kernel;                     // into Plan::kernels
  std::vector<TapeOperand> operands;  // the op's operands, then its results
  int32_t operand_count;              // of them, how many are read
  Work work = Work::kUnits;
  bool barrier = false;
  Span span;
  int layer = -1;
};

// Where the value of one slot operand lives in one bucket's arenas.
struct Slot {
  bool local = false;
  int64_t offset = -1;     // bytes a row of capacity
  int64_t row_bytes = 0;
  int first_step = -1, last_step = -1;
  std::string name;
};

struct TapeSegment {
  int32_t first_step, step_count, repeat;
};

struct Tape {
  int32_t max_tokens;
  std::vector<TapeStep> steps;  // unrolled
  std::vector<Slot> slots;      // by value number
  std::vector<TapeSegment> segments;
  int64_t shared_row_bytes = 0, local_row_bytes = 0;
};

// A step of the graph's weights: the published tensor and what is done to it before it is used.
struct PlannedWeight {
  ResourceId resource;
  enum class Storage : uint8_t { kDense, kPanels } storage;
  std::vector<Op> transforms;  // reshape, slice, transpose in order; empty for most
  Type type;                   // after the transforms
  int64_t matrices = 1, rows = 1, columns = 1;
};

struct Plane {
  ResourceId resource;
  int64_t kv_heads, width;
  int64_t page_offset = 0;  // bytes
  // What the plane is read for; one that holds both keys and values serves latent attention.
  bool keys = false, values = false;
};

struct StatePlan {
  ResourceId resource;
  int64_t elements;  // f32
  int64_t offset = 0;  // bytes
};

struct Plan {
  std::shared_ptr<const Graph> graph;  // fused, ordered; spans and names for messages
  std::vector<TapeKernel> kernels;
  std::vector<PlannedWeight> weights;
  std::vector<Plane> planes;
  std::vector<StatePlan> states;
  std::vector<Tape> tapes;
  int64_t page_bytes = 0, state_bytes = 0;
  int32_t logits_value = -1, hidden_value = -1;  // slot numbers of the outputs
};

// What planning must know of a target.
struct PlanFacts {
  // Bytes of one row of a value: `prepared` for the result of a prepare, [.., width] with `groups` rows of `width` each.
  std::function<int64_t(const Type& type, bool prepared)> row_bytes;
  // Bytes of one plane in one page.
  std::function<int64_t(const Plane& plane)> plane_page_bytes;
  // Rows up to which each thread computes row programs for itself rather than wait for another's share.
  int32_t replicate_up_to;
  std::vector<int32_t> bucket_tokens;  // rising
};

// Lowers a fused, ordered graph: kernels, tables, and one planned tape a bucket.
Plan make_plan(std::shared_ptr<const Graph> graph, const PlanFacts& facts);

// The parts of make_plan, one file each.
Plan lower(std::shared_ptr<const Graph> graph);                     // kernels, tables, one tape without slots
void lay_out_pages(Plan& plan, const PlanFacts& facts);             // planes and states get their offsets
void divide_work(Tape& tape, const Plan& plan, bool replicate);     // Work of each step
void place_barriers(Tape& tape, const Plan& plan);
void assign_slots(Tape& tape, const Plan& plan, const PlanFacts& facts);
void reroll(Tape& tape);

// Checks that hold for every planned tape: operands written before read, no two live slots overlap, a barrier between a
// write and another thread's read, the rolled tape equal to the unrolled one. Empty when all hold.
std::vector<std::string> check_plan(const Plan& plan);

std::string print_plan(const Plan& plan);

}  // namespace scratchy
