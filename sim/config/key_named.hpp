#pragma once

#include <string>
#include <string_view>

namespace pipewright::config {

// Returns the dotted key of a scenario whose last part has this name, or a name that this one
// misspells: "parallel.tp" for tp, "training.sequence" for sequence. The key with the fewest parts
// counts. Empty: no key has such a name.
std::string key_named(std::string_view name);

}  // namespace pipewright::config
