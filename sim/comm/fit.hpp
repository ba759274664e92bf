#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/comm/reports/fit_report.hpp"
#include "sim/cluster/cluster.hpp"

namespace pipewright::comm {

// Which rows a fit does not see, so that they can tell how good it is: of each curve by size, every
// other one, the second and fourth or the first and third. Rows of one size are held out together.
enum class HoldOut { odd, even, none };
std::vector<bool> held_out_rows(std::span<const analysis::Measurement> rows, HoldOut which);

struct FitOptions {
  std::size_t most = 5;                             // parameters
  std::vector<std::string> named;                   // exactly these, if any
  std::function<void(double share)> progress = {};  // may throw, to end it
};

// The parameters of the cluster's network model with which the formula (prediction.hpp) is nearest
// to measured times, by their ratios. Each is rounded to six digits. The cluster has them
// afterwards. Throws cluster::Error for rows that the cluster has no place for.
analysis::FitReport fit(cluster::Cluster& cluster, std::span<const analysis::Measurement> rows,
                        const std::vector<bool>& held_out, const FitOptions& options = {});

}  // namespace pipewright::comm
