#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/config/parallel.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/execution/collectives/rank_placement.hpp"
#include "sim/workload/ranks.hpp"

namespace pipewright::cli {

// Describes a sequence of numbers: "3", "0-7", "0-56 by 8", "0-7 x16" (repeated 16 times), "0-3 (8
// each)", "0-3 (8 each) x4"; an irregular sequence by its first runs, "0, 2-5, 1, ...".
std::string describe_sequence(std::span<const std::uint32_t> values);

// Table of the cluster's GPUs in their order, with the coordinates of their ranks. A row has the
// ranks of one index of the outermost axis, and of one node if devices differ in size.
std::string placement_table(const config::Parallel& parallel, const workload::Ranks& ranks,
                            const execution::RankPlacement& placement);

}  // namespace pipewright::cli
