#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/commlogs/reports/survey_report.hpp"
#include "sim/cluster/cluster.hpp"

// Repeats a measurement with failed links or switches, or with other routing hashes, and compares
// the results.
namespace pipewright::comm {

// Function that measures an operation on the cluster in its current state, in seconds. Throws
// cluster::Error if ranks cannot reach each other.
using Measure = std::function<double()>;
// Callback that receives the finished fraction; may throw to cancel.
using Progress = std::function<void(double share)>;

struct FailureOptions {
  double remaining = 0;  // remaining fraction of the bandwidth of failed elements
  std::uint32_t max_per_kind =
      32;  // limit for the number of tested links per class, and of switches
};

// Measures with each link and each switch failed, one at a time, and restores the cluster. Tests an
// evenly spaced sample of a kind with more elements than the limit.
analysis::FailureSurvey survey_failures(cluster::Cluster& cluster, const Measure& measure,
                                        const FailureOptions& options, const Progress& progress);

// Measures with several seeds of the switches' hashes and several numbers of flows per pair of
// GPUs, and compares the results with adaptive routing.
analysis::HashSurvey survey_hashes(cluster::Cluster& cluster, const Measure& measure,
                                   std::uint32_t seeds, const std::vector<std::uint32_t>& flows,
                                   const Progress& progress);

}  // namespace pipewright::comm
