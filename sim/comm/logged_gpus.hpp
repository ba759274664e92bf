#pragma once

#include <span>
#include <vector>

#include "analysis/commlogs/measurement.hpp"
#include "sim/cluster/cluster.hpp"

namespace pipewright::comm {

// Remarks on GPUs of logs that are another type of the GPU library than all GPUs of the cluster, so
// that the cluster does not describe the machine of the log. Names that stand for no type of the
// library, and clusters whose types are unknown, get no remark.
std::vector<analysis::LogRemark> other_gpus(const cluster::Cluster& cluster,
                                            std::span<const analysis::LoggedGpu> gpus);

}  // namespace pipewright::comm
