#include "base/token_ids.h"

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "base/text.h"

namespace scratchy {

Result<std::vector<int32_t>> parse_token_ids(std::string_view text, const std::string& where) {
  std::vector<int32_t> ids;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    if (std::string_view(", \t\r\n[]").find(*at) != std::string_view::npos) {
      ++at;
      continue;
    }
    int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc()) {
      const std::string_view seen(at, std::min<size_t>(static_cast<size_t>(end - at), 20));
      return Failure(where + ": `" + escape_for_message(seen) + "` is no token id");
    }
    ids.push_back(id);
    at = next;
  }
  if (ids.empty()) return Failure(where + ": no token ids; give at least one");
  return ids;
}

Result<std::vector<int32_t>> read_token_ids(const std::string& ids, const std::string& ids_file) {
  if (!ids.empty()) return parse_token_ids(ids, "--ids");
  TRY(const std::string text, read_file(ids_file, uint64_t{1} << 26));
  return parse_token_ids(text, ids_file);
}

}  // namespace scratchy
