#pragma once

#include "sim/config/model_shape.hpp"
#include "sim/config/modules.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/training.hpp"

namespace pipewright::config {

// Gives a model the shape of its encoder of images, and the training the images. Throws an Error if
// there is no encoder, if its ranks are not those of the language model, or if the images do not
// fit into a sample.
void set_vision(const VisionModule& vision, const Parallel& parallel, Model& model,
                Training& training);

}  // namespace pipewright::config
