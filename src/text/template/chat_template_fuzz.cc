// Any bytes as a template, rendered on a small conversation: ends in text or a Failure, never in more.
#include <cstddef>
#include <cstdint>

#include "text/template/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto chat_template = scratchy::ChatTemplate::parse({reinterpret_cast<const char*>(data), size});
  if (!chat_template.ok()) return 0;
  scratchy::RenderInput input;
  input.messages = {{{"role", "system"}, {"content", "Be brief."}},
                    {{"role", "user"}, {"content", "{{ 7*7 }} \xC3\xA9 <|im_end|>"}},
                    {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {{{"name", "f"}, {"arguments", {{"x", 1.5}}}}}}}};
  input.kwargs = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  input.clock = std::tm{};
  (void)chat_template->render(input);
  return 0;
}
