#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analysis/comm/reports/bench_report.hpp"
#include "sim/comm/prediction.hpp"

namespace pipewright::comm {

// Groups of `ranks` GPUs each, all at once, over the first GPUs of a cluster: one after the other,
// or `strided`: every group has one of each `groups` GPUs in turn, as data parallelism over tensor
// parallelism has. Throws Error if the cluster does not have so many GPUs.
Setting several_groups(const cluster::Cluster& cluster, Operation operation, std::uint32_t ranks,
                       std::uint32_t groups, bool strided, Algorithm algorithm);

// The rows, as simulated and by alpha_beta(). `report` is told how many rows are done.
std::vector<analysis::BenchRow> bench(cluster::Cluster& cluster, const Setting& setting,
                                      std::span<const std::uint64_t> sizes,
                                      const std::function<void(std::size_t)>& report = {});

}  // namespace pipewright::comm
