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

// What communication benchmarks would measure on a cluster.
namespace pipewright::comm {

using analysis::Operation;
using config::Algorithm;

// What a benchmark's operation is called in a training job.
workload::Collective collective_of(Operation operation);

// Groups of ranks that do the same at the same time. Ranks are numbered over all groups.
struct BenchmarkRun {
  Operation operation = Operation::all_reduce;
  Algorithm algorithm = Algorithm::automatic;
  execution::RankPlacement placement;
  std::vector<std::vector<std::uint32_t>> groups;
  std::vector<double> parts = {};  // see workload::Operation
};

workload::Operation collective_of(const BenchmarkRun& run);

// One group on the first GPUs of a cluster, as a benchmark would use them: whole nodes one after
// the other, or, with `nodes`, equally many of each of that many nodes. Throws Error if the cluster
// does not have them.
execution::RankPlacement place_ranks(const cluster::Cluster& cluster, std::uint32_t ranks,
                                     std::uint32_t nodes = 0);
BenchmarkRun one_group(const cluster::Cluster& cluster, Operation operation, std::uint32_t ranks,
                       std::uint32_t nodes = 0, Algorithm algorithm = Algorithm::automatic);

// Seconds of the slowest group, and how the first one does it: "ring, LL128".
struct Prediction {
  double seconds = 0;
  std::string by;
};

// Whether an operation goes by an algorithm, or it gives way to another: see execution::plan().
bool takes(const BenchmarkRun& run, Algorithm algorithm);

// As flows on the cluster, with all groups at once: whoever shares links takes longer, as in a run
// of SimGrid.
Prediction simulate(cluster::Cluster& cluster, const BenchmarkRun& run, std::uint64_t bytes);

// The same of one group alone, without the engine, for any size in about a microsecond: exact where
// flows that share a link end together, as they do where members are placed evenly; else a lower
// bound. What it costs was taken from the cluster when this was made: after a change of the network
// model, make another.
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

// What a benchmark did that printed a row. Throws cluster::Error, "FILE:LINE: what", if the cluster
// does not have its ranks or nodes.
BenchmarkRun run_of(const cluster::Cluster& cluster, const analysis::Measurement& row,
                    Algorithm algorithm = Algorithm::automatic);

// Hears how many rows of how many are done.
using RowsDone = std::function<void(std::size_t done, std::size_t of)>;

// A simulation for each row, in their order, and equal ones once; all are looked at first.
std::vector<analysis::ComparedRow> predict_rows(cluster::Cluster& cluster,
                                                std::span<const analysis::Measurement> rows,
                                                Algorithm algorithm = Algorithm::automatic,
                                                const RowsDone& done = {});

// By the formula, at eight sizes each doubling from the least to the largest of a curve.
std::vector<analysis::CurvePoint> predict_between(const cluster::Cluster& cluster,
                                                  const analysis::ComparedCurve& curve,
                                                  Algorithm algorithm = Algorithm::automatic);

}  // namespace pipewright::comm
