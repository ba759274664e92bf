#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analysis/commlogs/reports/bench_report.hpp"
#include "sim/comm/prediction.hpp"

namespace pipewright::comm {

// Makes groups of `ranks` GPUs each on the first GPUs of a cluster, which all run at the same time.
// Groups are consecutive, or `strided`: each group takes every `groups`-th GPU, like data
// parallelism over tensor parallelism. Throws Error if the cluster has too few GPUs.
BenchmarkRun make_groups(const cluster::Cluster& cluster, Operation operation, std::uint32_t ranks,
                         std::uint32_t groups, bool strided, Algorithm algorithm);

// Time of an operation by a planner's formula: latency of its steps plus bytes over bandwidth
// (Hockney 1994; Thakur, Rabenseifner and Gropp 2005), where each GPU sends and receives at the
// bandwidth of its routes without other traffic. The formula uses the links, the algorithm and the
// protocol, but not that GPUs or groups share links; a simulation that takes longer shows
// contention or topology effects.
//
// Returns the seconds of the first group, by the algorithm and protocol that the simulation uses.
double alpha_beta(const BenchmarkRun& run, std::uint64_t bytes);

// Computes a benchmark row for each size, by simulation and by alpha_beta(). Calls report(number of
// finished rows) after each.
std::vector<analysis::BenchRow> bench(cluster::Cluster& cluster, const BenchmarkRun& run,
                                      std::span<const std::uint64_t> sizes,
                                      const std::function<void(std::size_t)>& report = {});

}  // namespace pipewright::comm
