#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/gpu.hpp"
#include "sim/config/model.hpp"
#include "sim/config/training.hpp"

// Checks keys of the training section against the model and the GPU. `root` is the scenario's tree,
// which gives the locations of the keys.
namespace pipewright::config {

// Returns the model's notes, "KEY: ..", except those about a key that the training section
// overrides.
std::vector<std::string> notes_of(const Model& model, const Training& training);

// Return whether any layer of the model has this module.
bool has_module(const Model& model, RecomputeModule module);
bool has_module(const Model& model, GraphModule module);
bool has_module(const Model& model, LoraModule module);

// Returns the groups of weights that a model has. A tied output matrix belongs to the embedding.
WeightGroups groups_of(const Model& model);

// Describes what is trained of a model: "adapters of rank 16 in linear_qkv", "all weights but
// embedding and head". Empty: all weights.
std::string trained_text(const Model& model, const Training& training);

// Throws an Error if training.recompute or training.offload names a module that the model does not
// have, or more layers than `stage_layers`, the maximum of a stage.
void check_recompute(const Value& root, const Model& model, const Training& training,
                     std::uint32_t stage_layers);

// Throws an Error if training.lora names a product that the model does not have or whose weights
// are trained themselves, or a type of frozen weights that the products cannot have, or if nothing
// is trained.
void check_fine_tuning(const Value& root, const Model& model, const Training& training);

// Throws an Error if training.cuda_graphs names a module that the model does not have.
void check_cuda_graphs(const Value& root, const Model& model, const Training& training);

// Throws an Error if training.loss_chunks is more than the tokens of a microbatch on one of `cp`
// ranks.
void check_loss_chunks(const Value& root, const Model& model, const Training& training,
                       std::uint32_t cp = 1);

// Throws an Error if training.precision names modules or layers that the model does not have, or
// types that other keys exclude.
void check_module_types(const Value& root, const Model& model, const Training& training);
// Throws an Error if the GPU does not support a data type of the precision recipe.
void check_precision(const Value& root, const Training& training, const Gpu& gpu);

}  // namespace pipewright::config
