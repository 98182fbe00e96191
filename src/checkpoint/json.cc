#include "checkpoint/json.h"

#include <optional>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "checkpoint/json_events.h"

namespace scratchy {
namespace {

// Builds the tree. `open_` holds the containers around the next value; children are added in place, so the pointers stay
// valid: only the innermost container grows.
class TreeBuilder final : public JsonEvents {
 public:
  Refusal begin_object() override { return open(Json::object()); }
  Refusal begin_array() override { return open(Json::array()); }
  Refusal end_object() override { return close(); }
  Refusal end_array() override { return close(); }
  Refusal key(std::string& name) override {
    const auto [slot, is_new] = open_.back()->get_ref<Json::object_t&>().try_emplace(name);
    if (!is_new) return "key `" + escape_for_message(name) + "` appears twice";
    slot_ = &slot->second;
    return std::nullopt;
  }
  Refusal text(std::string& value) override { return add(std::move(value)); }
  Refusal unsigned_integer(uint64_t value) override { return add(value); }
  Refusal negative_integer(int64_t value) override { return add(value); }
  Refusal real(double value) override { return add(value); }
  Refusal boolean(bool value) override { return add(value); }
  Refusal null() override { return add(nullptr); }

  Json take() { return std::move(root_); }

 private:
  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_object()) {
      *slot_ = std::move(value);
      return slot_;
    }
    parent.push_back(std::move(value));
    return &parent.back();
  }
  Refusal add(Json value) {
    place(std::move(value));
    return std::nullopt;
  }
  Refusal open(Json container) {
    open_.push_back(place(std::move(container)));
    return std::nullopt;
  }
  Refusal close() {
    open_.pop_back();
    return std::nullopt;
  }

  Json root_;
  std::vector<Json*> open_;
  Json* slot_ = nullptr;
};

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  TreeBuilder builder;
  TRY_STATUS(walk_json(text, builder, limits));
  return builder.take();
}

Result<Json> read_json(const std::filesystem::path& path, const JsonLimits& limits) {
  TRY(const std::string text, read_file(path, limits.max_bytes));
  auto value = parse_json(text, limits);
  if (!value.ok()) return std::move(value).failure().in("`" + escape_for_message(path.string(), 400) + "`");
  return value;
}

}  // namespace scratchy
