// A GGUF vocabulary to a tokenizer.
//
// "gpt2" vocabularies carry merges and the name of a pre-tokenizer, whose patterns are listed here. "llama" ones carry
// scores: two neighbours merge when their joint text is a token, the highest score first. That is byte-pair encoding
// with one merge for every way to cut a token into two, ranked by score, which is how it is built here.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "text/tokenizer/pre_tokenize.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_parts.h"
#include "text/tokenizer/unicode.h"

namespace scratchy {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";
// Merges are made for cuts between characters; a token longer than this could ask for more than its share.
constexpr size_t kMaxMergedBytes = 1024;

enum class Recipe { kDefault, kGpt2, kDigitsGpt2, kCl100k, kQwen2, kTekken, kGpt4o, kDeepSeek3 };

struct PreName {
  std::string_view name;
  Recipe recipe;
  bool nfc, ignore_merges;
};

constexpr PreName kPreNames[] = {
#define GGUF_PRE(name, recipe, nfc, ignore_merges) {name, Recipe::recipe, nfc, ignore_merges},
#include "text/tokenizer/gguf_pre.def"
};

// The Split patterns of a recipe, in order; the text between matches stays.
std::vector<std::string_view> patterns(Recipe recipe) {
  switch (recipe) {
    case Recipe::kDefault: return {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Pattern, R"(\p{N}+)", R"([0-9][0-9][0-9])"};
    case Recipe::kGpt2: return {kGpt2Pattern};
    case Recipe::kDigitsGpt2: return {R"(\p{N})", kGpt2Pattern};
    case Recipe::kCl100k:
      return {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
    case Recipe::kQwen2:
      return {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
    case Recipe::kTekken:
      return {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
    case Recipe::kGpt4o:
      return {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
    case Recipe::kDeepSeek3:
      return {R"(\p{N}{1,3})", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
              R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
  }
  SCRATCHY_UNREACHABLE("pre-tokenizer recipe");
}

Result<const PreName*> find_pre(const std::string& name) {
  for (const PreName& known : kPreNames)
    if (known.name == name) return &known;
  std::vector<std::string> names;
  for (const PreName& known : kPreNames) names.emplace_back(known.name);
  const auto near = nearest_name(name, names);
  return Failure("tokenizer.ggml.pre: `" + escape_for_message(name) + "` is no pre-tokenizer that is supported" +
                 (near ? ", did you mean `" + *near + "`" : std::string()));
}

Status check_shape(const GgufVocabulary& gguf) {
  const std::string count = std::to_string(gguf.tokens.size());
  if (gguf.tokens.empty()) return Failure("tokenizer.ggml.tokens: no tokens");
  if (!gguf.token_types.empty() && gguf.token_types.size() != gguf.tokens.size())
    return Failure("tokenizer.ggml.token_type: " + std::to_string(gguf.token_types.size()) + " types for " + count + " tokens");
  if (!gguf.scores.empty() && gguf.scores.size() != gguf.tokens.size())
    return Failure("tokenizer.ggml.scores: " + std::to_string(gguf.scores.size()) + " scores for " + count + " tokens");
  for (const float score : gguf.scores)
    if (!std::isfinite(score)) return Failure("tokenizer.ggml.scores: a score is not finite");
  const std::pair<const char*, int64_t> ids[] = {{"bos", gguf.bos_id}, {"eos", gguf.eos_id}, {"unknown", gguf.unk_id}};
  for (const auto& [name, id] : ids)
    if (id < -1 || id >= static_cast<int64_t>(gguf.tokens.size()))
      return Failure("tokenizer.ggml." + std::string(name) + "_token_id: " + std::to_string(id) + " is outside the vocabulary of " + count);
  return Done{};
}

GgufTokenType type_of(const GgufVocabulary& gguf, size_t id) {
  return gguf.token_types.empty() ? GgufTokenType::kNormal : static_cast<GgufTokenType>(gguf.token_types[id]);
}

Status read_tokens(const GgufVocabulary& gguf, TokenizerParts& parts, std::vector<AddedToken>& added) {
  parts.vocabulary.reserve(gguf.tokens.size(), 0);
  for (size_t id = 0; id < gguf.tokens.size(); ++id) {
    const std::string_view text = gguf.tokens[id];
    if (!is_utf8(text)) return Failure("tokenizer.ggml.tokens[" + std::to_string(id) + "]: not valid UTF-8");
    if (auto status = parts.vocabulary.add(static_cast<int32_t>(std::min<size_t>(id, INT32_MAX)), text); !status.ok())
      return std::move(status).failure().in("tokenizer.ggml.tokens");
    const GgufTokenType type = type_of(gguf, id);
    const bool special = type == GgufTokenType::kControl || type == GgufTokenType::kUnknown;
    if ((special || type == GgufTokenType::kUserDefined) && !text.empty())
      added.push_back({.id = static_cast<int32_t>(id), .content = std::string(text), .special = special});
  }
  return Done{};
}

Status read_gpt2(const GgufVocabulary& gguf, TokenizerParts& parts) {
  TRY(const PreName* pre, find_pre(gguf.pre));
  if (pre->nfc) parts.normalizers.push_back({.kind = NormalizerKind::kNfc});
  for (const std::string_view text : patterns(pre->recipe)) {
    TRY(Regex regex, Regex::compile(text));
    parts.pre_tokenizers.push_back({.kind = PreTokenizerKind::kSplit});
    parts.pre_tokenizers.back().pattern.regex = std::make_shared<const Regex>(std::move(regex));
  }
  parts.pre_tokenizers.push_back({.kind = PreTokenizerKind::kByteLevel, .add_prefix_space = gguf.add_space_prefix.value_or(false), .split = false});
  parts.decoders.push_back({.kind = DecoderKind::kByteLevel});
  TRY(parts.bpe, Bpe::create(parts.vocabulary, {.byte_level = true, .ignore_merges = pre->ignore_merges}));
  parts.bpe.reserve_merges(std::min(gguf.merges.size(), 4 * gguf.tokens.size()));
  uint32_t rank = 0;
  std::optional<int32_t> product;
  std::string joint;
  for (const std::string_view merge : gguf.merges) {
    // The first byte may be a space that belongs to the token.
    const size_t space = merge.find(' ', 1);
    const auto refuse = [&](const char* why) {
      return Failure("tokenizer.ggml.merges[" + std::to_string(rank) + "]: `" + escape_for_message(merge) + "` " + why);
    };
    if (space == merge.npos) return refuse("must be two tokens with a space between");
    const auto left = parts.vocabulary.find(merge.substr(0, space));
    const auto right = parts.vocabulary.find(merge.substr(space + 1));
    joint.assign(merge.substr(0, space)).append(merge.substr(space + 1));
    // The results of a trained vocabulary's merges follow each other, so the next id is worth a look before a search.
    const int32_t next = product.value_or(-1) + 1;
    product = parts.vocabulary.holds(next) && parts.vocabulary.text(next) == joint ? next : parts.vocabulary.find(joint);
    if (!left || !right || !product || space + 1 == merge.size()) return refuse("names a text that is no token");
    parts.bpe.add_merge(*left, *right, rank++, *product);
  }
  return Done{};
}

// Ranks of tokens by score: equal scores share one, the highest score has the lowest.
std::vector<uint32_t> ranks_by_score(const std::vector<float>& scores) {
  std::vector<uint32_t> order(scores.size()), ranks(scores.size());
  for (uint32_t id = 0; id < order.size(); ++id) order[id] = id;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  uint32_t rank = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && scores[order[i]] != scores[order[i - 1]]) ++rank;
    ranks[order[i]] = rank;
  }
  return ranks;
}

void add_merges_by_score(const GgufVocabulary& gguf, TokenizerParts& parts) {
  const std::vector<uint32_t> ranks = ranks_by_score(gguf.scores);
  parts.bpe.reserve_merges(2 * gguf.tokens.size());
  for (size_t id = 0; id < gguf.tokens.size(); ++id) {
    const GgufTokenType type = type_of(gguf, id);
    const std::string_view text = gguf.tokens[id];
    if ((type != GgufTokenType::kNormal && type != GgufTokenType::kUserDefined) || text.size() > kMaxMergedBytes) continue;
    for (size_t at = text.empty() ? 0 : char_length(text[0]); at < text.size(); at += char_length(text[at])) {
      const auto left = parts.vocabulary.find(text.substr(0, at));
      if (!left) continue;
      if (const auto right = parts.vocabulary.find(text.substr(at)))
        parts.bpe.add_merge(*left, *right, ranks[id], static_cast<int32_t>(id));
    }
  }
}

Status read_llama(const GgufVocabulary& gguf, TokenizerParts& parts) {
  if (gguf.scores.empty()) return Failure("tokenizer.ggml.scores: missing, a `llama` vocabulary needs one a token");
  const bool prefix = gguf.add_space_prefix.value_or(true);
  if (prefix) parts.normalizers.push_back({.kind = NormalizerKind::kPrepend, .content = std::string(kSpaceMark)});
  parts.normalizers.push_back({.kind = NormalizerKind::kReplace, .pattern = {.text = " "}, .content = std::string(kSpaceMark)});
  parts.decoders.push_back({.kind = DecoderKind::kReplace, .pattern = {.text = std::string(kSpaceMark)}, .content = " "});
  parts.decoders.push_back({.kind = DecoderKind::kByteFallback});
  parts.decoders.push_back({.kind = DecoderKind::kFuse});
  if (prefix) parts.decoders.push_back({.kind = DecoderKind::kStrip, .content = " ", .start = 1});
  TRY(parts.bpe, Bpe::create(parts.vocabulary, {.byte_fallback = true, .fuse_unk = true, .unk = static_cast<int32_t>(gguf.unk_id)}));
  add_merges_by_score(gguf, parts);
  return Done{};
}

Result<std::unique_ptr<const TokenizerParts>> read(const GgufVocabulary& gguf) {
  TRY_STATUS(check_shape(gguf));
  auto parts = std::make_unique<TokenizerParts>();
  std::vector<AddedToken> added;
  TRY_STATUS(read_tokens(gguf, *parts, added));
  const bool llama = gguf.model == "llama";
  if (llama) TRY_STATUS(read_llama(gguf, *parts));
  else if (gguf.model == "gpt2") TRY_STATUS(read_gpt2(gguf, *parts));
  else return Failure("tokenizer.ggml.model: `" + escape_for_message(gguf.model) + "` is not supported, must be gpt2 or llama");
  TRY_STATUS(set_added_tokens(*parts, std::move(added)));
  IdTemplate items;
  if (gguf.add_bos.value_or(llama) && gguf.bos_id >= 0) items.push_back(static_cast<int32_t>(gguf.bos_id));
  items.push_back(kTextSlot);
  if (gguf.add_eos.value_or(false) && gguf.eos_id >= 0) items.push_back(static_cast<int32_t>(gguf.eos_id));
  if (items.size() > 1) parts->templates.push_back(std::move(items));
  parts->bpe.finish(parts->vocabulary, parts->special);
  return std::unique_ptr<const TokenizerParts>(std::move(parts));
}

}  // namespace

Result<Tokenizer> Tokenizer::from_gguf(const GgufVocabulary& vocabulary) {
  TRY(auto parts, read(vocabulary));
  return Tokenizer(std::move(parts));
}

}  // namespace scratchy
