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

// A number of a cluster's network model, such as a latency or an efficiency, that can be fitted to
// measurements.
struct Parameter {
  std::string name;  // "nvlink.latency"
  const cluster::ParameterInfo* info = nullptr;
  double value = 0;           // value in the file, or the default
  bool is_requested = false;  // requested by name

  // Converts between the parameter's value and the scale of the fit: the logarithm, or, for
  // parameters that may be 0, the inverse hyperbolic sine, which is logarithmic for large values
  // and linear near 0.
  double to_scale(double number) const;
  double from_scale(double x) const;
  // Describes the parameter for the fit, with its bounds: a tenth to ten times the value, or a
  // thirtieth to thirty times if it is requested by name. Ratios stay at most 1, since nothing is
  // faster than its nominal rate or slower by LL than by Simple. The prior weight reflects how much
  // such numbers differ between machines of the same kind.
  Unknown unknown() const;
};

// Parameters that the predicted times of the rows may depend on: collective.*, and all parameters
// of each link class between the measured ranks. Excluded are costs of protocols and switches that
// the file does not set, and latencies of links that differ within the class.
std::vector<Parameter> candidate_parameters(const cluster::Cluster& cluster,
                                            std::span<const analysis::Measurement> rows);

// Looks parameters up by name. Throws cluster::Error for a name that is not a parameter of this
// cluster.
std::vector<Parameter> named_parameters(const cluster::Cluster& cluster,
                                        std::span<const std::string> names);

// Predicts the times of measured rows by the formula, for changing values of the cluster's
// parameters.
class RowPredictor {
 public:
  // Cluster and parameters must outlive this object. Throws cluster::Error "FILE:LINE: message" for
  // the first row with more ranks or nodes than the cluster has.
  RowPredictor(cluster::Cluster& cluster, std::span<const Parameter> parameters,
               std::span<const analysis::Measurement> rows);

  // Computes the plans of the rows' collectives again, with the cluster's current parameters.
  void replan();
  // Sets whether NCCL keeps choosing algorithms by the platform file's numbers when parameters
  // change.
  void freeze_expectations(bool is_frozen);
  // Predicts the seconds of each row with `values` for the `chosen` parameters and the cluster's
  // values for all others.
  std::vector<double> seconds(std::span<const std::size_t> chosen,
                              std::span<const double> values) const;
  // Predicts the seconds of each row with `values` for the `chosen` parameters, as seconds() does,
  // but with collectives planned again for these values. Leaves the values set in the cluster.
  std::vector<double> exact_seconds(std::span<const std::size_t> chosen,
                                    std::span<const double> values);
  // Protocol that NCCL uses for each row with the platform file's numbers.
  std::vector<cluster::Protocol> protocols() const;

 private:
  struct Curve {  // rows of one operation on the same ranks
    BenchmarkRun run;
    PricedRun priced;
    std::map<std::uint64_t, std::vector<std::size_t>> rows;  // keyed by bytes
  };

  cluster::Cluster& cluster_;
  std::span<const Parameter> parameters_;
  std::size_t rows_;             // number of rows
  cluster::MessageModel model_;  // model of the file
  std::vector<Curve> curves_;
};

}  // namespace pipewright::comm
