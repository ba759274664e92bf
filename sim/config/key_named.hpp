#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"

namespace pipewright::config {

// Returns the dotted key whose last part has this name or misspells it: "parallel.tp" for tp. Of
// several keys, that with the fewest parts counts, and then that with an option of the command
// line. Empty: no key has such a name.
std::string key_named(std::string_view name, std::vector<KeyRow> rows);

}  // namespace pipewright::config
