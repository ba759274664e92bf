#pragma once

#include <span>
#include <vector>

#include "analysis/commlogs/measurement.hpp"
#include "sim/cluster/cluster.hpp"

namespace pipewright::comm {

// Returns a remark on each GPU type of a log that the cluster lacks, so that the cluster does not
// describe the machine of the log. Names of no type of the GPU library, and clusters of unknown
// types, get no remark.
std::vector<analysis::LogRemark> other_gpus(const cluster::Cluster& cluster,
                                            std::span<const analysis::LoggedGpu> gpus);

}  // namespace pipewright::comm
