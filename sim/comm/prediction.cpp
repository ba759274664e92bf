#include "sim/comm/prediction.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/execution/collectives/least_time.hpp"
#include "sim/execution/exposed_time.hpp"

namespace pipewright::comm {
namespace {

using workload::Collective;

// The GPUs of each node, in order.
std::vector<std::vector<cluster::Host*>> gpus_by_node(const cluster::Cluster& cluster) {
  std::map<std::uint32_t, std::vector<cluster::Host*>> by_node;
  for (cluster::Host* gpu : cluster.gpus()) by_node[cluster.node_of(gpu)].push_back(gpu);
  std::vector<std::vector<cluster::Host*>> nodes;
  for (auto& [node, gpus] : by_node) nodes.push_back(std::move(gpus));
  return nodes;
}

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
    case Operation::send_recv:
      return workload::Collective::send_recv;
    case Operation::pairwise:
      break;
  }
  return workload::Collective::pairwise;
}

execution::RankPlacement place_ranks(const cluster::Cluster& cluster, std::uint32_t ranks,
                                     std::uint32_t nodes) {
  if (ranks < 2) throw cluster::Error(fmt::format("{} ranks: it takes two to talk", ranks));
  const std::size_t gpus = cluster.gpus().size();
  const auto all = gpus_by_node(cluster);
  const auto fail = [&](const std::string& what) {
    throw cluster::Error(fmt::format(
        "{}: {}; it has {} GPUs in {} {}. 'pipewright platform make' writes clusters of any size",
        cluster.name(), what, gpus, all.size(), all.size() == 1 ? "node" : "nodes"));
  };
  if (nodes == 0) {
    if (ranks > gpus) fail(fmt::format("has no {} GPUs for as many ranks", ranks));
    return {cluster, {cluster.gpus().begin(), cluster.gpus().begin() + ranks}};
  }
  if (ranks % nodes != 0)
    fail(fmt::format("{} ranks cannot be spread evenly over {} nodes", ranks, nodes));
  const std::uint32_t each = ranks / nodes;
  std::vector<cluster::Host*> hosts;
  for (const std::vector<cluster::Host*>& node : all) {
    if (hosts.size() == ranks) break;
    if (node.size() >= each) hosts.insert(hosts.end(), node.begin(), node.begin() + each);
  }
  if (hosts.size() < ranks)
    fail(fmt::format("has no {} of {} GPUs", nodes == 1 ? "node" : fmt::format("{} nodes", nodes),
                     each));
  return {cluster, std::move(hosts)};
}

BenchmarkRun one_group(const cluster::Cluster& cluster, Operation operation, std::uint32_t ranks,
                       std::uint32_t nodes, Algorithm algorithm) {
  BenchmarkRun run{.operation = operation,
                   .algorithm = algorithm,
                   .placement = place_ranks(cluster, ranks, nodes),
                   .groups = {{}}};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) run.groups.front().push_back(rank);
  return run;
}

bool takes(const BenchmarkRun& run, Algorithm algorithm) {
  return execution::choose(collective_of(run.operation), 1, run.groups.front(), algorithm,
                           run.placement)
             .algorithm == algorithm;
}

Prediction simulate(cluster::Cluster& cluster, const BenchmarkRun& run, std::uint64_t bytes) {
  const Collective kind = collective_of(run.operation);
  const auto size = static_cast<double>(bytes);
  std::vector<std::vector<execution::Phase>> plans;
  for (const std::vector<std::uint32_t>& group : run.groups)
    plans.push_back(execution::plan(kind, size, group, run.algorithm, run.placement));
  const std::vector<double> seconds = execution::simulate_alone(cluster, run.placement, plans);
  return {.seconds = *std::ranges::max_element(seconds),
          .by = execution::to_string(
              execution::choose(kind, size, run.groups.front(), run.algorithm, run.placement))};
}

struct Formula::Parts {
  execution::LeastTime time;
};

Formula::Formula(const BenchmarkRun& run)
    : parts_(std::make_unique<Parts>(
          Parts{execution::LeastTime(collective_of(run.operation), {run.groups.front()},
                                     run.algorithm, run.placement, false)})) {}
Formula::~Formula() = default;
Formula::Formula(Formula&&) noexcept = default;

double Formula::seconds(std::uint64_t bytes) const { return parts_->time.seconds(bytes); }

}  // namespace pipewright::comm
