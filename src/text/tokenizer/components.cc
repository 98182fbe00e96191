#include "text/tokenizer/components.h"

namespace scratchy {

std::optional<NormalizerKind> normalizer_kind(std::string_view name) {
#define NORMALIZER(kind, text) \
  if (name == text) return NormalizerKind::kind;
#define PRE_TOKENIZER(kind, text)
#define BEHAVIOR(kind, text)
#define DECODER(kind, text)
#include "text/tokenizer/components.def"
  return std::nullopt;
}

std::optional<PreTokenizerKind> pre_tokenizer_kind(std::string_view name) {
#define NORMALIZER(kind, text)
#define PRE_TOKENIZER(kind, text) \
  if (name == text) return PreTokenizerKind::kind;
#define BEHAVIOR(kind, text)
#define DECODER(kind, text)
#include "text/tokenizer/components.def"
  return std::nullopt;
}

std::optional<SplitBehavior> split_behavior(std::string_view name) {
#define NORMALIZER(kind, text)
#define PRE_TOKENIZER(kind, text)
#define BEHAVIOR(kind, text) \
  if (name == text) return SplitBehavior::kind;
#define DECODER(kind, text)
#include "text/tokenizer/components.def"
  return std::nullopt;
}

std::optional<DecoderKind> decoder_kind(std::string_view name) {
#define NORMALIZER(kind, text)
#define PRE_TOKENIZER(kind, text)
#define BEHAVIOR(kind, text)
#define DECODER(kind, text) \
  if (name == text) return DecoderKind::kind;
#include "text/tokenizer/components.def"
  return std::nullopt;
}

Status Pattern::find_all(std::string_view subject, RegexScratch& scratch, std::vector<TextRange>& out) const {
  if (regex != nullptr) return regex->find_all(subject, scratch, out);
  out.clear();
  for (size_t at = 0; (at = subject.find(text, at)) != subject.npos; at += text.size())
    out.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + text.size())});
  return Done{};
}

}  // namespace scratchy
