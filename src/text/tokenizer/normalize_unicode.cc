// Unicode normalization on top of utf8proc's tables.
//
// Decomposition goes character by character, marks are put into canonical order by a stable sort of each run of them,
// and utf8proc composes the result. (Its own ordering step is quadratic in the length of such a run.)
#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "text/tokenizer/normalize.h"
#include "text/tokenizer/unicode.h"

namespace scratchy {
namespace {

// No character below has a decomposition in NFC terms or combines with another, so such text is in NFC as it is.
constexpr unsigned char kFirstLeadAbove02FF = 0xCC;
constexpr int32_t kHangulTrailingBase = 0x11A7;

bool is_plainly_normal(UnicodeForm form, std::string_view text) {
  const unsigned char bound = form == UnicodeForm::kNfc ? kFirstLeadAbove02FF : 0x80;
  return std::all_of(text.begin(), text.end(), [&](char c) { return static_cast<unsigned char>(c) < bound; });
}

utf8proc_propval_t combining_class(int32_t c) { return utf8proc_get_property(c)->combining_class; }

void order_marks(std::vector<int32_t>& chars) {
  for (size_t i = 0; i < chars.size();) {
    if (combining_class(chars[i]) == 0) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < chars.size() && combining_class(chars[end]) != 0) ++end;
    if (end - i > 1)
      std::stable_sort(chars.begin() + static_cast<ptrdiff_t>(i), chars.begin() + static_cast<ptrdiff_t>(end),
                       [](int32_t a, int32_t b) { return combining_class(a) < combining_class(b); });
    i = end;
  }
}

}  // namespace

Status normalize_unicode(UnicodeForm form, std::string& text) {
  if (is_plainly_normal(form, text)) return Done{};
  const bool compatible = form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
  const bool composed = form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE | (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<int32_t> chars;
  chars.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const auto c = static_cast<utf8proc_int32_t>(next_char(text, at));
    if (c < 0x80) {
      chars.push_back(c);
      continue;
    }
    utf8proc_int32_t parts[32];
    int boundary = 0;
    const auto count = utf8proc_decompose_char(c, parts, std::size(parts), options, &boundary);
    if (count < 0 || count > static_cast<utf8proc_ssize_t>(std::size(parts)))
      return Failure(std::string("unicode normalization: ") + utf8proc_errmsg(count));
    chars.insert(chars.end(), parts, parts + count);
  }
  order_marks(chars);
  text.clear();
  for (size_t begin = 0; begin < chars.size();) {
    // utf8proc takes U+11A7 for a trailing consonant and drops it after a syllable; at the start of a run it stays.
    size_t end = begin + 1;
    while (end < chars.size() && chars[end] != kHangulTrailingBase) ++end;
    utf8proc_ssize_t count = static_cast<utf8proc_ssize_t>(end - begin);
    if (composed) count = utf8proc_normalize_utf32(chars.data() + begin, count, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    if (count < 0) return Failure(std::string("unicode normalization: ") + utf8proc_errmsg(count));
    for (utf8proc_ssize_t i = 0; i < count; ++i) append_char(text, static_cast<char32_t>(chars[begin + static_cast<size_t>(i)]));
    begin = end;
  }
  return Done{};
}

}  // namespace scratchy
