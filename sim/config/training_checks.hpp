#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/gpu.hpp"
#include "sim/config/model.hpp"
#include "sim/config/training.hpp"

// What keys of training ask of the model and of the GPU. `root` is the tree of keys, which says
// where they stand.
namespace pipewright::config {

// What a reader should know of a model, "KEY: ..", without that of a key which the training gives.
std::vector<std::string> notes_of(const Model& model, const Training& training);

// Whether layers of the model have the part that recomputation names.
bool has_module(const Model& model, RecomputeModule module);

// Throws Error where training.recompute or training.offload name what the model has not, or more
// layers than the `stage_layers` that a stage has at the most.
void check_recompute(const Value& root, const Model& model, const Training& training,
                     std::uint32_t stage_layers);

// Throws Error where the GPU lacks the data type of the recipe.
void check_precision(const Value& root, const Training& training, const Gpu& gpu);

}  // namespace pipewright::config
