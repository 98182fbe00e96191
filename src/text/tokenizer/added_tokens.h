// Added tokens: texts that are found before anything else looks at the input.
//
// The leftmost match counts, and of those the longest. An Aho-Corasick automaton over the reversed texts, run once over
// the input from its end, gives the longest token that starts at each place; picking from the left then needs no second
// look at the input. Both are linear whatever the tokens are.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer/regex.h"

namespace scratchy {

struct AddedToken {
  int32_t id = -1;
  std::string content;
  bool special = false;
  bool normalized = false;   // looked for in normalized text
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false, rstrip = false;  // takes white space before or after it
};

// Finds a fixed set of texts.
class TextMatcher {
 public:
  // Adds a text, not empty; of equal texts the last one counts.
  void add(std::string_view text, int32_t value);
  void finish();  // after the last add()
  bool empty() const { return nodes_.size() == 1; }

  struct Match {
    uint32_t begin, end;
    int32_t value;
  };
  // Sets `out` to the longest match at each place where one starts, from right to left.
  void find_longest(std::string_view text, std::vector<Match>& out) const;

 private:
  struct Node {
    int32_t value = -1;      // of the text that ends here
    uint32_t depth = 0;
    uint32_t failure = 0;    // the longest proper suffix that is a node
    uint32_t output = 0;     // the nearest node with a value along the failures, itself included; 0 for none
    uint32_t parent = 0;
    unsigned char byte = 0;  // on the edge from the parent
  };
  uint32_t child(uint32_t node, unsigned char byte) const;
  void grow_edges();

  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<uint32_t> edges_;  // open addressing by parent and byte: the child, 0 when free
  std::array<uint32_t, 256> roots_{};
};

// The added tokens of one tokenizer.
class AddedTokens {
 public:
  // `normalized_contents[i]`: the content of tokens[i] after normalization, used when it is `normalized`.
  AddedTokens() = default;
  AddedTokens(std::vector<AddedToken> tokens, const std::vector<std::string>& normalized_contents);

  const std::vector<AddedToken>& tokens() const { return tokens_; }

  // A part of a text: an added token (`id` >= 0) or text between.
  struct Part {
    uint32_t begin, end;
    int32_t id;
  };
  struct Scratch {
    std::vector<TextMatcher::Match> matches;
  };
  // Cuts `text` by the tokens that are looked for in raw or in normalized text. Control tokens are not found where they
  // touch one of `untrusted`, sorted ranges of `text`.
  void cut(std::string_view text, bool normalized, const std::vector<TextRange>& untrusted, Scratch& scratch,
           std::vector<Part>& out) const;
  bool any(bool normalized) const { return !(normalized ? normalized_ : raw_).empty(); }

 private:
  std::vector<AddedToken> tokens_;
  TextMatcher raw_, normalized_;  // values are indices into tokens_
};

// Whether text from outside may never become `token`: special ones, and others spelled `<|...|>`.
bool is_control(const AddedToken& token);

}  // namespace scratchy
