#pragma once

#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/model_shape.hpp"
#include "sim/config/model_tree.hpp"

namespace pipewright::config {

// Reads a map, the path of a file, or the name of a file in the library of models. A file contains
// the keys of a model or is a config.json of Hugging Face; a folder stands for the config.json in
// it.
Model read_model(const Field& field);

std::vector<KeyRow> model_keys();

}  // namespace pipewright::config
