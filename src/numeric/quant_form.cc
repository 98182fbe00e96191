#include "numeric/quant_form.h"

#include <cstddef>
#include <iterator>

namespace scratchy {
namespace {

struct FormRow {
  std::string_view text;
  QuantView view;
  int gguf;
  int block;
  int bytes;
};

constexpr FormRow kRows[] = {
#define QUANT_FORM(name, text, view, gguf, block, bytes) {text, QuantView::view, gguf, block, bytes},
#include "numeric/quant_form.def"
#undef QUANT_FORM
};

const FormRow& row_of(QuantForm form) { return kRows[static_cast<size_t>(form)]; }

}  // namespace

std::string_view quant_form_name(QuantForm form) { return row_of(form).text; }
QuantView quant_view(QuantForm form) { return row_of(form).view; }
int block_weights(QuantForm form) { return row_of(form).block; }
int block_bytes(QuantForm form) { return row_of(form).bytes; }

std::optional<QuantForm> parse_quant_form(std::string_view text) {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].text == text) return static_cast<QuantForm>(i);
  }
  return std::nullopt;
}

std::optional<QuantForm> quant_form_of_gguf(uint32_t type) {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].gguf >= 0 && static_cast<uint32_t>(kRows[i].gguf) == type) return static_cast<QuantForm>(i);
  }
  return std::nullopt;
}

}  // namespace scratchy
