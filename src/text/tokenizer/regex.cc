#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/tokenizer/regex.h"

#include <pcre2.h>

#include "base/text.h"
#include "text/tokenizer/unicode.h"

namespace scratchy {
namespace {

constexpr size_t kMaxPatternBytes = 16 << 10;
// Backtracking steps one attempt may take before the text counts as hostile: a megabyte of spaces needs one step a byte.
constexpr uint32_t kStepsPerMatch = 1'000'000;
constexpr uint32_t kStepsPerByte = 4;
// A search tries starting points this many bytes ahead before it comes up for air and looks at the clock.
constexpr size_t kWindowBytes = 64;
constexpr uint32_t kCallsPerLook = 64;
// Patterns of published models take about a microsecond a byte at the very worst.
constexpr std::chrono::seconds kBaseTime{4};
constexpr std::chrono::microseconds kTimePerByte{10};
constexpr size_t kMaxStackBytes = 4 << 20;

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

struct RegexScratch::Machinery {
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_jit_stack* stack = nullptr;

  bool usable() const { return context != nullptr && data != nullptr; }
  // A larger stack for patterns that need it; false when there is one already.
  bool grow_stack() {
    if (stack != nullptr) return false;
    stack = pcre2_jit_stack_create(64 << 10, kMaxStackBytes, nullptr);
    if (stack == nullptr) return false;
    pcre2_jit_stack_assign(context, nullptr, stack);
    return true;
  }
  ~Machinery() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    if (stack != nullptr) pcre2_jit_stack_free(stack);
  }
};

RegexScratch::RegexScratch() = default;
RegexScratch::~RegexScratch() = default;

Regex::Regex(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes)
    return Failure("the pattern has " + with_thousands(pattern.size()) + " bytes, at most " +
                   with_thousands(kMaxPatternBytes) + " are read");
  TRY(const std::string translated, translate_regex(pattern));
  auto* context = pcre2_compile_context_create(nullptr);
  if (context == nullptr) return Failure("no memory to compile a pattern");
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto code = std::make_unique<Code>();
  code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_USE_OFFSET_LIMIT | PCRE2_NEVER_BACKSLASH_C,
                             &error, &offset, context);
  pcre2_compile_context_free(context);
  if (code->code == nullptr) {
    char message[160] = "";
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message), sizeof message);
    return Failure("pattern `" + escape_for_message(pattern) + "`: " + message + " (near `" +
                   escape_for_message(std::string_view(translated).substr(std::min<size_t>(offset, translated.size())), 20) +
                   "`)");
  }
  // Without compiled code matching is slower and otherwise the same.
  (void)pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE);
  return Regex(std::move(code));
}

Status Regex::find_all(std::string_view text, RegexScratch& scratch, std::vector<TextRange>& out) const {
  out.clear();
  if (scratch.machinery_ == nullptr) scratch.machinery_ = std::make_unique<RegexScratch::Machinery>();
  RegexScratch::Machinery& machinery = *scratch.machinery_;
  if (!machinery.usable()) return Failure("no memory to run a pattern");
  pcre2_set_match_limit(machinery.context, kStepsPerMatch + kStepsPerByte * static_cast<uint32_t>(std::min<size_t>(text.size(), 1u << 29)));
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(machinery.data);
  std::chrono::steady_clock::time_point started;
  uint32_t calls = 0;
  size_t last_end = SIZE_MAX;
  for (size_t from = 0; from <= text.size();) {
    if (++calls % kCallsPerLook == 0) {
      const auto now = std::chrono::steady_clock::now();
      if (calls == kCallsPerLook) started = now;
      if (now - started > kBaseTime + text.size() * kTimePerByte)
        return Failure("a pattern takes too long on this text (" + with_thousands(text.size()) + " bytes)");
    }
    const size_t limit = from + kWindowBytes;
    pcre2_set_offset_limit(machinery.context, limit);
    const int rc = pcre2_match(code_->code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, machinery.data, machinery.context);
    if (rc == PCRE2_ERROR_NOMATCH) {
      from = limit + 1;
      while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
      continue;
    }
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT && machinery.grow_stack()) continue;
    if (rc < 0) return Failure("a pattern backtracks too much on this text, near byte " + std::to_string(from));
    const size_t begin = range[0], end = range[1];
    if (begin < from || end < begin || (begin == end && begin == last_end)) {
      if (from == text.size()) break;
      from += char_length(text[from]);
      last_end = SIZE_MAX;
      continue;
    }
    out.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
    last_end = end;
    from = end;
  }
  return Done{};
}

}  // namespace scratchy
