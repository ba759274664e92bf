#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/commlogs/reports/survey_report.hpp"
#include "sim/cluster/cluster.hpp"

// What a cluster's failures, and its hashes, cost something that is asked again and again.
namespace pipewright::comm {

// Seconds of what is asked, on the cluster as it is now. Throws cluster::Error where ranks cannot
// reach each other.
using Ask = std::function<double()>;
// Hears which part is done; may throw, to end it.
using Progress = std::function<void(double share)>;

struct FailureOptions {
  double left = 0;          // of the rate of what fails
  std::uint32_t most = 32;  // of a class of links, and of switches, that are tried
};

// Has every link and every switch fail, one at a time, and leaves the cluster as it was. Of many of
// a class some are tried, at even distances.
analysis::FailureSurvey survey_failures(cluster::Cluster& cluster, const Ask& ask,
                                        const FailureOptions& options, const Progress& progress);

// Asks with so many seeds of the switches' hashes, and so many flows for each pair of GPUs, against
// even spreading.
analysis::HashSurvey survey_hashes(cluster::Cluster& cluster, const Ask& ask, std::uint32_t seeds,
                                   const std::vector<std::uint32_t>& flows,
                                   const Progress& progress);

}  // namespace pipewright::comm
