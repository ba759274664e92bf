#include "sim/comm/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/execution/collectives/least_time.hpp"
#include "sim/execution/exposed_time.hpp"

namespace pipewright::comm {
namespace {

// Returns the GPUs of each node, nodes and GPUs in the cluster's order.
std::vector<std::vector<cluster::Host*>> gpus_by_node(const cluster::Cluster& cluster) {
  std::map<std::uint32_t, std::vector<cluster::Host*>> by_node;
  for (cluster::Host* gpu : cluster.gpus()) by_node[cluster.node_of(gpu)].push_back(gpu);
  std::vector<std::vector<cluster::Host*>> nodes;
  for (auto& [node, gpus] : by_node) nodes.push_back(std::move(gpus));
  return nodes;
}

using analysis::Measurement;

using RunKey = std::tuple<Operation, std::uint32_t, std::uint32_t>;
RunKey run_key(const Measurement& row) { return {row.operation, row.ranks, row.nodes}; }

}  // namespace

workload::Collective collective_of(Operation operation) {
  switch (operation) {
    case Operation::all_reduce:
      return workload::Collective::all_reduce;
    case Operation::all_gather:
      return workload::Collective::all_gather;
    case Operation::reduce_scatter:
      return workload::Collective::reduce_scatter;
    case Operation::all_to_all:
      return workload::Collective::all_to_all;
    case Operation::broadcast:
      return workload::Collective::broadcast;
    case Operation::reduce:
      return workload::Collective::reduce;
    case Operation::gather:
      return workload::Collective::gather;
    case Operation::scatter:
      return workload::Collective::scatter;
    case Operation::send_recv:
      return workload::Collective::send_recv;
    case Operation::pairwise:
      break;
  }
  return workload::Collective::pairwise;
}

workload::Operation collective_of(const BenchmarkRun& run) {
  workload::Operation operation = collective_of(run.operation);
  operation.parts = run.parts;
  return operation;
}

execution::RankPlacement place_ranks(const cluster::Cluster& cluster, std::uint32_t ranks,
                                     std::uint32_t nodes) {
  if (ranks < 2) throw cluster::Error(fmt::format("{} ranks; at least 2 are needed", ranks));
  const std::size_t gpus = cluster.gpus().size();
  const auto gpus_of_nodes = gpus_by_node(cluster);
  const auto fail = [&](const std::string& message) {
    throw cluster::Error(fmt::format("{}: {}; it has {} GPUs in {} {}", cluster.name(), message,
                                     gpus, gpus_of_nodes.size(),
                                     gpus_of_nodes.size() == 1 ? "node" : "nodes"))
        .suggest(
            "--nodes gives the number of the cluster's nodes that the ranks occupy, if a node has "
            "several hosts, as an NVL72 rack has; 'pipewright platform make' generates clusters of "
            "any size");
  };
  if (nodes == 0) {
    if (ranks > gpus) fail(fmt::format("has too few GPUs for {} ranks", ranks));
    return {cluster, {cluster.gpus().begin(), cluster.gpus().begin() + ranks}};
  }
  if (ranks % nodes != 0)
    fail(fmt::format("{} ranks cannot be spread evenly over {} nodes", ranks, nodes));
  const std::uint32_t ranks_per_node = ranks / nodes;
  std::vector<cluster::Host*> hosts;
  for (const std::vector<cluster::Host*>& node : gpus_of_nodes) {
    if (hosts.size() == ranks) break;
    if (node.size() >= ranks_per_node)
      hosts.insert(hosts.end(), node.begin(), node.begin() + ranks_per_node);
  }
  if (hosts.size() < ranks)
    fail(fmt::format("has no {} of {} GPUs", nodes == 1 ? "node" : fmt::format("{} nodes", nodes),
                     ranks_per_node));
  return {cluster, std::move(hosts)};
}

BenchmarkRun make_single_group(const cluster::Cluster& cluster, Operation operation,
                               std::uint32_t ranks, std::uint32_t nodes, Algorithm algorithm) {
  BenchmarkRun run{.operation = operation,
                   .algorithm = algorithm,
                   .placement = place_ranks(cluster, ranks, nodes),
                   .groups = {{}}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) run.groups.front().push_back(rank);
  return run;
}

bool uses_algorithm(const BenchmarkRun& run, Algorithm algorithm) {
  return execution::choose(collective_of(run), 1, run.groups.front(), algorithm, run.placement)
             .algorithm == algorithm;
}

Simulation::Simulation(const cluster::Cluster& cluster, const BenchmarkRun& run)
    : cluster_(cluster), run_(run) {
  const workload::Operation kind = collective_of(run);
  for (const std::vector<std::uint32_t>& group : run.groups)
    planners_.emplace_back(kind, group, run.algorithm, run.placement);
}

Prediction Simulation::predict(std::uint64_t bytes) const {
  std::vector<std::vector<execution::Phase>> plans;
  const auto size = static_cast<double>(bytes);
  for (const execution::GroupPlanner& planner : planners_) plans.push_back(planner.plan(size));
  const std::vector<double> seconds = execution::simulate_alone(cluster_, run_.placement, plans);
  return {.seconds = *std::ranges::max_element(seconds),
          .method = execution::to_string(first_group().choose(size).method)};
}

Prediction simulate(const cluster::Cluster& cluster, const BenchmarkRun& run, std::uint64_t bytes) {
  return Simulation(cluster, run).predict(bytes);
}

struct Formula::Parts {
  execution::LeastTime time;
};

Formula::Formula(const BenchmarkRun& run)
    : parts_(std::make_unique<Parts>(Parts{execution::LeastTime(
          collective_of(run), {run.groups.front()}, run.algorithm, run.placement, false)})) {}
Formula::~Formula() = default;
Formula::Formula(Formula&&) noexcept = default;

double Formula::seconds(std::uint64_t bytes) const { return parts_->time.seconds(bytes); }

BenchmarkRun benchmark_run(const cluster::Cluster& cluster, const Measurement& row,
                           Algorithm algorithm) {
  try {
    return make_single_group(cluster, row.operation, row.ranks, row.nodes, algorithm);
  } catch (const cluster::Error& error) {
    throw error.at({.source = row.file, .line = row.line});
  }
}

std::vector<analysis::ComparedRow> predict_rows(cluster::Cluster& cluster,
                                                std::span<const Measurement> rows,
                                                Algorithm algorithm, const RowProgress& progress) {
  struct KnownRun {
    BenchmarkRun run;
    std::optional<Simulation> simulation;
    std::map<std::uint64_t, Prediction> by_bytes;
  };
  std::map<RunKey, KnownRun> runs;
  for (const Measurement& row : rows)
    if (!runs.contains(run_key(row)))
      runs.emplace(run_key(row), KnownRun{benchmark_run(cluster, row, algorithm), {}, {}});
  std::vector<analysis::ComparedRow> predicted;
  for (const Measurement& row : rows) {
    auto& [run, simulation, by_bytes] = runs.at(run_key(row));
    if (!simulation) simulation.emplace(cluster, run);
    auto prediction = by_bytes.find(row.bytes);
    if (prediction == by_bytes.end())
      prediction = by_bytes.emplace(row.bytes, simulation->predict(row.bytes)).first;
    predicted.push_back({.measured = row,
                         .predicted = prediction->second.seconds,
                         .method = prediction->second.method,
                         .held_out = false});
    if (progress) progress(predicted.size(), rows.size());
  }
  return predicted;
}

std::vector<analysis::CurvePoint> predict_between(const cluster::Cluster& cluster,
                                                  const analysis::ComparedCurve& curve,
                                                  Algorithm algorithm) {
  constexpr double step = 1.0 / 8;  // fraction of a doubling
  std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t largest = 0;
  for (const analysis::ComparedRow& row : curve.rows)
    if (row.measured.bytes > 0) {
      smallest = std::min(smallest, row.measured.bytes);
      largest = std::max(largest, row.measured.bytes);
    }
  std::vector<analysis::CurvePoint> points;
  if (largest == 0) return points;
  const Formula formula(benchmark_run(cluster, curve.rows.front().measured, algorithm));
  const double end = std::log2(static_cast<double>(largest));
  for (double power = std::log2(static_cast<double>(smallest)); power < end; power += step) {
    const auto bytes = static_cast<std::uint64_t>(std::llround(std::exp2(power)));
    if (points.empty() || bytes > points.back().bytes)
      points.push_back({bytes, formula.seconds(bytes)});
  }
  points.push_back({largest, formula.seconds(largest)});
  return points;
}

}  // namespace pipewright::comm
