#pragma once

#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/model_shape.hpp"
#include "sim/config/model_tree.hpp"

namespace pipewright::config {

// A map of a scenario, a path of a file, or the name of one in the library of models. A file is one
// of these keys, or a config.json of Hugging Face; a path of a folder is that of its config.json.
Model read_model(const Field& field);

std::vector<KeyRow> model_keys();

}  // namespace pipewright::config
