#include "text/template/registry.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "text/template/natives.h"

namespace scratchy::jinja {
namespace {

#define ROW(name, function) {name, function},
#define FILTER ROW
constexpr NativeEntry kFilters[] = {
#include "text/template/natives.def"
};
#define TEST ROW
constexpr NativeEntry kTests[] = {
#include "text/template/natives.def"
};
#define FUNCTION ROW
constexpr NativeEntry kFunctions[] = {
#include "text/template/natives.def"
};
#define TEXT_METHOD ROW
constexpr NativeEntry kTextMethods[] = {
#include "text/template/natives.def"
};
#define LIST_METHOD ROW
constexpr NativeEntry kListMethods[] = {
#include "text/template/natives.def"
};
#define TUPLE_METHOD ROW
constexpr NativeEntry kTupleMethods[] = {
#include "text/template/natives.def"
};
#define DICT_METHOD ROW
constexpr NativeEntry kDictMethods[] = {
#include "text/template/natives.def"
};
#define LOOP_METHOD ROW
constexpr NativeEntry kLoopMethods[] = {
#include "text/template/natives.def"
};
#define CYCLER_METHOD ROW
constexpr NativeEntry kCyclerMethods[] = {
#include "text/template/natives.def"
};
#define INTEGER_METHOD ROW
constexpr NativeEntry kIntegerMethods[] = {
#include "text/template/natives.def"
};
#define FLOAT_METHOD ROW
constexpr NativeEntry kFloatMethods[] = {
#include "text/template/natives.def"
};
#define DICT_TYPE_METHOD ROW
constexpr NativeEntry kDictTypeMethods[] = {
#include "text/template/natives.def"
};
#undef ROW

template <size_t N>
const NativeEntry* find(const NativeEntry (&table)[N], std::string_view name) {
  const auto* found = std::find_if(std::begin(table), std::end(table), [&](const NativeEntry& e) { return e.name == name; });
  return found == std::end(table) ? nullptr : found;
}

constexpr std::string_view kListChanges[] = {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"};
constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};

}  // namespace

const NativeEntry* find_filter(std::string_view name) { return find(kFilters, name); }
const NativeEntry* find_test(std::string_view name) { return find(kTests, name); }
const NativeEntry* find_function(std::string_view name) { return find(kFunctions, name); }

const NativeEntry* find_method(const Value& owner, std::string_view name) {
  switch (owner.kind()) {
    case Kind::kText: return find(kTextMethods, name);
    case Kind::kList: return find(kListMethods, name);
    case Kind::kTuple:
    case Kind::kRange: return find(kTupleMethods, name);
    case Kind::kDict: return find(kDictMethods, name);
    case Kind::kLoop: return find(kLoopMethods, name);
    case Kind::kCycler: return find(kCyclerMethods, name);
    case Kind::kBoolean:
    case Kind::kInteger: return find(kIntegerMethods, name);
    case Kind::kFloat: return find(kFloatMethods, name);
    case Kind::kFunction:
      return owner.object<Function>().entry.name == "dict" ? find(kDictTypeMethods, name) : nullptr;
    case Kind::kUndefined:
    case Kind::kNone:
    case Kind::kBytes:
    case Kind::kDictView:
    case Kind::kGenerator:
    case Kind::kNamespace:
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kJoiner: return nullptr;
  }
  SCRATCHY_UNREACHABLE("kind of value");
}

bool changes_its_owner(const Value& owner, std::string_view name) {
  const auto among = [&](const auto& names) { return std::find(std::begin(names), std::end(names), name) != std::end(names); };
  return (owner.is(Kind::kList) && among(kListChanges)) || (owner.is_dict() && among(kDictChanges));
}

}  // namespace scratchy::jinja
