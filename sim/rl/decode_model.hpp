#pragma once

#include <cstdint>

#include "sim/config/gpu.hpp"
#include "sim/config/model.hpp"
#include "sim/config/post_training.hpp"
#include "sim/rl/decode.hpp"

namespace pipewright::rl {

// Returns the bytes of a model's weights in bf16 that generation needs: of all matrices but routed
// experts, and of the routed experts.
double dense_weight_bytes(const config::Model& model);
double expert_weight_bytes(const config::Model& model);

// Returns the cost of decoding a model in bf16 on an engine of these GPUs. `collectives` are the
// seconds of a step's collectives. Throws config::Error for attention whose cache is not modelled,
// unless measured points are given, and for an engine whose weights exceed its memory.
DecodeCost decode_cost(const config::Model& model, const config::Gpu& gpu,
                       const config::PostTraining::Rollout& rollout, double collectives);

// Returns the number of tokens whose keys and values an engine can hold. 0: all that come.
double cache_tokens(const DecodeCost& cost, const config::Gpu& gpu,
                    const config::PostTraining::Rollout& rollout);

}  // namespace pipewright::rl
