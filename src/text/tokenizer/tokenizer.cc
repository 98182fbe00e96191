#include "text/tokenizer/tokenizer.h"

#include <algorithm>

#include "base/text.h"
#include "text/tokenizer/decode.h"
#include "text/tokenizer/normalize.h"
#include "text/tokenizer/pre_tokenize.h"
#include "text/tokenizer/tokenizer_parts.h"
#include "text/tokenizer/unicode.h"

namespace scratchy {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;
// Below, setting up the cache of words costs more than it saves.
constexpr size_t kCacheFromBytes = 8 << 10;

// One encoding in progress.
class Encoding {
 public:
  explicit Encoding(const TokenizerParts& parts) : parts_(parts) {}

  Result<std::vector<int32_t>> run(std::string_view text, const std::vector<TextRange>& untrusted) {
    if (text.size() >= kCacheFromBytes) bpe_.enable_cache();
    ids_.reserve(text.size() / 4 + 8);
    std::vector<AddedTokens::Part> parts;
    parts_.added.cut(text, false, untrusted, cut_, parts);
    for (const AddedTokens::Part& part : parts) {
      if (part.id >= 0) ids_.push_back(part.id);
      else TRY_STATUS(encode_raw(text.substr(part.begin, part.end - part.begin), part.begin, untrusted));
    }
    return std::move(ids_);
  }

 private:
  // Normalizes `raw`, which starts at `offset` of the text, and looks for the added tokens of normalized text.
  Status encode_raw(std::string_view raw, uint32_t offset, const std::vector<TextRange>& untrusted) {
    text_.assign(raw);
    TRY_STATUS(normalize(parts_.normalizers, pre_.regex, text_));
    if (!parts_.added.any(true)) return encode_normalized(text_, offset == 0);
    std::vector<TextRange> ranges = shifted(untrusted, offset, raw.size());
    // Normalizing moves offsets; where it may have, one untrusted byte makes the whole stretch untrusted.
    if (!ranges.empty() && !parts_.normalizers.empty()) ranges.assign(1, {0, static_cast<uint32_t>(text_.size())});
    std::vector<AddedTokens::Part> parts;
    parts_.added.cut(text_, true, ranges, cut_, parts);
    const std::string whole = std::move(text_);
    for (const AddedTokens::Part& part : parts) {
      if (part.id >= 0) {
        ids_.push_back(part.id);
        continue;
      }
      text_.assign(whole, part.begin, part.end - part.begin);
      TRY_STATUS(encode_normalized(text_, offset == 0 && part.begin == 0));
    }
    return Done{};
  }

  Status encode_normalized(std::string& text, bool starts_text) {
    if (text.empty()) return Done{};
    TRY_STATUS(pre_tokenize(parts_.pre_tokenizers, starts_text, parts_.bpe.options().byte_level, text, pre_));
    for (const TextRange& piece : pre_.pieces)
      parts_.bpe.encode(parts_.vocabulary, std::string_view(text).substr(piece.begin, piece.end - piece.begin), bpe_, ids_);
    return Done{};
  }

  static std::vector<TextRange> shifted(const std::vector<TextRange>& ranges, uint32_t offset, size_t size) {
    std::vector<TextRange> out;
    for (const TextRange& range : ranges) {
      if (range.end <= offset || range.begin >= offset + size) continue;
      out.push_back({std::max(range.begin, offset) - offset,
                     static_cast<uint32_t>(std::min<size_t>(range.end - offset, size))});
    }
    return out;
  }

  const TokenizerParts& parts_;
  AddedTokens::Scratch cut_;
  PreTokenizeScratch pre_;
  BpeScratch bpe_;
  std::string text_;
  std::vector<int32_t> ids_;
};

Result<std::vector<int32_t>> encode_text(const TokenizerParts& parts, std::string_view text,
                                         const std::vector<TextRange>& untrusted, bool add_special) {
  if (text.size() > kMaxTextBytes)
    return Failure("the text has " + with_thousands(text.size()) + " bytes, at most " + with_thousands(kMaxTextBytes) + " are encoded");
  if (!is_utf8(text)) return Failure("the text is not valid UTF-8");
  TRY(std::vector<int32_t> ids, Encoding(parts).run(text, untrusted));
  if (!add_special) return ids;
  for (const IdTemplate& items : parts.templates) {
    std::vector<int32_t> filled;
    for (const int32_t item : items) {
      if (item == kTextSlot) filled.insert(filled.end(), ids.begin(), ids.end());
      else filled.push_back(item);
    }
    ids = std::move(filled);
  }
  return ids;
}

}  // namespace

bool TokenizerParts::can_keep_bytes(const std::vector<PreTokenizer>& stages, const BpeOptions& options) {
  const auto byte_levels = std::count_if(stages.begin(), stages.end(), [](const PreTokenizer& stage) {
    return stage.kind == PreTokenizerKind::kByteLevel;
  });
  return byte_levels == 1 && stages.back().kind == PreTokenizerKind::kByteLevel && !options.byte_fallback &&
         options.continuing_prefix.empty() && options.word_suffix.empty();
}

Status set_added_tokens(TokenizerParts& parts, std::vector<AddedToken> tokens) {
  parts.special.assign(parts.vocabulary.id_bound(), false);
  std::vector<std::string> normalized;
  RegexScratch regex;
  for (const AddedToken& token : tokens) {
    if (token.special) parts.special[token.id] = true;
    normalized.push_back(token.normalized ? token.content : std::string());
    TRY_STATUS(normalize(parts.normalizers, regex, normalized.back()));
  }
  parts.added = AddedTokens(std::move(tokens), normalized);
  return Done{};
}

Tokenizer::Tokenizer(std::unique_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool add_special) const {
  return encode_text(*parts_, text, {}, add_special);
}

Result<std::vector<int32_t>> Tokenizer::encode_plain(std::string_view text, bool add_special) const {
  if (text.size() > kMaxTextBytes) return encode_text(*parts_, text, {}, add_special);
  return encode_text(*parts_, text, {{0, static_cast<uint32_t>(text.size())}}, add_special);
}

Result<std::vector<int32_t>> Tokenizer::encode_segments(std::span<const TextSegment> segments, bool add_special) const {
  std::string text;
  std::vector<TextRange> untrusted;
  for (const TextSegment& segment : segments) {
    if (segment.text.size() > kMaxTextBytes - std::min(text.size(), kMaxTextBytes))
      return Failure("the text has more than " + with_thousands(kMaxTextBytes) + " bytes");
    const auto begin = static_cast<uint32_t>(text.size());
    text.append(segment.text);
    if (!segment.trusted && !segment.text.empty()) untrusted.push_back({begin, static_cast<uint32_t>(text.size())});
  }
  return encode_text(*parts_, text, untrusted, add_special);
}

Result<std::string> Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string out;
  DecodeRun run(parts_->decoders);
  for (const int32_t id : ids) {
    if (!is_token(id))
      return Failure("id " + std::to_string(id) + " is no token, ids go up to " + std::to_string(vocab_size()));
    if (skip_special && is_special(id)) continue;
    TRY_STATUS(run.push(parts_->vocabulary.text(id), out));
  }
  TRY_STATUS(run.finish(out));
  return out;
}

size_t Tokenizer::vocab_size() const { return parts_->vocabulary.id_bound(); }
std::optional<int32_t> Tokenizer::id_of(std::string_view token) const { return parts_->vocabulary.find(token); }
bool Tokenizer::is_token(int32_t id) const { return parts_->vocabulary.holds(id); }
std::string_view Tokenizer::token_text(int32_t id) const { return is_token(id) ? parts_->vocabulary.text(id) : std::string_view(); }
bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && static_cast<size_t>(id) < parts_->special.size() && parts_->special[id];
}

std::string Tokenizer::token_bytes(int32_t id) const {
  if (!is_token(id)) return {};
  std::string text(token_text(id));
  for (const DecoderStage& stage : parts_->decoders) {
    if (stage.kind == DecoderKind::kByteLevel) {
      std::string bytes;
      byte_level::append_bytes(bytes, text);
      text = std::move(bytes);
    } else if (stage.kind == DecoderKind::kByteFallback && parts_->bpe.options().byte_fallback) {
      if (const int byte = byte_token(text); byte >= 0) return std::string(1, static_cast<char>(byte));
    } else if (stage.kind == DecoderKind::kReplace && stage.pattern.regex == nullptr) {
      replace_all(text, stage.pattern.text, stage.content);
    } else if (stage.kind == DecoderKind::kMetaspace) {
      replace_all(text, stage.content, " ");
    }
  }
  return text;
}

struct StreamDecoder::State {
  const TokenizerParts* parts;
  bool skip_special;
  DecodeRun run;
};

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special)
    : state_(new State{tokenizer.parts_.get(), skip_special, DecodeRun(tokenizer.parts_->decoders)}) {}
StreamDecoder::~StreamDecoder() = default;
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;

std::string StreamDecoder::push(int32_t id) {
  std::string out;
  const TokenizerParts& parts = *state_->parts;
  if (!parts.vocabulary.holds(id) || (state_->skip_special && parts.special[id])) return out;
  // A pattern that fails on a token's text loses that token's text; the stream goes on.
  (void)state_->run.push(parts.vocabulary.text(id), out).ok();
  return out;
}

std::string StreamDecoder::finish() {
  std::string out;
  (void)state_->run.finish(out).ok();
  const State& old = *state_;
  state_.reset(new State{old.parts, old.skip_special, DecodeRun(old.parts->decoders)});
  return out;
}

}  // namespace scratchy
