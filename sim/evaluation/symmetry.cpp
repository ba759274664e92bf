#include "sim/evaluation/symmetry.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/evaluation/placing.hpp"
#include "sim/execution/replica_kinds.hpp"

namespace pipewright::evaluation {
namespace {

using cluster::Cluster;
using cluster::Host;
using workload::Ranks;

// Position of a GPU in a part of the cluster: a node, or the nodes of a leaf or of a pod.
struct Position {
  std::size_t part = 0;   // first node of the part
  std::size_t index = 0;  // of the GPU in its node, or of the node in its leaf or pod
  std::size_t size = 0;   // of the node, leaf or pod
};

// Parts of a cluster whose members are nearer to each other than to the next part: nodes, then
// leaves and pods, which routes between successive nodes tell apart by their numbers of links.
class Parts {
 public:
  explicit Parts(const Cluster& cluster) : cluster_(cluster) {
    const auto& nodes = cluster.nodes();
    std::vector<std::size_t> links{0};  // between a node and the previous one
    for (std::size_t node = 1; node < nodes.size(); ++node)
      links.push_back(links_between(nodes[node - 1].front(), nodes[node].front()));
    const std::set<std::size_t> distinct(links.begin() + 1, links.end());
    for (const std::size_t level : distinct)
      if (level != *distinct.rbegin() && positions_.size() + 1 < names.size())
        positions_.push_back(positions(links, level));
  }

  static constexpr std::array<std::string_view, 3> names{"node", "leaf", "pod"};
  std::size_t kinds() const { return positions_.size() + 1; }
  // Position in the node (kind 0), leaf (1) or pod (2) of a GPU.
  Position position(const Host* gpu, std::size_t kind) const {
    const std::uint32_t node = cluster_.node_of(gpu);
    if (kind == 0) return {node, gpu->local_index, cluster_.nodes()[node].size()};
    return positions_[kind - 1][node];
  }

 private:
  std::size_t links_between(const Host* from, const Host* to) const {
    try {
      return cluster_.route(from, to).path().size();
    } catch (const cluster::Error&) {  // as if far apart
      return std::size_t{1} << 16U;
    }
  }

  // Positions of nodes in the runs of nodes that no more than `level` links separate.
  static std::vector<Position> positions(const std::vector<std::size_t>& links, std::size_t level) {
    std::vector<Position> positions(links.size());
    for (std::size_t first = 0, end = 0; first < links.size(); first = end) {
      end = first + 1;
      while (end < links.size() && links[end] <= level) ++end;
      for (std::size_t node = first; node < end; ++node)
        positions[node] = {first, node - first, end - first};
    }
    return positions;
  }

  const Cluster& cluster_;
  std::vector<std::vector<Position>> positions_;  // by kind from leaves on, and node
};

// Device or replica that begins in the middle of a part and ends in another one, so that some of
// its copies or devices are in one part and some in the next.
struct Misplaced {
  std::string text;
  bool is_in_node = false;
};
// First such device or replica, in the smallest parts where there is one.
std::optional<Misplaced> find_misplaced(const Ranks& ranks, const std::vector<Host*>& hosts,
                                        const Parts& parts) {
  // True if the ranks of a replica follow each other, instead of the ranks of a device.
  const bool by_replica =
      ranks.replicas() > 1 && ranks.rank_of({1, 0}, 0) * ranks.replicas() == ranks.size();
  const std::uint32_t count = by_replica ? ranks.replicas() : ranks.devices();
  const auto start = [&](std::uint32_t i) {
    if (i == count) return ranks.size();
    return by_replica ? ranks.rank_of({i, 0}, 0) : ranks.rank_of({0, i}, 0);
  };
  for (std::size_t kind = 0; kind < parts.kinds(); ++kind)
    for (std::uint32_t i = 1; i < count; ++i) {
      const Host* const first = hosts[start(i)];
      const Position position = parts.position(first, kind);
      const Position end = parts.position(hosts[start(i + 1) - 1], kind);
      if (position.index == 0 || position.part == end.part) continue;
      return Misplaced{fmt::format("{} {} begins in the middle of a {} (at {}, {} {} of {}) and "
                                   "ends in another one",
                                   by_replica ? "replica" : "device", i, Parts::names[kind],
                                   cluster::name_of(first), kind == 0 ? "GPU" : "node",
                                   position.index + 1, position.size),
                       kind == 0};
    }
  return std::nullopt;
}

// Looks for keys of a scenario with which all replicas of a job are alike.
class Remedies {
 public:
  Remedies(const config::Scenario& scenario, const Hardware& hardware, const execution::Job& job,
           const Parts& parts)
      : scenario_(scenario), hardware_(hardware), job_(job), parts_(parts) {}

  // Number of GPUs per node that leaves whole tensor-parallel groups, for nodes of more GPUs.
  std::optional<std::string> domain() {
    if (!scenario_.placement.hosts.empty() || scenario_.placement.domain) return std::nullopt;
    std::size_t largest = 0;
    for (const auto& node : hardware_.cluster.nodes()) largest = std::max(largest, node.size());
    const std::uint32_t step = hardware_.ranks.ranks_per_stage();
    config::Scenario changed = scenario_;
    for (std::size_t gpus = (largest - 1) / step * step; gpus >= step; gpus -= step) {
      changed.placement.domain = {static_cast<std::uint32_t>(gpus), {}};
      if (makes_alike(changed)) return fmt::format("placement.domain={}", gpus);
    }
    return std::nullopt;
  }

  // Largest smaller number of replicas, of several.
  std::optional<std::string> replicas() {
    if (scenario_.parallel.shard || !scenario_.placement.hosts.empty()) return std::nullopt;
    config::Scenario changed = scenario_;
    for (std::uint32_t dp = hardware_.ranks.replicas() - 1; dp > 1; --dp) {
      changed.parallel.dp.value = dp;
      if (!makes_alike(changed)) continue;
      const std::uint64_t samples = std::uint64_t{dp} * scenario_.training.microbatch_size;
      const bool divides = !scenario_.global_batch || scenario_.global_batch->value % samples == 0;
      return fmt::format("parallel.dp={} ({} GPUs{})", dp, Ranks(changed.parallel).size(),
                         divides ? "" : fmt::format(", global_batch a multiple of {}", samples));
    }
    return std::nullopt;
  }

 private:
  bool makes_alike(const config::Scenario& changed) {
    if (tries_ == 0) return false;
    try {
      execution::Job job = job_;
      job.ranks = Ranks(changed.parallel);
      job.hosts = place(changed, job.cluster, *job.ranks);
      if (find_misplaced(*job.ranks, job.hosts, parts_)) return false;
      --tries_;
      const execution::RankPlacement placement(job.cluster, job.hosts);
      return execution::find_replica_kinds(job, placement).simulated.size() == 1;
    } catch (const config::StructuredError&) {  // no such layout
      return false;
    }
  }

  const config::Scenario& scenario_;
  const Hardware& hardware_;
  const execution::Job& job_;
  const Parts& parts_;
  // Limit of placements whose routes are looked up: fewer for large jobs, so that it takes a second
  // at most.
  std::uint32_t tries_ = std::clamp((1U << 17U) / hardware_.ranks.size(), 1U, 16U);
};

// Says where the placement of replicas differs, and with which keys it would not.
std::string difference(const config::Scenario& scenario, const Hardware& hardware,
                       const workload::Plan& plan) {
  const execution::Job job = plain_job(scenario, hardware, plan.schedule, plan.costs);
  const Parts parts(hardware.cluster);
  const auto misplaced = find_misplaced(hardware.ranks, hardware.hosts, parts);
  std::string text = misplaced ? "; " + misplaced->text : "";
  Remedies remedies(scenario, hardware, job, parts);
  std::vector<std::string> keys;
  if (misplaced && misplaced->is_in_node)
    if (auto key = remedies.domain()) keys.push_back(std::move(*key));
  if (auto key = remedies.replicas()) keys.push_back(std::move(*key));
  if (!keys.empty())
    text += fmt::format("; with {} all replicas are alike", fmt::join(keys, ", or with "));
  return text;
}

std::string exactness(execution::Reduction::Likeness likeness) {
  using Likeness = execution::Reduction::Likeness;
  switch (likeness) {
    case Likeness::place:
      return "exact, since messages and collectives of a kind cross equivalent links at the same "
             "times";
    case Likeness::messages_but_not_work:
      return "not exact, since replicas have different work: the first one stands for all, and has "
             "most";
    case Likeness::messages:
      break;
  }
  return "not exact, since collectives meet some replicas of a kind and not others: in 200 random "
         "jobs the time was off by 1.1 % at most";
}

}  // namespace

std::string reduction_note(const config::Scenario& scenario, const Hardware& hardware,
                           const workload::Plan& plan, const execution::Reduction& reduction) {
  const auto& [replicas, simulated, likeness] = reduction;
  if (replicas == 1 || (simulated == replicas && !scenario.symmetric) ||
      hardware.cluster.is_ideal() || engine_of(scenario) != execution::EngineKind::simgrid)
    return "";
  std::string note = "replicas: ";
  if (simulated == replicas)
    note += fmt::format("all {} were simulated, since each is of a kind of its own", replicas);
  else if (simulated == 1)
    note += fmt::format("one was simulated for all {}", replicas);
  else
    note += fmt::format("one of each of {} kinds was simulated for all {}", simulated, replicas);
  if (simulated < replicas) note += "; " + exactness(likeness);
  if (scenario.symmetric && simulated > 1) note += difference(scenario, hardware, plan);
  return note;
}

}  // namespace pipewright::evaluation
