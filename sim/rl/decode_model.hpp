#pragma once

#include <cstdint>

#include "sim/config/data_type.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/model.hpp"
#include "sim/config/post_training.hpp"
#include "sim/rl/decode.hpp"

namespace pipewright::rl {

// Bytes of an element of what engines hold: weights, keys and values.
inline constexpr double bf16_bytes = config::element_bytes(config::DataType::bf16);

// Return the bytes in bf16 of a model's weights: without those of routed experts, and of routed
// experts alone.
double dense_weight_bytes(const config::Model& model);
double expert_weight_bytes(const config::Model& model);

// Returns the cost of decoding a model in bf16 on an engine of these GPUs. `collectives` are the
// seconds of the collectives in a decode step. Throws config::Error for attention whose cache is
// not modelled, unless measured points are given.
DecodeCost decode_cost(const config::Model& model, const config::Gpu& gpu,
                       const config::PostTraining::Rollout& rollout, double collectives);

// Returns the number of tokens whose keys and values an engine can hold; 0: no limit. Throws
// config::Error if the weights exceed the memory of the engine.
double cache_tokens(const DecodeCost& cost, const config::Gpu& gpu,
                    const config::PostTraining::Rollout& rollout);

}  // namespace pipewright::rl
