#pragma once

#include <nlohmann/json.hpp>

#include "sim/config/text/value.hpp"

// Converts trees of values, with the locations where they were written, to and from JSON, to send
// them to other processes of this program.
namespace pipewright::config {

nlohmann::json tree_to_json(const Value& tree);
// Reads a tree from the JSON that tree_to_json() writes. Throws nlohmann::json::exception for other
// JSON.
Value tree_from_json(const nlohmann::json& json);

}  // namespace pipewright::config
