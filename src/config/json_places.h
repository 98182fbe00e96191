// Where the values of a JSON text stand, so that a message about one can point at it.
#pragma once

#include <map>
#include <string>

#include "base/source.h"

namespace scratchy {

struct JsonPlace {
  Span key;    // the member's name, quotes included
  Span value;  // its value
};

// The places of all object members down to `depth` nested objects, by dotted path ("text_config.hidden_size"). Members of
// objects inside arrays have none. `file` holds JSON that parse_json has accepted.
std::map<std::string, JsonPlace> json_places(const SourceFile& file, int depth = 3);

}  // namespace scratchy
