#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/config/parallel.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/execution/collectives/rank_placement.hpp"
#include "sim/workload/ranks.hpp"

namespace pipewright::cli {

// What a sequence of numbers is: "3", "0-7", "0-56 by 8", "0-7 x16" (over and over), "0-3 (8
// each)", "0-3 (8 each) x4"; or its first runs, "0, 2-5, 1, ...".
std::string describe_sequence(std::span<const std::uint32_t> values);

// A table of the GPUs in the order of the cluster, with the coordinates of their ranks: one row for
// each index of the outermost axis, or for each node where an axis changes on the way otherwise.
std::string placement_table(const config::Parallel& parallel, const workload::Ranks& ranks,
                            const execution::RankPlacement& placement);

}  // namespace pipewright::cli
