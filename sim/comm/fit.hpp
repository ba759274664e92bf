#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/reports/fit_report.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/comm/held_out.hpp"

namespace pipewright::comm {

struct FitOptions {
  std::size_t most = 5;                             // parameters
  std::vector<std::string> named;                   // exactly these, if any
  bool tries = true;                                // what is held out in the ways of held_out.hpp
  std::function<void(double share)> progress = {};  // may throw, to end it
};

// The parameters of the cluster's network model with which the formula (prediction.hpp) is nearest
// to measured times, by their ratios, and no further from the file than those ask for. Each is
// rounded to six digits. The cluster has them afterwards. Fits to parts of the rows, each held
// against all others, say how good it is (FitReport::trials). Throws cluster::Error for rows that
// the cluster has no place for.
analysis::FitReport fit(cluster::Cluster& cluster, std::span<const analysis::Measurement> rows,
                        const std::vector<bool>& held_out, const FitOptions& options = {});

}  // namespace pipewright::comm
