#pragma once

#include "sim/workload/model/pass_seconds.hpp"
#include "sim/workload/model/stage_parts.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

Parameters stage_parameters(const Setting& setting, const StageParts& stage);
// What of a stage is at work one after the other: embedding, layers, head. The head's has the
// matrix that it is tied to, wherever that is kept.
std::vector<Parameters> part_parameters(const Setting& setting, const StageParts& stage);

// Ranks over which ZeRO (arXiv 1910.02054) spreads what it spreads: dp * cp of the dense
// parameters, and as many fewer of the experts' as there are ranks with other experts.
struct ZeroGroups {
  std::uint32_t level = 0;
  double dense = 1;
  double experts = 1;
};
ZeroGroups zero_groups(const config::Parallel& parallel);

// What a GPU keeps of that many parameters: optimizer state, gradients and weights cut from level
// 1, 2 and 3 on.
DeviceState state_of(const Parameters& parameters, const config::ParameterBytes& bytes,
                     const ZeroGroups& zero);

// The parameters whose optimizer state one GPU has.
double updated_parameters(const Parameters& parameters, const ZeroGroups& zero);

// Of transfers and of collectives within passes: gradients of a boundary tensor on their way in and
// out, the gathered input of sequence parallelism, blocks of ring attention (arXiv 2310.01889), of
// which one is at work while the next arrives; and scores where they are materialised. Of a slice,
// one of `slices` of a microbatch.
std::uint64_t buffer_bytes(const Setting& setting, std::uint32_t devices, std::uint32_t slices = 1);

}  // namespace pipewright::workload
