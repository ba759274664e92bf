#pragma once

#include "sim/config/model_shape.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Fills in what the other keys of a model say of one that was left out, and throws an Error where
// two cannot be together.
void complete(Model& model, const Field& field);

inline constexpr std::uint32_t most_layers = 10'000;  // far above any model's

}  // namespace pipewright::config
