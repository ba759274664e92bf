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
  std::size_t max_parameters = 5;                   // limit for the number of parameters
  std::vector<std::string> names;                   // fits exactly these parameters, if any
  bool holds_out = true;                            // runs the hold-out schemes of held_out.hpp
  std::function<void(double share)> progress = {};  // may throw to cancel the fit
};

// Fits parameters of the cluster's network model so that the formula (prediction.hpp) reproduces
// the measured times with small relative errors, and changes the file's values only as far as the
// measurements require. Values are rounded to six digits and set in the cluster. Fits to parts of
// the rows, compared with the remaining rows, show how good the result is (FitReport::trials).
// Throws cluster::Error for rows that the cluster cannot run.
analysis::FitReport fit(cluster::Cluster& cluster, std::span<const analysis::Measurement> rows,
                        const std::vector<bool>& held_out, const FitOptions& options = {});

}  // namespace pipewright::comm
