// Making a pack (weight_store.h): every weight of a program read, transformed and packed, one after the other.
#pragma once

#include <functional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "tape/program.h"

namespace scratchy {

struct PackHeader {
  char magic[8];
  uint64_t file_bytes;
  char key[32];
  uint64_t count;
  uint64_t padding;
};
static_assert(sizeof(PackHeader) == 64);

struct PackEntry {
  uint64_t offset;        // from the begin of the pack
  uint64_t matrix_bytes;  // of one matrix of a stack; of the whole for dense tensors
  int32_t variant;        // index into the record's variants, -1: dense f32
  int32_t padding;
};

// What the pack of this program and checkpoint is called and stamped with: 32 hex digits.
std::string pack_key(const CompiledProgram& program, const Checkpoint& checkpoint);

// Where a pack is written: `write` puts bytes at an offset, ascending but for the header and a stack begun again.
using PackSink = std::function<Status(uint64_t offset, std::span<const std::byte> bytes)>;

// Writes the whole pack but its size is known only at the end: returns it. The header goes last.
Result<uint64_t> write_pack(const CompiledProgram& program, const Checkpoint& checkpoint, const PackSink& sink,
                            const std::function<void(size_t, size_t)>& progress);

}  // namespace scratchy
