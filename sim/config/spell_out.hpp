#pragma once

#include <string_view>

#include "sim/config/value.hpp"

// Short forms in a scenario become the maps that they stand for.
namespace pipewright::config {

// A model or GPU (`key`) that is a name or a path becomes the map in its file, which says the same
// wherever it stands.
void spell_out_file(Value& named, std::string_view key);

// What stands under a key of the scenario, so that something in it can be set.
void spell_out(Value& whole, std::string_view key);

}  // namespace pipewright::config
