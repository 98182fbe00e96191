// Regular expressions of tokenizer files: written for Oniguruma, run by PCRE2.
//
// The two dialects agree on what published patterns use, except for the classes \s, \d, \w, whose members differ; those
// are spelled out before compiling. What reads differently in the two and is not translated (back-references, named
// groups, intersections of classes, verbs ...) is refused. Time is bounded: each match may backtrack only so often,
// and a search looks at the clock as it goes.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace scratchy {

struct TextRange {
  uint32_t begin = 0, end = 0;  // bytes
};

// What searches need and reuse; one per thread of use.
class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;

 private:
  friend class Regex;
  struct Machinery;
  std::unique_ptr<Machinery> machinery_;  // made on first use
};

class Regex {
 public:
  static Result<Regex> compile(std::string_view pattern);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  // Sets `out` to the matches in `text` (valid UTF-8), left to right, not overlapping; an empty match right after
  // another match does not count. A Failure says that the pattern backtracks too much on this text.
  Status find_all(std::string_view text, RegexScratch& scratch, std::vector<TextRange>& out) const;

 private:
  struct Code;
  explicit Regex(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code_;
};

// The pattern as PCRE2 understands it; a Failure names what cannot be carried over and the byte where it stands.
Result<std::string> translate_regex(std::string_view pattern);

}  // namespace scratchy
