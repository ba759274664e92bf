#include "sim/execution/collectives/algorithm_choice.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

using workload::Collective;

// One collective of one byte, on its way to a plan.
struct Task {
  Collective kind;
  const workload::Dispatch& dispatch;
  const std::vector<double>& parts;
  std::span<const std::uint32_t> members;
  Nodes nodes;
  const RankPlacement& placement;

  double ranks() const { return static_cast<double>(members.size()); }
  Nodes in_order() const { return {{members.begin(), members.end()}}; }
};

bool is_all_reduce(Collective kind) { return kind == Collective::all_reduce; }

std::vector<PhaseCost> by_ring(const Task& task) {
  if (task.kind == Collective::broadcast || task.kind == Collective::reduce)
    return {chain(channels_over(task.nodes, task.placement), task.members.front(),
                  task.kind == Collective::broadcast ? RootAt::start : RootAt::end,
                  task.placement)};
  const double times = is_all_reduce(task.kind) ? 2 : 1;
  const double steps = times * (task.ranks() - 1);
  const double volume = steps / task.ranks();
  if (task.kind == Collective::ring_exchange)
    return {rings_over(task.in_order(), volume, steps, task.placement)};
  return {ring(channels_over(task.nodes, task.placement), volume, steps, task.placement)};
}

// Between the root and each other member, or what a rank has for each.
bool has_unlike_messages(const Task& task) {
  return task.kind == Collective::gather || task.kind == Collective::scatter || !task.parts.empty();
}
std::vector<Flow> unlike_messages(const Task& task) {
  const std::span<const std::uint32_t> members = task.members;
  std::vector<Flow> messages;
  if (task.parts.empty()) {
    for (const std::uint32_t other : members.subspan(1))
      messages.push_back(task.kind == Collective::gather
                             ? Flow{other, members.front(), 1 / task.ranks()}
                             : Flow{members.front(), other, 1 / task.ranks()});
    return messages;
  }
  for (std::size_t step = 1; step < members.size(); ++step)
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::size_t to = (i + step) % members.size();
      const double part = task.parts[i * members.size() + to];
      if (part > 0) messages.push_back({members[i], members[to], part});
    }
  return messages;
}

std::vector<PhaseCost> directly(const Task& task) {
  const std::size_t n = task.members.size();
  if (task.kind == Collective::send_recv || task.kind == Collective::pairwise) {
    const std::size_t by = task.kind == Collective::send_recv ? 1 : n / 2;
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < (by == 1 ? n : 2 * by); ++i)
      flows.push_back({task.members[i], task.members[(i + by) % (by == 1 ? n : 2 * by)], 1});
    return {at_once(std::move(flows), task.placement)};
  }
  if (task.kind == Collective::dispatch)
    return {dispatch_tokens(task.nodes, task.dispatch, task.placement)};
  const PeerWays ways(task.nodes, task.placement);
  if (has_unlike_messages(task))
    return {by_peers(unlike_messages(task), task.nodes, ways, task.placement)};
  PhaseCost cost = ways.any() ? pairs_by_peers(task.nodes, ways, 1 / task.ranks(), task.placement)
                              : pairs(task.in_order(), 1 / task.ranks(), task.placement);
  // The copy of its own part goes beside what a GPU sends to other nodes.
  if (task.kind == Collective::all_to_all && task.nodes.size() == 1)
    cost.ends = task.placement.model().direct_ends / (task.ranks() - 1);
  if (is_all_reduce(task.kind)) return {cost, cost};
  return {cost};
}

std::vector<PhaseCost> hierarchically(const Task& task) {
  const Nodes rails = across(task.nodes);
  const auto nodes = static_cast<double>(task.nodes.size());
  const auto each = static_cast<double>(rails.size());
  // What goes to all ranks of the other nodes goes first to the one of this node that is on their
  // rail.
  if (task.kind == Collective::all_to_all)
    return {pairs(task.nodes, 1 / each, task.placement), pairs(rails, 1 / nodes, task.placement)};

  const PhaseCost inside = rings_inside(task.nodes, (each - 1) / each, each - 1, task.placement);
  const double times = is_all_reduce(task.kind) ? 2 : 1;
  const PhaseCost outside =
      rings_over(rails, times * (nodes - 1) / nodes / each, times * (nodes - 1), task.placement);
  if (task.kind == Collective::reduce_scatter) return {inside, outside};
  if (task.kind == Collective::all_gather) return {outside, inside};
  return {inside, outside, inside};
}

bool is_direct_only(Collective kind) {
  return kind == Collective::all_to_all || kind == Collective::gather ||
         kind == Collective::scatter || kind == Collective::send_recv ||
         kind == Collective::pairwise || kind == Collective::dispatch;
}
bool is_ring_only(Collective kind) {
  return kind == Collective::ring_exchange || kind == Collective::broadcast ||
         kind == Collective::reduce;
}
bool has_layers(const Task& task) {
  const bool deals = task.kind == Collective::all_to_all && task.parts.empty();
  return task.nodes.size() > 1 && members_of_each(task.nodes) > 1 && !is_ring_only(task.kind) &&
         (deals || !is_direct_only(task.kind));
}

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

// What there is to know of an algorithm, in the order of preference where NCCL expects them to take
// equally long.
struct Entry {
  Algorithm algorithm;
  bool (*can_do)(const Task&);
  std::vector<PhaseCost> (*phases)(const Task&);
  std::size_t automatic_from;  // ranks from which NCCL has it among those to choose from
  Protocol last_protocol;      // of Simple, LL and LL128, in this order, those up to it
};
constexpr std::array table{
    Entry{.algorithm = Algorithm::ring,
          .can_do = [](const Task& t) { return !is_direct_only(t.kind); },
          .phases = by_ring,
          .automatic_from = 2,
          .last_protocol = Protocol::ll128},
    Entry{.algorithm = Algorithm::tree,
          .can_do = [](const Task& t) { return is_all_reduce(t.kind); },
          .phases = [](const Task& t) { return std::vector{tree(t.nodes, t.placement)}; },
          .automatic_from = 3,
          .last_protocol = Protocol::ll128},
    // Switches add up whole chunks.
    Entry{.algorithm = Algorithm::nvls,
          .can_do =
              [](const Task& t) { return is_all_reduce(t.kind) && has_nvls(t.nodes, t.placement); },
          .phases = [](const Task& t) { return std::vector{nvls(t.nodes, t.placement)}; },
          .automatic_from = 3,
          .last_protocol = Protocol::simple},
    Entry{
        .algorithm = Algorithm::sharp,
        .can_do =
            [](const Task& t) { return is_all_reduce(t.kind) && has_sharp(t.nodes, t.placement); },
        .phases = [](const Task& t) { return std::vector{sharp(t.nodes, t.placement)}; },
        .automatic_from = 2,
        .last_protocol = Protocol::simple},
    Entry{.algorithm = Algorithm::hierarchical,
          .can_do = has_layers,
          .phases = hierarchically,
          .automatic_from = never,
          .last_protocol = Protocol::ll128},
    // NCCL sends from rank to rank without LL128.
    Entry{.algorithm = Algorithm::direct,
          .can_do = [](const Task& t) { return !is_ring_only(t.kind); },
          .phases = directly,
          .automatic_from = never,
          .last_protocol = Protocol::ll},
};

static_assert(table.size() + 1 == config::algorithm_names.size(), "automatic alone has no entry");

const Entry& entry_of(Algorithm algorithm) {
  return *std::ranges::find(table, algorithm, &Entry::algorithm);
}

// What is asked for, or what it gives way to where it does not know the collective.
const Entry& settle(Algorithm algorithm, const Task& task) {
  for (const Algorithm one : {algorithm, Algorithm::ring})
    if (one != Algorithm::automatic && entry_of(one).can_do(task)) return entry_of(one);
  return entry_of(Algorithm::direct);
}

std::vector<Protocol> protocols_of(Collective kind, const Entry& entry,
                                   const RankPlacement& placement) {
  const bool direct = kind == Collective::ring_exchange;  // goes as a send and a receive
  std::vector<Protocol> protocols{Protocol::simple};
  for (const Protocol more : {Protocol::ll, Protocol::ll128})
    if (more <= (direct ? std::min(entry.last_protocol, Protocol::ll) : entry.last_protocol) &&
        placement.model().has(more))
      protocols.push_back(more);
  return protocols;
}

// By node, and in a node in the order of its fastest ring.
Nodes nodes_of(std::span<const std::uint32_t> members, const RankPlacement& placement) {
  Nodes nodes = placement.by_node(members);
  for (std::vector<std::uint32_t>& node : nodes)
    node = channels_in_node(node, placement).front().ranks;
  return nodes;
}

std::vector<const Entry*> candidates(const Task& task, Algorithm algorithm) {
  std::vector<const Entry*> all;
  if (algorithm == Algorithm::automatic)
    for (const Entry& one : table)
      if (task.members.size() >= one.automatic_from && one.can_do(task)) all.push_back(&one);
  if (all.empty()) all.push_back(&settle(algorithm, task));
  return all;
}

}  // namespace

std::vector<AlgorithmChoice> algorithm_choices(const workload::Operation& operation,
                                               std::span<const std::uint32_t> members,
                                               Algorithm algorithm,
                                               const RankPlacement& placement) {
  if (members.size() < 2) return {};
  const Collective kind = operation.kind;
  const Task task{kind,    operation.dispatch,           operation.parts,
                  members, nodes_of(members, placement), placement};
  std::vector<AlgorithmChoice> all;
  for (const Entry* one : candidates(task, algorithm)) {
    AlgorithmChoice& choice = all.emplace_back(
        AlgorithmChoice{one->algorithm, protocols_of(kind, *one, placement), one->phases(task)});
    if (choice.phases.empty()) continue;
    const cluster::MessageModel& model = placement.model();
    ByProtocol& latency = choice.phases.front().latency;
    for (double& seconds : latency) seconds += model.launch;
    // What switches take holds it already.
    if (!choice.phases.front().is_raw) latency.front() += model.simple_launch;
    latency[static_cast<std::size_t>(Protocol::ll128)] += model.ll128_launch;
  }
  return all;
}

std::string to_string(const AlgorithmProtocol& choice) {
  return fmt::format("{}, {}", config::to_string(choice.algorithm),
                     cluster::to_string(choice.protocol));
}

}  // namespace pipewright::execution
