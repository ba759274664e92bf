#pragma once

#include <span>
#include <vector>

#include "analysis/comm/measurement.hpp"
#include "sim/comm/parameters.hpp"
#include "sim/comm/prediction.hpp"

namespace pipewright::comm {

// Predictions of measured rows by the formula, for changing parameters of the cluster.
class RowPredictor {
 public:
  // The cluster and the parameters outlive this. Throws cluster::Error, "FILE:LINE: what", for the
  // first row of more ranks or nodes than the cluster has.
  RowPredictor(cluster::Cluster& cluster, std::span<const Parameter> parameters,
               std::span<const analysis::Measurement> rows);

  // Seconds of each row with these parameters so, and all others as they were. Leaves the cluster
  // with them.
  std::vector<double> seconds(std::span<const std::size_t> chosen, std::span<const double> values);

 private:
  struct Curve {  // rows of one operation on the same ranks
    Setting setting;
    std::vector<std::size_t> rows;
  };

  cluster::Cluster& cluster_;
  std::span<const Parameter> parameters_;
  std::span<const analysis::Measurement> rows_;
  std::vector<double> values_;  // of the parameters, as the cluster has them
  std::vector<Curve> curves_;
};

}  // namespace pipewright::comm
