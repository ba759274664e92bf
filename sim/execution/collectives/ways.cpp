#include "sim/execution/collectives/ways.hpp"

#include <algorithm>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

using workload::Collective;

// One collective of one byte, on its way to becoming drafts.
struct Task {
  Collective kind;
  std::span<const std::uint32_t> members;
  Nodes nodes;
  const Places& places;

  double ranks() const { return static_cast<double>(members.size()); }
  Nodes in_order() const { return {{members.begin(), members.end()}}; }
};

bool is_all_reduce(Collective kind) { return kind == Collective::all_reduce; }

std::vector<Draft> by_ring(const Task& task) {
  if (task.kind == Collective::broadcast)
    return {chain(channels_over(task.nodes, task.places), task.members.front(), task.places)};
  const double times = is_all_reduce(task.kind) ? 2 : 1;
  const double steps = times * (task.ranks() - 1);
  const double volume = steps / task.ranks();
  if (task.kind == Collective::ring_exchange)
    return {rings_over(task.in_order(), volume, steps, task.places)};
  return {ring(channels_over(task.nodes, task.places), volume, steps, task.places)};
}

std::vector<Draft> directly(const Task& task) {
  const std::size_t n = task.members.size();
  if (task.kind == Collective::send_recv || task.kind == Collective::pairwise) {
    const std::size_t by = task.kind == Collective::send_recv ? 1 : n / 2;
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < (by == 1 ? n : 2 * by); ++i)
      flows.push_back({task.members[i], task.members[(i + by) % (by == 1 ? n : 2 * by)], 1});
    return {at_once(std::move(flows), task.places)};
  }
  const Draft draft = pairs(task.in_order(), 1 / task.ranks(), task.places);
  if (is_all_reduce(task.kind)) return {draft, draft};
  return {draft};
}

std::vector<Draft> hierarchically(const Task& task) {
  const Nodes rails = across(task.nodes);
  const auto nodes = static_cast<double>(task.nodes.size());
  const auto each = static_cast<double>(rails.size());
  // What goes to all ranks of the other nodes goes first to the one of this node that is on their
  // rail.
  if (task.kind == Collective::all_to_all)
    return {pairs(task.nodes, 1 / each, task.places), pairs(rails, 1 / nodes, task.places)};

  const Draft inside = rings_inside(task.nodes, (each - 1) / each, each - 1, task.places);
  const double times = is_all_reduce(task.kind) ? 2 : 1;
  const Draft outside =
      rings_over(rails, times * (nodes - 1) / nodes / each, times * (nodes - 1), task.places);
  if (task.kind == Collective::reduce_scatter) return {inside, outside};
  if (task.kind == Collective::all_gather) return {outside, inside};
  return {inside, outside, inside};
}

bool talks_directly(Collective kind) {
  return kind == Collective::all_to_all || kind == Collective::send_recv ||
         kind == Collective::pairwise;
}

// The algorithm that is used where another does not know the collective.
Algorithm settle(Algorithm algorithm, const Task& task) {
  if (task.kind == Collective::ring_exchange || task.kind == Collective::broadcast)
    return Algorithm::ring;
  const bool layers = task.nodes.size() > 1 && members_of_each(task.nodes) > 1 &&
                      task.kind != Collective::send_recv && task.kind != Collective::pairwise;
  if (algorithm == Algorithm::hierarchical && layers) return algorithm;
  if (talks_directly(task.kind)) return Algorithm::direct;
  if (algorithm == Algorithm::direct) return algorithm;
  if (!is_all_reduce(task.kind)) return Algorithm::ring;
  if (algorithm == Algorithm::nvls && has_nvls(task.nodes, task.places)) return algorithm;
  if (algorithm == Algorithm::sharp && has_sharp(task.nodes, task.places)) return algorithm;
  return algorithm == Algorithm::tree ? algorithm : Algorithm::ring;
}

std::vector<Draft> phases_of(const Task& task, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::tree:
      return {tree(task.nodes, task.places)};
    case Algorithm::hierarchical:
      return hierarchically(task);
    case Algorithm::direct:
      return directly(task);
    case Algorithm::nvls:
      return {nvls(task.nodes, task.places)};
    case Algorithm::sharp:
      return {sharp(task.nodes, task.places)};
    case Algorithm::automatic:
    case Algorithm::ring:
      break;
  }
  return by_ring(task);
}

// Switches add up whole chunks, and NCCL sends from rank to rank without LL128.
std::vector<Protocol> protocols_of(Collective kind, Algorithm algorithm, const Places& places) {
  const cluster::MessageModel& model = places.model();
  std::vector<Protocol> protocols{Protocol::simple};
  if (algorithm == Algorithm::nvls || algorithm == Algorithm::sharp) return protocols;
  if (model.has(Protocol::ll)) protocols.push_back(Protocol::ll);
  const bool direct = algorithm == Algorithm::direct || kind == Collective::ring_exchange;
  if (!direct && model.has(Protocol::ll128)) protocols.push_back(Protocol::ll128);
  return protocols;
}

// By node, and in a node in the order of its fastest ring.
Nodes nodes_of(std::span<const std::uint32_t> members, const Places& places) {
  Nodes nodes = places.by_node(members);
  for (std::vector<std::uint32_t>& node : nodes)
    node = channels_in_node(node, places).front().ranks;
  return nodes;
}

std::vector<Algorithm> candidates(const Task& task, Algorithm algorithm) {
  if (algorithm != Algorithm::automatic || !is_all_reduce(task.kind))
    return {settle(algorithm, task)};
  std::vector<Algorithm> all{Algorithm::ring};
  if (task.members.size() > 2) all.push_back(Algorithm::tree);
  for (const Algorithm with_switch : {Algorithm::nvls, Algorithm::sharp})
    if (settle(with_switch, task) == with_switch) all.push_back(with_switch);
  return all;
}

}  // namespace

std::vector<Way> ways(Collective kind, std::span<const std::uint32_t> members, Algorithm algorithm,
                      const Places& places) {
  if (members.size() < 2) return {};
  const Task task{kind, members, nodes_of(members, places), places};
  std::vector<Way> all;
  for (const Algorithm one : candidates(task, algorithm)) {
    Way& way = all.emplace_back(Way{one, protocols_of(kind, one, places), phases_of(task, one)});
    if (way.phases.empty()) continue;
    const cluster::MessageModel& model = places.model();
    ByProtocol& latency = way.phases.front().latency;
    for (double& seconds : latency) seconds += model.launch;
    latency[static_cast<std::size_t>(Protocol::ll128)] += model.ll128_launch;
  }
  return all;
}

}  // namespace pipewright::execution
