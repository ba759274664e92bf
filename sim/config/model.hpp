#pragma once

#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/model_shape.hpp"
#include "sim/config/model_tree.hpp"

namespace pipewright::config {

// Reads a model from a map, from the file at a path, or from the library by its name. A file
// contains the keys of a model or is a config.json of Hugging Face; a folder stands for the
// config.json in it.
Model read_model(const Field& field);

std::vector<KeyRow> model_keys();

}  // namespace pipewright::config
