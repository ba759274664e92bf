#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/config/text/value.hpp"

namespace pipewright::config {

// The parts of an error as Python's package reads them: {"found": .., "allowed": .., "suggestion":
// .., "suggests_name": true, "key": ..} and the location, {"file": .., "line": .., "column": ..} or
// {"source": "--set tp"}. Unknown parts are left out.
nlohmann::ordered_json error_to_json(const Error& error);

}  // namespace pipewright::config
