#include "sim/execution/collectives/algorithm_choice.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

using workload::Collective;

// Collective for which an algorithm is chosen, scaled to one byte.
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

std::vector<PhaseCost> ring_phases(const Task& task) {
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

// True for collectives whose messages differ: between the root and each member, or with a size for
// each pair.
bool has_individual_messages(const Task& task) {
  return task.kind == Collective::gather || task.kind == Collective::scatter || !task.parts.empty();
}
std::vector<Flow> individual_messages(const Task& task) {
  const std::span<const std::uint32_t> members = task.members;
  std::vector<Flow> messages;
  if (task.parts.empty()) {
    for (const std::uint32_t member : members.subspan(1))
      messages.push_back(task.kind == Collective::gather
                             ? Flow{member, members.front(), 1 / task.ranks()}
                             : Flow{members.front(), member, 1 / task.ranks()});
    return messages;
  }
  for (std::size_t step = 1; step < members.size(); ++step)
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::size_t destination = (i + step) % members.size();
      const double part = task.parts[i * members.size() + destination];
      if (part > 0) messages.push_back({members[i], members[destination], part});
    }
  return messages;
}

std::vector<PhaseCost> direct_phases(const Task& task) {
  const std::size_t n = task.members.size();
  if (task.kind == Collective::send_recv || task.kind == Collective::pairwise) {
    const std::size_t stride = task.kind == Collective::send_recv ? 1 : n / 2;
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < (stride == 1 ? n : 2 * stride); ++i)
      flows.push_back(
          {task.members[i], task.members[(i + stride) % (stride == 1 ? n : 2 * stride)], 1});
    PhaseCost cost = at_once(std::move(flows), task.placement);
    cost.is_direct = false;  // each rank has one partner
    return {std::move(cost)};
  }
  if (task.kind == Collective::dispatch)
    return {dispatch_tokens(task.nodes, task.dispatch, task.placement)};
  const PeerForwarding forwarding(task.nodes, task.placement);
  if (has_individual_messages(task))
    return {by_peers(individual_messages(task), task.nodes, forwarding, task.placement)};
  PhaseCost cost = forwarding.is_used()
                       ? pairs_by_peers(task.nodes, forwarding, 1 / task.ranks(), task.placement)
                       : pairs(task.in_order(), 1 / task.ranks(), task.placement);
  // Each rank also copies its own part of an all-to-all. The copy takes no extra time beside
  // messages to other nodes.
  if (task.kind == Collective::all_to_all && task.nodes.size() == 1)
    cost.ends = task.placement.model().direct_ends / (task.ranks() - 1);
  if (is_all_reduce(task.kind)) return {cost, cost};
  return {cost};
}

std::vector<PhaseCost> hierarchical_phases(const Task& task) {
  const Nodes rails = rails_of(task.nodes);
  const auto nodes = static_cast<double>(task.nodes.size());
  const auto rail_count = static_cast<double>(rails.size());
  // Data for ranks of other nodes goes first to the rank of the sender's node that shares their
  // rail (position).
  if (task.kind == Collective::all_to_all)
    return {pairs(task.nodes, 1 / rail_count, task.placement),
            pairs(rails, 1 / nodes, task.placement)};

  const PhaseCost inside =
      rings_inside(task.nodes, (rail_count - 1) / rail_count, rail_count - 1, task.placement);
  const double times = is_all_reduce(task.kind) ? 2 : 1;
  const PhaseCost outside = rings_over(rails, times * (nodes - 1) / nodes / rail_count,
                                       times * (nodes - 1), task.placement);
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
bool can_be_hierarchical(const Task& task) {
  const bool is_even_exchange = task.kind == Collective::all_to_all && task.parts.empty();
  return task.nodes.size() > 1 && members_per_node(task.nodes) > 1 && !is_ring_only(task.kind) &&
         (is_even_exchange || !is_direct_only(task.kind));
}

bool can_use_torus(const Task& task) {
  return (is_all_reduce(task.kind) || task.kind == Collective::all_gather ||
          task.kind == Collective::reduce_scatter) &&
         find_torus(task.members, task.placement).has_value();
}

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

// Properties of an algorithm. Where NCCL expects equal times, the first entry of the table wins.
struct AlgorithmEntry {
  Algorithm algorithm;
  bool (*can_run)(const Task&);
  std::vector<PhaseCost> (*phases)(const Task&);
  // Smallest number of ranks for which NCCL considers the algorithm.
  std::size_t automatic_from;
  // Last supported protocol in the order Simple, LL, LL128.
  Protocol last_protocol;
};
constexpr std::array algorithm_table{
    AlgorithmEntry{.algorithm = Algorithm::ring,
                   .can_run = [](const Task& t) { return !is_direct_only(t.kind); },
                   .phases = ring_phases,
                   .automatic_from = 2,
                   .last_protocol = Protocol::ll128},
    AlgorithmEntry{.algorithm = Algorithm::tree,
                   .can_run = [](const Task& t) { return is_all_reduce(t.kind); },
                   .phases = [](const Task& t) { return std::vector{tree(t.nodes, t.placement)}; },
                   .automatic_from = 3,
                   .last_protocol = Protocol::ll128},
    // Only the Simple protocol: switches reduce whole chunks.
    AlgorithmEntry{
        .algorithm = Algorithm::nvls,
        .can_run =
            [](const Task& t) { return is_all_reduce(t.kind) && has_nvls(t.nodes, t.placement); },
        .phases = [](const Task& t) { return std::vector{nvls(t.nodes, t.placement)}; },
        .automatic_from = 3,
        .last_protocol = Protocol::simple},
    AlgorithmEntry{
        .algorithm = Algorithm::sharp,
        .can_run =
            [](const Task& t) { return is_all_reduce(t.kind) && has_sharp(t.nodes, t.placement); },
        .phases = [](const Task& t) { return std::vector{sharp(t.nodes, t.placement)}; },
        .automatic_from = 2,
        .last_protocol = Protocol::simple},
    AlgorithmEntry{.algorithm = Algorithm::hierarchical,
                   .can_run = can_be_hierarchical,
                   .phases = hierarchical_phases,
                   .automatic_from = never,
                   .last_protocol = Protocol::ll128},
    AlgorithmEntry{.algorithm = Algorithm::torus,
                   .can_run = can_use_torus,
                   .phases =
                       [](const Task& t) {
                         return torus_phases(*find_torus(t.members, t.placement), t.kind,
                                             t.placement);
                       },
                   .automatic_from = 2,
                   .last_protocol = Protocol::ll128},
    // NCCL does not use LL128 for direct messages between ranks.
    AlgorithmEntry{.algorithm = Algorithm::direct,
                   .can_run = [](const Task& t) { return !is_ring_only(t.kind); },
                   .phases = direct_phases,
                   .automatic_from = never,
                   .last_protocol = Protocol::ll},
};

static_assert(algorithm_table.size() + 1 == config::algorithm_names.size(),
              "automatic alone has no entry");

const AlgorithmEntry& entry_of(Algorithm algorithm) {
  return *std::ranges::find(algorithm_table, algorithm, &AlgorithmEntry::algorithm);
}

// Table entry of the requested algorithm, or of its replacement if it does not support the
// collective.
const AlgorithmEntry& supported_entry(Algorithm algorithm, const Task& task) {
  for (const Algorithm option : {algorithm, Algorithm::ring})
    if (option != Algorithm::automatic && entry_of(option).can_run(task)) return entry_of(option);
  return entry_of(Algorithm::direct);
}

std::vector<Protocol> protocols_of(Collective kind, const AlgorithmEntry& entry,
                                   const RankPlacement& placement) {
  // A ring exchange runs as a send and a receive.
  const bool direct = kind == Collective::ring_exchange;
  std::vector<Protocol> protocols{Protocol::simple};
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128})
    if (protocol <= (direct ? std::min(entry.last_protocol, Protocol::ll) : entry.last_protocol) &&
        placement.model().has(protocol))
      protocols.push_back(protocol);
  return protocols;
}

// Ranks by node; inside a node in the order of its fastest ring.
Nodes ordered_nodes(std::span<const std::uint32_t> members, const RankPlacement& placement) {
  Nodes nodes = placement.by_node(members);
  for (std::vector<std::uint32_t>& node : nodes)
    node = channels_in_node(node, placement).front().ranks;
  return nodes;
}

std::vector<const AlgorithmEntry*> candidate_entries(const Task& task, Algorithm algorithm) {
  std::vector<const AlgorithmEntry*> entries;
  if (algorithm == Algorithm::automatic)
    for (const AlgorithmEntry& entry : algorithm_table)
      if (task.members.size() >= entry.automatic_from && entry.can_run(task))
        entries.push_back(&entry);
  if (entries.empty()) entries.push_back(&supported_entry(algorithm, task));
  return entries;
}

}  // namespace

std::vector<AlgorithmChoice> algorithm_choices(const workload::Operation& operation,
                                               std::span<const std::uint32_t> members,
                                               Algorithm algorithm,
                                               const RankPlacement& placement) {
  if (members.size() < 2) return {};
  const Collective kind = operation.kind;
  const Task task{
      kind,     operation.dispatch, operation.parts, members, ordered_nodes(members, placement),
      placement};
  std::vector<AlgorithmChoice> choices;
  for (const AlgorithmEntry* entry : candidate_entries(task, algorithm)) {
    AlgorithmChoice& choice = choices.emplace_back(AlgorithmChoice{
        entry->algorithm, protocols_of(kind, *entry, placement), entry->phases(task)});
    if (choice.phases.empty()) continue;
    const cluster::MessageModel& model = placement.model();
    ByProtocol& latency = choice.phases.front().latency;
    for (double& seconds : latency) seconds += model.launch;
    // The latency of switches already includes the launch of a kernel with the Simple protocol.
    if (!choice.phases.front().is_raw) latency.front() += model.simple_launch;
    latency[static_cast<std::size_t>(Protocol::ll128)] += model.ll128_launch;
  }
  return choices;
}

std::string to_string(const AlgorithmProtocol& choice) {
  return fmt::format("{}, {}", config::to_string(choice.algorithm),
                     cluster::to_string(choice.protocol));
}

}  // namespace pipewright::execution
