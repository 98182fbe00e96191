// Reading tokenizer.json strictly and fast.
//
// Nearly all of such a file is the vocabulary and the merges, which need no document tree: `carve` finds both, a flat
// scanner reads them in place, and the small rest is parsed into a tree with its limits checked.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace scratchy {

inline constexpr size_t kMaxJsonDepth = 128;

// Parses `text`: no byte order mark, comments, duplicate keys or nesting deeper than kMaxJsonDepth. Failures name the byte.
Result<nlohmann::json> parse_strict_json(std::string_view text);

// A tokenizer.json in parts. `rest` is the file with the value of model.vocab and of model.merges replaced by `{}` and
// `[]` where they are an object and an array; `vocab` and `merges` are their texts, empty where there are none.
struct CarvedJson {
  std::string rest;
  std::string_view vocab, merges;
  size_t vocab_offset = 0, merges_offset = 0;  // in the file
};
CarvedJson carve(std::string_view file);

// Walks a flat piece of JSON text (valid UTF-8).
class JsonScanner {
 public:
  // `offset`: where `text` starts in the file, for messages.
  JsonScanner(std::string_view text, size_t offset) : text_(text), offset_(offset) {}

  // Moves past `c` and white space around it; false when something else is next.
  bool take(char c);
  bool at_end();
  // A string; what it holds is valid until the next call.
  Result<std::string_view> string();
  // An integer of at most 32 bits, without sign.
  Result<uint32_t> unsigned_integer();
  Failure unexpected(std::string_view wanted);

 private:
  void skip_space();
  Status unescape(size_t begin);
  int hex4(size_t at) const;

  std::string_view text_;
  size_t offset_;
  size_t at_ = 0;
  std::string buffer_;
};

}  // namespace scratchy
