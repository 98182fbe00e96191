// What the stages of a tokenizer's pipeline are, as plain data (the members each kind uses are named beside it).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/regex.h"

namespace scratchy {

enum class NormalizerKind {
#define NORMALIZER(kind, name) kind,
#define PRE_TOKENIZER(kind, name)
#define BEHAVIOR(kind, name)
#define DECODER(kind, name)
#include "text/tokenizer/components.def"
};
enum class PreTokenizerKind {
#define NORMALIZER(kind, name)
#define PRE_TOKENIZER(kind, name) kind,
#define BEHAVIOR(kind, name)
#define DECODER(kind, name)
#include "text/tokenizer/components.def"
};
enum class SplitBehavior {
#define NORMALIZER(kind, name)
#define PRE_TOKENIZER(kind, name)
#define BEHAVIOR(kind, name) kind,
#define DECODER(kind, name)
#include "text/tokenizer/components.def"
};
enum class DecoderKind {
#define NORMALIZER(kind, name)
#define PRE_TOKENIZER(kind, name)
#define BEHAVIOR(kind, name)
#define DECODER(kind, name) kind,
#include "text/tokenizer/components.def"
  kJoinWithSpaces,  // what a file without a decoder means
};

// The kind that a file calls `name`.
std::optional<NormalizerKind> normalizer_kind(std::string_view name);
std::optional<PreTokenizerKind> pre_tokenizer_kind(std::string_view name);
std::optional<SplitBehavior> split_behavior(std::string_view name);
std::optional<DecoderKind> decoder_kind(std::string_view name);

// What Split and Replace look for: `text`, not empty, or a regular expression when there is one.
struct Pattern {
  std::string text;
  std::shared_ptr<const Regex> regex;

  // Sets `out` to the matches in `subject`, left to right.
  Status find_all(std::string_view subject, RegexScratch& scratch, std::vector<TextRange>& out) const;
};

struct Normalizer {
  NormalizerKind kind;
  Pattern pattern;                          // Replace
  std::string content;                      // Prepend, Replace
  bool strip_left = true, strip_right = true;  // Strip
};

enum class PrependScheme { kFirst, kNever, kAlways };

struct PreTokenizer {
  PreTokenizerKind kind;
  Pattern pattern;                          // Split
  SplitBehavior behavior = SplitBehavior::kIsolated;  // Split, Punctuation
  bool invert = false;                      // Split
  bool add_prefix_space = false;            // ByteLevel
  bool individual_digits = false;           // Digits
  bool split = true;                        // Metaspace; ByteLevel: split by the pattern of GPT-2
  std::string character;                    // Metaspace: its mark; CharDelimiterSplit
  PrependScheme prepend = PrependScheme::kAlways;  // Metaspace
  size_t length = 1;                        // FixedLength, in characters
};

struct DecoderStage {
  DecoderKind kind;
  Pattern pattern;                          // Replace
  std::string content;                      // Replace, Strip: one character; Metaspace: its mark; WordPiece: prefix; BPEDecoder: suffix
  size_t start = 0, stop = 0;               // Strip
  bool flag = false;                        // Metaspace: the first token loses its marks; WordPiece: clean up
};

// One item of a template: an id, or the ids of the text when it is negative.
using IdTemplate = std::vector<int32_t>;
inline constexpr int32_t kTextSlot = -1;

}  // namespace scratchy
