#include "sim/execution/collectives/plan.hpp"

#include "sim/execution/collectives/algorithms.hpp"
#include "sim/execution/collectives/alone.hpp"

namespace pipewright::execution {
namespace {

using workload::Collective;

// One collective, on its way to becoming phases.
struct Task {
  Collective kind;
  double bytes;  // as workload::Call counts them
  std::span<const std::uint32_t> members;
  Nodes nodes;
  const Places& places;

  double ranks() const { return static_cast<double>(members.size()); }
};

bool is_all_reduce(Collective kind) { return kind == Collective::all_reduce; }

std::vector<Phase> by_ring(const Task& task) {
  const double times = is_all_reduce(task.kind) ? 2 : 1;
  const double steps = times * (task.ranks() - 1);
  const double volume = steps / task.ranks() * task.bytes;
  if (task.kind == Collective::ring_exchange)
    return {rings_over({{task.members.begin(), task.members.end()}}, volume, steps, task.places)};
  return {ring(channels_over(task.nodes, task.places), volume, steps, task.places)};
}

std::vector<Phase> directly(const Task& task) {
  const Phase phase =
      pairs({{task.members.begin(), task.members.end()}}, task.bytes / task.ranks(), task.places);
  if (is_all_reduce(task.kind)) return {phase, phase};
  return {phase};
}

std::vector<Phase> hierarchically(const Task& task) {
  const Nodes rails = across(task.nodes);
  const auto nodes = static_cast<double>(task.nodes.size());
  const auto each = static_cast<double>(rails.size());
  // What goes to all ranks of the other nodes goes first to the one of this node that is on their
  // rail.
  if (task.kind == Collective::all_to_all)
    return {pairs(task.nodes, task.bytes / each, task.places),
            pairs(rails, task.bytes / nodes, task.places)};

  const Phase inside =
      rings_inside(task.nodes, (each - 1) / each * task.bytes, each - 1, task.places);
  const double times = is_all_reduce(task.kind) ? 2 : 1;
  const Phase outside = rings_over(rails, times * (nodes - 1) / nodes * task.bytes / each,
                                   times * (nodes - 1), task.places);
  if (task.kind == Collective::reduce_scatter) return {inside, outside};
  if (task.kind == Collective::all_gather) return {outside, inside};
  return {inside, outside, inside};
}

// The algorithm that is used where another does not know the collective.
Algorithm settle(Algorithm algorithm, const Task& task) {
  if (task.kind == Collective::ring_exchange) return Algorithm::ring;
  const bool layers = task.nodes.size() > 1 && members_of_each(task.nodes) > 1;
  if (algorithm == Algorithm::hierarchical && layers) return algorithm;
  if (task.kind == Collective::all_to_all) return Algorithm::direct;
  if (algorithm == Algorithm::direct) return algorithm;
  return algorithm == Algorithm::tree && is_all_reduce(task.kind) ? algorithm : Algorithm::ring;
}

std::vector<Phase> phases_of(const Task& task, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::tree:
      return {tree(task.nodes, task.bytes, task.places)};
    case Algorithm::hierarchical:
      return hierarchically(task);
    case Algorithm::direct:
      return directly(task);
    case Algorithm::automatic:
    case Algorithm::ring:
      break;
  }
  return by_ring(task);
}

// By node, and in a node in the order of its fastest ring.
Nodes nodes_of(std::span<const std::uint32_t> members, const Places& places) {
  Nodes nodes = places.by_node(members);
  for (std::vector<std::uint32_t>& node : nodes)
    node = channels_in_node(node, places).front().ranks;
  return nodes;
}

struct Choice {
  Algorithm algorithm;
  std::vector<Phase> phases;
};

Choice choose_for(const Task& task, Algorithm algorithm) {
  if (algorithm != Algorithm::automatic || !is_all_reduce(task.kind)) {
    const Algorithm settled = settle(algorithm, task);
    return {settled, phases_of(task, settled)};
  }
  Choice ring{Algorithm::ring, phases_of(task, Algorithm::ring)};
  if (task.members.size() == 2) return ring;
  Choice tree{Algorithm::tree, phases_of(task, Algorithm::tree)};
  return alone(tree.phases, task.places) < alone(ring.phases, task.places) ? tree : ring;
}

}  // namespace

std::vector<Phase> plan(Collective kind, double bytes, std::span<const std::uint32_t> members,
                        Algorithm algorithm, const Places& places) {
  if (members.size() < 2 || bytes <= 0) return {};
  return choose_for({kind, bytes, members, nodes_of(members, places), places}, algorithm).phases;
}

Algorithm choose(Collective kind, double bytes, std::span<const std::uint32_t> members,
                 Algorithm algorithm, const Places& places) {
  if (members.size() < 2 || bytes <= 0) return algorithm;
  return choose_for({kind, bytes, members, nodes_of(members, places), places}, algorithm).algorithm;
}

}  // namespace pipewright::execution
