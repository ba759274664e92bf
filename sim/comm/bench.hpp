#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analysis/commlogs/reports/bench_report.hpp"
#include "sim/comm/prediction.hpp"

namespace pipewright::comm {

// Groups of `ranks` GPUs each, all at once, over the first GPUs of a cluster: one after the other,
// or `strided`: every group has one of each `groups` GPUs in turn, as data parallelism over tensor
// parallelism has. Throws Error if the cluster does not have so many GPUs.
BenchmarkRun several_groups(const cluster::Cluster& cluster, Operation operation,
                            std::uint32_t ranks, std::uint32_t groups, bool strided,
                            Algorithm algorithm);

// What a planner's formula says of an operation: latency of its steps, and bytes over bandwidth
// (Hockney 1994; Thakur, Rabenseifner and Gropp 2005), with each GPU sending and receiving at the
// bandwidth that its routes have when nothing else is on them. So it knows the links' numbers, the
// algorithm and the protocol, but no link that several GPUs or groups share. Where a simulation
// takes longer, it is for contention or topology.
//
// Seconds of the first group, by the algorithm and protocol that the simulation takes.
double alpha_beta(const BenchmarkRun& run, std::uint64_t bytes);

// The rows, as simulated and by alpha_beta(). `report` is told how many rows are done.
std::vector<analysis::BenchRow> bench(cluster::Cluster& cluster, const BenchmarkRun& run,
                                      std::span<const std::uint64_t> sizes,
                                      const std::function<void(std::size_t)>& report = {});

}  // namespace pipewright::comm
