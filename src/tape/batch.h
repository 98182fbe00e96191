// What one execution of a tape works on: rows of tokens from one or more sequences, and where their history lies.
//
// Rows of one sequence are adjacent and in rising position. KV history is paged: a page holds kPageTokens positions of
// every cache plane of the model; plane p of page i begins at pool + i * page_bytes + plane_offset(p), constants of the
// compiled program. Recurrent states are one slot a sequence.
#pragma once

#include <cstddef>
#include <cstdint>

namespace scratchy {

// Positions in one KV page. A multiple of the widest vector of positions a kernel works on (16 lanes of f32), small
// enough that a short chat wastes little.
inline constexpr int kPageTokens = 64;

// One token to process.
struct TokenRow {
  int32_t token;     // id, row of the embedding table
  int32_t position;  // 0-based place in its sequence
  int32_t sequence;  // index into Batch::sequences
};

// One sequence's part in a batch.
struct SequenceRows {
  int32_t first_row;     // its rows are [first_row, first_row + row_count)
  int32_t row_count;
  int32_t state_slot;    // which recurrent state is its own
  const int32_t* pages;  // page ids; position j lies in pages[j / kPageTokens] at j % kPageTokens
};

struct Batch {
  int32_t token_count;
  const TokenRow* rows;  // [token_count]
  int32_t sequence_count;
  const SequenceRows* sequences;  // [sequence_count]
  int32_t output_count;
  const int32_t* output_rows;  // [output_count] rows whose logits are wanted, rising
};

// The paged memory of all caches.
struct KvPool {
  std::byte* base;
  size_t page_bytes;
};

}  // namespace scratchy
