// Normalizers: text in, text out.
#pragma once

#include <span>
#include <string>

#include "text/tokenizer/components.h"

namespace scratchy {

// Applies `normalizers` in order to `text` (valid UTF-8). A Failure when a pattern fails or the text grows beyond
// reason (64 times its size and 64 KiB).
Status normalize(std::span<const Normalizer> normalizers, RegexScratch& scratch, std::string& text);

// The Unicode normalization forms, in O(n log n) for any text.
enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };
Status normalize_unicode(UnicodeForm form, std::string& text);

}  // namespace scratchy
