// The events of a JSON text, with their byte positions, for readers that build their own structure.
//
// The checks that need no memory are made here: depth, number of values, exact integers, no byte order mark, nothing after
// the value. A handler answers each event with success or with the sentence of its refusal; the position is added here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "checkpoint/json.h"

namespace scratchy {

class JsonEvents {
 public:
  using Refusal = std::optional<std::string>;
  virtual ~JsonEvents() = default;
  virtual Refusal begin_object() = 0;
  virtual Refusal end_object() = 0;
  virtual Refusal begin_array() = 0;
  virtual Refusal end_array() = 0;
  virtual Refusal key(std::string& name) = 0;
  virtual Refusal text(std::string& value) = 0;
  virtual Refusal unsigned_integer(uint64_t value) = 0;
  virtual Refusal negative_integer(int64_t value) = 0;
  virtual Refusal real(double value) = 0;
  virtual Refusal boolean(bool value) = 0;
  virtual Refusal null() = 0;
};

// Sends the events of `text` to `events` in order; a Failure starts with the line and column.
Status walk_json(std::string_view text, JsonEvents& events, const JsonLimits& limits = {});

}  // namespace scratchy
