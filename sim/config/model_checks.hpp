#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/model_shape.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Computes the keys of a model that were left out from the others, and throws an Error if two keys
// contradict each other.
void complete(Model& model, const Field& field);

inline constexpr std::uint32_t max_layers = 10'000;  // far above any model's
inline constexpr std::size_t max_mlp_sizes = 32;     // different hidden sizes of a model's MLPs

// Returns notes on parts of a model that take other times than those that are modelled.
std::vector<std::string> approximations(const Model& model);

}  // namespace pipewright::config
