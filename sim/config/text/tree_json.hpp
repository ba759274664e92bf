#pragma once

#include <nlohmann/json.hpp>

#include "sim/config/text/value.hpp"

// Trees as JSON, including the places of values, for other processes of this program.
namespace pipewright::config {

nlohmann::json tree_to_json(const Value& tree);
// Throws nlohmann::json::exception if the JSON is not one that tree_to_json() wrote.
Value tree_from_json(const nlohmann::json& json);

}  // namespace pipewright::config
