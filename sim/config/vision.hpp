#pragma once

#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/model_shape.hpp"

namespace pipewright::config {

// Reads the shape of an encoder of images from a map of its keys.
Model::Vision read_vision(const Field& field);
std::vector<KeyRow> vision_keys();

}  // namespace pipewright::config
