#pragma once

#include "sim/config/communication.hpp"
#include "sim/workload/model/pass_seconds.hpp"
#include "sim/workload/model/stage_parts.hpp"
#include "sim/workload/model/state.hpp"

// What ZeRO (arXiv 1910.02054) holds whole for a moment of what it has cut.
namespace pipewright::workload {

// Level 3, bytes: the weights of two neighbours among a stage's layers, embedding and head, the
// largest such pair: while one is at work, the other arrives.
std::uint64_t gathered_bytes(const Setting& setting, const StageParts& stage,
                             const ZeroGroups& zero);

// In how many parts of about a bucket each a stage's gradients are reduced over `copies` ranks.
std::uint32_t gradient_parts(std::uint64_t dense_parameters, const config::Communication& talk,
                             std::uint32_t copies);

// Levels 2 and 3, bytes: gradients before they are reduced to shards. A part is being reduced while
// the next one is made; without overlap all of the stage's wait for the end of the pass. Levels 0
// and 1 reduce gradients where they are summed.
std::uint64_t unsharded_gradient_bytes(const Parameters& stage, const config::Communication& talk,
                                       const ZeroGroups& zero);

}  // namespace pipewright::workload
