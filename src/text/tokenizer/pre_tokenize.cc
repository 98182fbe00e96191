// Each stage first may rewrite the text piece by piece, then finds matches in each piece and cuts it by a behaviour.
#include "text/tokenizer/pre_tokenize.h"

#include "text/tokenizer/unicode.h"

namespace scratchy {
namespace {

// Adds [begin, end) when it is not empty.
void add(std::vector<TextRange>& out, uint32_t begin, uint32_t end) {
  if (begin < end) out.push_back({begin, end});
}

// Cuts [0, size) by `matches`: ranges between them count as unmatched. `base` is added to what goes to `out`.
class Cutter {
 public:
  Cutter(SplitBehavior behavior, bool invert, uint32_t base, std::vector<TextRange>& out)
      : behavior_(behavior), invert_(invert), base_(base), first_(out.size()), out_(out) {}

  void cut(std::span<const TextRange> matches, uint32_t size) {
    uint32_t from = 0;
    for (const TextRange& match : matches) {
      if (from < match.begin) part(from, match.begin, invert_);
      part(match.begin, match.end, !invert_);
      from = match.end;
    }
    if (from < size) part(from, size, invert_);
    finish();
  }

 private:
  // The next range in order, matched or not. Empty matches separate and are dropped at the end.
  void part(uint32_t begin, uint32_t end, bool matched) {
    const TextRange range{begin + base_, end + base_};
    const bool any = out_.size() > first_;
    switch (behavior_) {
      case SplitBehavior::kRemoved:
        if (!matched) out_.push_back(range);
        return;
      case SplitBehavior::kIsolated:
        out_.push_back(range);
        return;
      case SplitBehavior::kContiguous:
        if (any && matched == previous_) out_.back().end = range.end;
        else out_.push_back(range);
        break;
      case SplitBehavior::kMergedWithPrevious:
        if (any && matched && !previous_) out_.back().end = range.end;
        else out_.push_back(range);
        break;
      case SplitBehavior::kMergedWithNext:
        // Seen from the right, a match joins the unmatched range after it, and the last of a run does.
        if (any && !matched && previous_) out_.back().end = range.end;
        else out_.push_back(range);
        break;
    }
    previous_ = matched;
  }
  void finish() {
    size_t kept = first_;
    for (size_t i = first_; i < out_.size(); ++i)
      if (out_[i].begin < out_[i].end) out_[kept++] = out_[i];
    out_.resize(kept);
  }

  SplitBehavior behavior_;
  bool invert_;
  uint32_t base_;
  size_t first_;
  bool previous_ = false;
  std::vector<TextRange>& out_;
};

// Sets `matches` to every character that `is` holds for, one range each.
template <typename Is>
void match_chars(std::string_view text, Is is, std::vector<TextRange>& matches) {
  matches.clear();
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (is(next_char(text, at))) matches.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(at)});
  }
}

// Cuts into runs of word characters and runs of others, white space dropped.
void cut_words(std::string_view text, uint32_t base, std::vector<TextRange>& out) {
  enum Kind { kSpace, kWord, kOther };
  Kind run = kSpace;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t here = at;
    const char32_t c = next_char(text, at);
    const Kind kind = is_white_space(c) ? kSpace : is_word(c) ? kWord : kOther;
    if (kind == run) continue;
    if (run != kSpace) add(out, base + static_cast<uint32_t>(begin), base + static_cast<uint32_t>(here));
    begin = here;
    run = kind;
  }
  if (run != kSpace) add(out, base + static_cast<uint32_t>(begin), base + static_cast<uint32_t>(text.size()));
}

void cut_fixed(std::string_view text, size_t length, uint32_t base, std::vector<TextRange>& out) {
  size_t begin = 0, count = 0;
  for (size_t at = 0; at < text.size();) {
    next_char(text, at);
    if (++count < length && at < text.size()) continue;
    add(out, base + static_cast<uint32_t>(begin), base + static_cast<uint32_t>(at));
    begin = at;
    count = 0;
  }
}

// Rewrites each piece of `text` by `change(piece, index_is_start, out)`.
template <typename Change>
void rewrite(std::string& text, std::vector<TextRange>& pieces, Change change) {
  std::string out;
  out.reserve(text.size() + text.size() / 4 + 16);
  for (TextRange& piece : pieces) {
    const size_t begin = out.size();
    change(std::string_view(text).substr(piece.begin, piece.end - piece.begin), piece.begin == 0, out);
    piece = {static_cast<uint32_t>(begin), static_cast<uint32_t>(out.size())};
  }
  text = std::move(out);
}

void rewrite_metaspace(const PreTokenizer& stage, bool starts_text, std::string& text, std::vector<TextRange>& pieces) {
  rewrite(text, pieces, [&](std::string_view piece, bool at_zero, std::string& out) {
    const bool marked = piece.front() == ' ' || piece.starts_with(stage.character);
    const bool wanted = stage.prepend == PrependScheme::kAlways ||
                        (stage.prepend == PrependScheme::kFirst && starts_text && at_zero);
    if (wanted && !marked) out.append(stage.character);
    for (const char c : piece) {
      if (c == ' ') out.append(stage.character);
      else out.push_back(c);
    }
  });
}

void rewrite_prefix_space(std::string& text, std::vector<TextRange>& pieces) {
  rewrite(text, pieces, [](std::string_view piece, bool, std::string& out) {
    if (piece.front() != ' ') out.push_back(' ');
    out.append(piece);
  });
}

// Cuts one piece by `stage`, into `scratch.next`.
Status cut_piece(const PreTokenizer& stage, std::string_view piece, uint32_t base, PreTokenizeScratch& scratch) {
  const auto cut = [&](SplitBehavior behavior, bool invert) {
    Cutter(behavior, invert, base, scratch.next).cut(scratch.matches, static_cast<uint32_t>(piece.size()));
  };
  switch (stage.kind) {
    case PreTokenizerKind::kByteLevel:
    case PreTokenizerKind::kSplit:
      TRY_STATUS(stage.pattern.find_all(piece, scratch.regex, scratch.matches));
      cut(stage.behavior, stage.invert);
      return Done{};
    case PreTokenizerKind::kDigits:
      match_chars(piece, is_numeric, scratch.matches);
      cut(stage.individual_digits ? SplitBehavior::kIsolated : SplitBehavior::kContiguous, false);
      return Done{};
    case PreTokenizerKind::kMetaspace:
      TRY_STATUS(Pattern{stage.character}.find_all(piece, scratch.regex, scratch.matches));
      cut(SplitBehavior::kMergedWithNext, false);
      return Done{};
    case PreTokenizerKind::kWhitespace:
      cut_words(piece, base, scratch.next);
      return Done{};
    case PreTokenizerKind::kWhitespaceSplit:
      match_chars(piece, is_white_space, scratch.matches);
      cut(SplitBehavior::kRemoved, false);
      return Done{};
    case PreTokenizerKind::kPunctuation:
      match_chars(piece, is_punctuation, scratch.matches);
      cut(stage.behavior, false);
      return Done{};
    case PreTokenizerKind::kBert: {
      match_chars(piece, is_punctuation, scratch.matches);
      const size_t first = scratch.next.size();
      cut(SplitBehavior::kIsolated, false);
      const std::vector<TextRange> parts(scratch.next.begin() + static_cast<ptrdiff_t>(first), scratch.next.end());
      scratch.next.resize(first);
      for (const TextRange& part : parts) {
        const std::string_view text = piece.substr(part.begin - base, part.end - part.begin);
        match_chars(text, is_white_space, scratch.matches);
        Cutter(SplitBehavior::kRemoved, false, part.begin, scratch.next).cut(scratch.matches, part.end - part.begin);
      }
      return Done{};
    }
    case PreTokenizerKind::kDelimiter:
      TRY_STATUS(Pattern{stage.character}.find_all(piece, scratch.regex, scratch.matches));
      cut(SplitBehavior::kRemoved, false);
      return Done{};
    case PreTokenizerKind::kFixedLength:
      cut_fixed(piece, stage.length, base, scratch.next);
      return Done{};
  }
  SCRATCHY_UNREACHABLE("pre-tokenizer kind");
}

bool cuts(const PreTokenizer& stage) {
  const bool may_rewrite_only = stage.kind == PreTokenizerKind::kByteLevel || stage.kind == PreTokenizerKind::kMetaspace;
  return !may_rewrite_only || stage.split;
}

}  // namespace

Status pre_tokenize(std::span<const PreTokenizer> stages, bool starts_text, bool keep_bytes, std::string& text,
                    PreTokenizeScratch& scratch) {
  scratch.pieces.assign(1, {0, static_cast<uint32_t>(text.size())});
  for (const PreTokenizer& stage : stages) {
    if (stage.kind == PreTokenizerKind::kMetaspace) rewrite_metaspace(stage, starts_text, text, scratch.pieces);
    if (stage.kind == PreTokenizerKind::kByteLevel && stage.add_prefix_space) rewrite_prefix_space(text, scratch.pieces);
    if (cuts(stage)) {
      scratch.next.clear();
      for (const TextRange& piece : scratch.pieces)
        TRY_STATUS(cut_piece(stage, std::string_view(text).substr(piece.begin, piece.end - piece.begin), piece.begin, scratch));
      scratch.pieces.swap(scratch.next);
    }
    if (stage.kind == PreTokenizerKind::kByteLevel && !keep_bytes)
      rewrite(text, scratch.pieces, [](std::string_view piece, bool, std::string& out) { byte_level::append_text(out, piece); });
  }
  return Done{};
}

}  // namespace scratchy
