// What the ways of chatting share: one question, several turns, or a person at a terminal.
#pragma once

#include <string>
#include <string_view>

#include "runtime/conversation.h"

namespace scratchy::cli {

// Writes a piece of an answer to standard output at once. On a terminal control characters of the model's text are left
// out: they could move the cursor or more.
void write_piece(std::string_view piece);

// "12 prompt tokens (3 kept), 210.5 tokens/s, first after 57 ms; 34 tokens, 91.2 tokens/s" on standard error.
void report_speed(const Answer& answer, double first_token_seconds);

// Reads lines until /quit or the end of input, and answers them. Returns the exit code.
int chat_with_person(Conversation& conversation, const GenerateOptions& options);

}  // namespace scratchy::cli
