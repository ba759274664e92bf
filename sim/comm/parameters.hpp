#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/measurement.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/comm/least_squares.hpp"
#include "sim/comm/prediction.hpp"
#include "sim/comm/priced_run.hpp"

namespace pipewright::comm {

// A number of a cluster's network model that measurements might tell.
struct Parameter {
  std::string name;  // "nvlink.latency"
  const cluster::ParameterInfo* info = nullptr;
  double value = 0;    // the file's, or what holds without it
  bool asked = false;  // for by name

  // Its logarithm; of one that may be 0, the inverse hyperbolic sine, which is the logarithm where
  // the value is large and proportional to it near 0.
  double to_scale(double of) const;
  double from_scale(double x) const;
  // From a tenth of the value to ten times it, or thirty where it is asked for; but nothing is
  // faster than its nominal rate, nor slower by LL than by Simple: no ratio rises above 1. What
  // pulls it to the value is how far such numbers are apart on machines of a kind.
  Unknown unknown() const;
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

  // Plans at the numbers that the cluster has now.
  void plan_anew();
  // Whether NCCL goes on to choose by the file's numbers.
  void keep_expectations(bool keep);
  // Seconds of each row with these parameters so, and all others as they were.
  std::vector<double> seconds(std::span<const std::size_t> chosen,
                              std::span<const double> values) const;
  // The same, planned anew. Leaves the cluster with them.
  std::vector<double> exact_seconds(std::span<const std::size_t> chosen,
                                    std::span<const double> values);
  // By which protocol each row goes, by the file's numbers.
  std::vector<cluster::Protocol> protocols() const;

 private:
  struct Curve {  // rows of one operation on the same ranks
    BenchmarkRun run;
    PricedRun priced;
    std::map<std::uint64_t, std::vector<std::size_t>> rows;  // by bytes
  };

  cluster::Cluster& cluster_;
  std::span<const Parameter> parameters_;
  std::size_t rows_;             // how many
  cluster::MessageModel model_;  // the file's
  std::vector<Curve> curves_;
};

}  // namespace pipewright::comm
