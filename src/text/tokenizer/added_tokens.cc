#include "text/tokenizer/added_tokens.h"

#include <algorithm>

#include "text/tokenizer/unicode.h"

namespace scratchy {
namespace {

bool word_ends_at(std::string_view text, size_t at) {
  if (at == 0) return false;
  size_t before = char_before(text, at);
  return is_word(next_char(text, before));
}

bool word_starts_at(std::string_view text, size_t at) {
  return at < text.size() && is_word(next_char(text, at));
}

size_t skip_space(std::string_view text, size_t at) {
  while (at < text.size()) {
    size_t after = at;
    if (!is_white_space(next_char(text, after))) break;
    at = after;
  }
  return at;
}

// Back over white space before `at`, not past `stop`.
size_t skip_space_back(std::string_view text, size_t at, size_t stop) {
  while (at > stop) {
    const size_t before = char_before(text, at);
    size_t after = before;
    if (!is_white_space(next_char(text, after))) break;
    at = before;
  }
  return std::max(at, stop);
}

}  // namespace

bool is_control(const AddedToken& token) {
  constexpr std::string_view kWideBar = "\xEF\xBD\x9C";
  const std::string_view text = token.content;
  const auto between = [&](std::string_view bar) {
    return text.size() > 2 + 2 * bar.size() && text.starts_with('<') && text.ends_with('>') &&
           text.substr(1).starts_with(bar) && text.substr(0, text.size() - 1).ends_with(bar);
  };
  return token.special || between("|") || between(kWideBar);
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const std::vector<std::string>& normalized_contents)
    : tokens_(std::move(tokens)) {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& text = tokens_[i].normalized ? normalized_contents[i] : tokens_[i].content;
    if (!text.empty()) (tokens_[i].normalized ? normalized_ : raw_).add(text, static_cast<int32_t>(i));
  }
  raw_.finish();
  normalized_.finish();
}

void AddedTokens::cut(std::string_view text, bool normalized, const std::vector<TextRange>& untrusted, Scratch& scratch,
                      std::vector<Part>& out) const {
  out.clear();
  (normalized ? normalized_ : raw_).find_longest(text, scratch.matches);
  size_t from = 0;   // where the next part starts
  size_t search = 0; // where the next match may start
  size_t range = 0;  // the first untrusted range that ends after the match starts
  for (size_t i = scratch.matches.size(); i-- > 0;) {
    const TextMatcher::Match& match = scratch.matches[i];
    if (match.begin < search) continue;
    const AddedToken& token = tokens_[match.value];
    search = match.end;
    while (range < untrusted.size() && untrusted[range].end <= match.begin) ++range;
    if (range < untrusted.size() && untrusted[range].begin < match.end && is_control(token)) {
      // A match that reaches over the edge may hide another that lies beyond it.
      if (match.begin < untrusted[range].begin || match.end > untrusted[range].end) search = match.begin + 1;
      continue;
    }
    if (token.single_word && (word_ends_at(text, match.begin) || word_starts_at(text, match.end))) continue;
    size_t begin = match.begin, end = match.end;
    if (token.lstrip) begin = skip_space_back(text, begin, std::min(from, begin));
    if (token.rstrip) end = skip_space(text, end);
    if (from < begin) out.push_back({static_cast<uint32_t>(from), static_cast<uint32_t>(begin), -1});
    out.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end), token.id});
    from = end;
  }
  if (from < text.size()) out.push_back({static_cast<uint32_t>(from), static_cast<uint32_t>(text.size()), -1});
}

}  // namespace scratchy
