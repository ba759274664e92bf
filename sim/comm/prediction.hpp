#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/comparison.hpp"
#include "analysis/commlogs/operation.hpp"
#include "analysis/commlogs/pictures/curve_picture.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/execution/collectives/plan.hpp"
#include "sim/execution/collectives/rank_placement.hpp"
#include "sim/workload/traffic.hpp"

// Predicts the times of communication benchmarks, such as nccl-tests, on a cluster.
namespace pipewright::comm {

using analysis::Operation;
using config::Algorithm;

// Maps a benchmark's operation to the collective of a training job that it measures.
workload::Collective collective_of(Operation operation);

// A benchmark: groups of ranks that run the same operation at the same time. Ranks are numbered
// over all groups.
struct BenchmarkRun {
  Operation operation = Operation::all_reduce;
  Algorithm algorithm = Algorithm::automatic;
  execution::RankPlacement placement;
  std::vector<std::vector<std::uint32_t>> groups;
  std::vector<double> parts = {};  // see workload::Operation
};

workload::Operation collective_of(const BenchmarkRun& run);

// Places one group on the first GPUs of a cluster, as a benchmark would: whole nodes one after the
// other, or, if `nodes` is set, the same number of GPUs on each of that many nodes. Throws Error if
// the cluster is too small.
execution::RankPlacement place_ranks(const cluster::Cluster& cluster, std::uint32_t ranks,
                                     std::uint32_t nodes = 0);
BenchmarkRun make_single_group(const cluster::Cluster& cluster, Operation operation,
                               std::uint32_t ranks, std::uint32_t nodes = 0,
                               Algorithm algorithm = Algorithm::automatic);

// Predicted time of the slowest group, and the algorithm and protocol of the first group: "ring,
// LL128".
struct Prediction {
  double seconds = 0;
  std::string method;
};

// Returns whether the operation can use this algorithm instead of falling back to another; see
// execution::plan().
bool uses_algorithm(const BenchmarkRun& run, Algorithm algorithm);

// Simulates an operation of any size as flows with all groups at the same time, including
// contention on shared links. Costs that do not depend on the size are computed once. The cluster
// and the run must outlive this object, and the cluster's numbers must not change meanwhile.
class Simulation {
 public:
  Simulation(const cluster::Cluster& cluster, const BenchmarkRun& run);

  Prediction predict(std::uint64_t bytes) const;
  const execution::GroupPlanner& first_group() const { return planners_.front(); }

 private:
  const cluster::Cluster& cluster_;
  const BenchmarkRun& run_;
  std::vector<execution::GroupPlanner> planners_;  // by group
};
Prediction simulate(const cluster::Cluster& cluster, const BenchmarkRun& run, std::uint64_t bytes);

// Predicts the time of one group alone by a formula instead of the engine, in about a microsecond
// per size. Exact if flows that share a link end together, as with evenly placed ranks; a lower
// bound otherwise. Costs are read from the cluster at construction; construct a new object after a
// change of the network model.
class Formula {
 public:
  explicit Formula(const BenchmarkRun& run);
  ~Formula();
  Formula(Formula&&) noexcept;

  double seconds(std::uint64_t bytes) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Returns the benchmark that a measured row comes from. Throws cluster::Error "FILE:LINE: message"
// if the cluster does not have its ranks or nodes.
BenchmarkRun benchmark_run(const cluster::Cluster& cluster, const analysis::Measurement& row,
                           Algorithm algorithm = Algorithm::automatic);

// Progress callback: finished rows and total rows.
using RowProgress = std::function<void(std::size_t done, std::size_t total)>;

// Simulates the benchmark of each measured row, in order; equal rows are simulated once. All rows
// are checked before the first simulation.
std::vector<analysis::ComparedRow> predict_rows(cluster::Cluster& cluster,
                                                std::span<const analysis::Measurement> rows,
                                                Algorithm algorithm = Algorithm::automatic,
                                                const RowProgress& done = {});

// Predicts the times of a measured curve by the formula, at eight sizes per doubling from its
// smallest to its largest size.
std::vector<analysis::CurvePoint> predict_between(const cluster::Cluster& cluster,
                                                  const analysis::ComparedCurve& curve,
                                                  Algorithm algorithm = Algorithm::automatic);

}  // namespace pipewright::comm
