#pragma once

#include <string_view>
#include <vector>

#include "sim/workload/compute/kernels.hpp"

// Kernels of a mixture of experts: router, permutation and dispatch of tokens, and experts.
namespace pipewright::workload {

// Names of two kernels of a router: one computes how many tokens each rank gets, the other copies
// these numbers to the host.
inline constexpr std::string_view token_splits = "splits";
inline constexpr std::string_view copy_to_host = "copy to host";

void add_router_scores(const ModelSetting& setting, const Layer& layer, PassKernels& kernels);
// Adds the permutation of the experts' tokens and their dispatch or combination.
void add_permutation_kernels(const ModelSetting& setting, Part part, std::string_view name,
                             bool backward, const Layer& layer, std::vector<Kernel>& kernels);
// Adds the kernels of the routed experts. With Transformer Engine's fused operations
// (use_transformer_engine_op_fuser), a product also applies what follows it: the activation
// function, the cast for the next product and the biases. In the forward pass this is the first of
// the two products, in the backward pass the second.
void add_expert_kernels(const ModelSetting& setting, const Layer& layer, PassKernels& kernels);

}  // namespace pipewright::workload
