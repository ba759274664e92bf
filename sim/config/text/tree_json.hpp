#pragma once

#include <nlohmann/json.hpp>

#include "sim/config/text/value.hpp"

// A tree with the places of its values, for another process of this program.
namespace pipewright::config {

nlohmann::json tree_to_json(const Value& tree);
// Throws nlohmann::json::exception where that made no such JSON.
Value tree_from_json(const nlohmann::json& json);

}  // namespace pipewright::config
