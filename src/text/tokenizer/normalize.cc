#include "text/tokenizer/normalize.h"

#include <utf8proc.h>

#include "base/text.h"
#include "text/tokenizer/unicode.h"

namespace scratchy {
namespace {

constexpr size_t kMaxGrowth = 64;
constexpr size_t kFreeGrowthBytes = 64 << 10;

Status replace(const Normalizer& normalizer, RegexScratch& scratch, size_t limit, std::string& text) {
  std::vector<TextRange> matches;
  TRY_STATUS(normalizer.pattern.find_all(text, scratch, matches));
  if (matches.empty()) return Done{};
  if (matches.size() * normalizer.content.size() > limit)
    return Failure("replacing `" + escape_for_message(normalizer.pattern.text, 20) + "` makes the text too long");
  std::string out;
  out.reserve(text.size() + matches.size() * normalizer.content.size());
  size_t from = 0;
  for (const TextRange& match : matches) {
    out.append(text, from, match.begin - from);
    out.append(normalizer.content);
    from = match.end;
  }
  out.append(text, from);
  text = std::move(out);
  return Done{};
}

void strip(const Normalizer& normalizer, std::string& text) {
  size_t begin = 0, end = text.size();
  while (normalizer.strip_left && begin < end) {
    size_t after = begin;
    if (!is_white_space(next_char(text, after))) break;
    begin = after;
  }
  while (normalizer.strip_right && end > begin) {
    const size_t before = char_before(text, end);
    size_t at = before;
    if (!is_white_space(next_char(text, at))) break;
    end = before;
  }
  text = text.substr(begin, end - begin);
}

// Applies `change(c, out)` to every character.
template <typename Change>
void map_chars(std::string& text, Change change) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) change(next_char(text, at), out);
  text = std::move(out);
}

void lowercase(char32_t c, std::string& out) {
  if (c == 0x130) {  // the one character whose lower case is two
    out.append("i\xCC\x87");
  } else {
    append_char(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

// The cleaning of NMT models: control characters vanish, other separators become spaces.
void clean_nmt(char32_t c, std::string& out) {
  const bool vanishes = (c >= 1 && c <= 8) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
  const bool blank = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
                     c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  if (!vanishes) append_char(out, blank ? U' ' : c);
}

Status apply(const Normalizer& normalizer, RegexScratch& scratch, size_t limit, std::string& text) {
  switch (normalizer.kind) {
    case NormalizerKind::kNfc: return normalize_unicode(UnicodeForm::kNfc, text);
    case NormalizerKind::kNfd: return normalize_unicode(UnicodeForm::kNfd, text);
    case NormalizerKind::kNfkc: return normalize_unicode(UnicodeForm::kNfkc, text);
    case NormalizerKind::kNfkd: return normalize_unicode(UnicodeForm::kNfkd, text);
    case NormalizerKind::kPrepend:
      if (!text.empty()) text.insert(0, normalizer.content);
      return Done{};
    case NormalizerKind::kReplace: return replace(normalizer, scratch, limit, text);
    case NormalizerKind::kStrip:
      strip(normalizer, text);
      return Done{};
    case NormalizerKind::kStripAccents:
      map_chars(text, [](char32_t c, std::string& out) {
        if (!is_mark(c)) append_char(out, c);
      });
      return Done{};
    case NormalizerKind::kLowercase:
      map_chars(text, lowercase);
      return Done{};
    case NormalizerKind::kNmt:
      map_chars(text, clean_nmt);
      return Done{};
    case NormalizerKind::kByteLevel: {
      std::string out;
      byte_level::append_text(out, text);
      text = std::move(out);
      return Done{};
    }
  }
  SCRATCHY_UNREACHABLE("normalizer kind");
}

}  // namespace

Status normalize(std::span<const Normalizer> normalizers, RegexScratch& scratch, std::string& text) {
  const size_t limit = kFreeGrowthBytes + kMaxGrowth * text.size();
  for (const Normalizer& normalizer : normalizers) {
    TRY_STATUS(apply(normalizer, scratch, limit, text));
    if (text.size() > limit)
      return Failure("normalized text grows to " + with_thousands(text.size()) + " bytes, at most " + with_thousands(limit) +
                     " are allowed here");
  }
  return Done{};
}

}  // namespace scratchy
