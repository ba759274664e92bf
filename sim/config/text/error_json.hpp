#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/config/text/error.hpp"

namespace pipewright::config {

// Converts an error to JSON for the Python package: {"found": .., "allowed": .., "suggestion": ..,
// "suggests_name": true, "key": ..} and the location, {"file": .., "line": .., "column": ..} or
// {"source": "--set tp"}. Empty parts are left out.
nlohmann::ordered_json error_to_json(const StructuredError& error);

}  // namespace pipewright::config
