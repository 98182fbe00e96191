#include "base/check.h"
#include "text/template/characters.h"
#include "text/template/operators.h"

namespace scratchy::jinja {
namespace {

std::vector<Value> characters_of(const Value& value) {
  std::vector<Value> out;
  for (char32_t c : decode_utf8(value.bytes())) {
    std::string character;
    append_utf8(character, c);
    out.push_back(make_text(std::move(character)));
  }
  return out;
}

std::vector<Value> view_items(const DictView& view) {
  std::vector<Value> out;
  for (const auto& [key, value] : view.dict.dict().entries) {
    switch (view.part) {
      case DictView::Part::kKeys: out.push_back(key); break;
      case DictView::Part::kValues: out.push_back(value); break;
      case DictView::Part::kItems: out.push_back(make_tuple({key, value})); break;
    }
  }
  return out;
}

std::vector<Value> range_items(const Range& range) {
  std::vector<Value> out;
  for (Integer i = 0; i < range.size(); ++i) out.push_back(range.start + i * range.step);
  return out;
}

}  // namespace

std::vector<Value> iterate(Budget& budget, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined: return {};
    case Kind::kText:
      budget.spend(value.text().length);
      return characters_of(value);
    case Kind::kList:
    case Kind::kTuple:
      budget.spend(value.items().size() / 4);
      return value.items();
    case Kind::kDict:
      budget.spend(value.dict().entries.size());
      return view_items(DictView(value, DictView::Part::kKeys));
    case Kind::kDictView:
      budget.spend(value.object<DictView>().dict.dict().entries.size());
      return view_items(value.object<DictView>());
    case Kind::kRange:
      budget.spend(static_cast<uint64_t>(value.object<Range>().size()));
      return range_items(value.object<Range>());
    case Kind::kGenerator: {
      Generator& generator = value.object<Generator>();
      budget.spend(generator.items.size());
      const auto from = static_cast<std::ptrdiff_t>(generator.next);
      generator.next = generator.items.size();
      return {generator.items.begin() + from, generator.items.end()};
    }
    case Kind::kNone:
    case Kind::kBoolean:
    case Kind::kInteger:
    case Kind::kFloat:
    case Kind::kBytes:
    case Kind::kNamespace:
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kLoop:
    case Kind::kCycler:
    case Kind::kJoiner: raise("a value of type `" + type_name(value) + "` cannot be gone through");
  }
  SCRATCHY_UNREACHABLE("kind of value");
}

bool is_iterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kText:
    case Kind::kBytes:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kDictView:
    case Kind::kRange:
    case Kind::kGenerator:
    case Kind::kLoop: return true;
    case Kind::kNone:
    case Kind::kBoolean:
    case Kind::kInteger:
    case Kind::kFloat:
    case Kind::kNamespace:
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kCycler:
    case Kind::kJoiner: return false;
  }
  SCRATCHY_UNREACHABLE("kind of value");
}

size_t length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined: return 0;
    case Kind::kText: return value.text().length;
    case Kind::kBytes: return value.object<ByteString>().bytes.size();
    case Kind::kList:
    case Kind::kTuple: return value.items().size();
    case Kind::kDict: return value.dict().entries.size();
    case Kind::kDictView: return value.object<DictView>().dict.dict().entries.size();
    case Kind::kRange: return static_cast<size_t>(value.object<Range>().size());
    case Kind::kLoop: return value.object<LoopState>().items.size();
    case Kind::kNone:
    case Kind::kBoolean:
    case Kind::kInteger:
    case Kind::kFloat:
    case Kind::kGenerator:
    case Kind::kNamespace:
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kCycler:
    case Kind::kJoiner: raise("a value of type `" + type_name(value) + "` has no length");
  }
  SCRATCHY_UNREACHABLE("kind of value");
}

}  // namespace scratchy::jinja
