#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/comm/measurement.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/comm/least_squares.hpp"
#include "sim/comm/prediction.hpp"

namespace pipewright::comm {

// A number of a cluster's network model that measurements might tell.
struct Parameter {
  std::string name;  // "nvlink.latency"
  const cluster::ParameterInfo* info = nullptr;
  double value = 0;  // the file's, or what holds without it

  // Its logarithm; of one that may be 0, the inverse hyperbolic sine, which is the logarithm where
  // the value is large and proportional to it near 0.
  double to_scale(double of) const;
  double from_scale(double x) const;
  Unknown unknown() const;  // from a thirtieth of the value to 30 times it
};

// Those on which predictions of the rows may depend: collective.*, and of each class of links
// between the measured ranks all but the costs of protocols and switches that the file does not
// know, and a latency in place of latencies that differ.
std::vector<Parameter> candidates(const cluster::Cluster& cluster,
                                  std::span<const analysis::Measurement> rows);

// The named ones. Throws cluster::Error for a name that is no parameter of this cluster.
std::vector<Parameter> named_parameters(const cluster::Cluster& cluster,
                                        std::span<const std::string> names);

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
    BenchmarkRun run;
    std::vector<std::size_t> rows;
  };

  cluster::Cluster& cluster_;
  std::span<const Parameter> parameters_;
  std::span<const analysis::Measurement> rows_;
  std::vector<double> values_;  // of the parameters, as the cluster has them
  std::vector<Curve> curves_;
};

}  // namespace pipewright::comm
