#include "sim/execution/replica_kinds.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sim/execution/flows/fold.hpp"

namespace pipewright::execution {
namespace {

using workload::Group;

// Kinds of groups inside one replica whose collectives the run simulates, so that their routes tell
// replicas apart.
std::set<Group> simulated_groups(const Job& job) {
  std::set<Group> kinds;
  if (!job.ranks || job.costs.traffic.empty()) return kinds;
  if (job.costs.traffic.front().embedding_parameters > 0) kinds.insert(Group::embedding);
  if (!job.has_full_detail()) return kinds;
  for (const workload::StageTraffic& stage : job.costs.traffic)
    for (const std::vector<workload::Call>& calls : stage.inside)
      for (const workload::Call& call : calls) kinds.insert(call.group);
  return kinds;
}

// Rings over the groups of one kind that lie in one replica. Only their routes matter, so that all
// rings carry the same number of bytes. Odd numbers of kinds tell the rings from hops.
void add_rings(const Job& job, Group group_kind, HopPlans& plans,
               std::span<const std::uint32_t> kind_of_replica) {
  constexpr double bytes = 1U << 20U;
  for (const std::vector<std::uint32_t>& group : job.ranks->groups(group_kind)) {
    const std::uint32_t replica = job.ranks->of(group.front()).dp;
    const bool is_inside = std::ranges::all_of(
        group, [&](std::uint32_t rank) { return job.ranks->of(rank).dp == replica; });
    if (group.size() < 2 || !is_inside) continue;
    Phase ring;
    for (std::size_t i = 0; i < group.size(); ++i)
      ring.flows.push_back({group[i], group[(i + 1) % group.size()], bytes});
    plans.plans.push_back({std::move(ring)});
    plans.kinds.push_back(
        (std::uint64_t{kind_of_replica[replica]} << 32U | static_cast<std::uint64_t>(group_kind))
            << 1U |
        1U);
    plans.hops.push_back({{replica, job.ranks->of(group.front()).pp}, 0});
  }
}

// Numbers replicas by kind: replicas whose plans are in the same classes are of one kind.
std::vector<std::uint32_t> number_kinds(const HopPlans& plans,
                                        std::span<const std::uint64_t> classes,
                                        std::uint32_t replicas) {
  std::vector<std::vector<std::uint64_t>> classes_of(replicas);
  for (std::size_t i = 0; i < plans.hops.size(); ++i)
    classes_of[plans.hops[i].source.replica].push_back(classes[i]);
  std::map<std::vector<std::uint64_t>, std::uint32_t> numbers;
  std::vector<std::uint32_t> kind_of;
  for (std::vector<std::uint64_t>& of_replica : classes_of)
    kind_of.push_back(
        numbers.try_emplace(std::move(of_replica), static_cast<std::uint32_t>(numbers.size()))
            .first->second);
  return kind_of;
}

}  // namespace

HopPlans plan_hops(const Job& job, const RankPlacement& placement,
                   std::span<const std::uint32_t> kind_of_replica) {
  HopPlans plans;
  const auto pairs = job.schedule.routes.neighbours();
  for (std::uint32_t replica = 0; replica < job.replicas(); ++replica)
    for (const auto& [a, b] : pairs)
      for (const auto& [source, destination, parts] : job.hop({replica, a}, b)) {
        const double bytes = parts * static_cast<double>(job.costs.boundary_bytes);
        plans.plans.push_back(
            {{.flows = {{source, destination, bytes}},
              .latency = placement.message_latency(placement.route(source, destination))}});
        plans.kinds.push_back((std::uint64_t{kind_of_replica[replica]} << 32U | a << 16U | b)
                              << 1U);
        plans.hops.push_back({{replica, a}, b});
      }
  return plans;
}

// Telling replicas apart may tell the links apart that they share with others, and so further
// replicas: repeated until the number of kinds stays the same.
ReplicaKinds find_replica_kinds(const Job& job, const RankPlacement& placement) {
  ReplicaKinds kinds{
      .kind_of = std::vector<std::uint32_t>(job.replicas()), .simulated = {}, .are_alike = false};
  if (!job.symmetric) {
    std::iota(kinds.kind_of.begin(), kinds.kind_of.end(), 0U);
    kinds.simulated = kinds.kind_of;
    kinds.are_alike = true;
    return kinds;
  }
  const std::set<Group> groups = simulated_groups(job);
  for (bool changed = true; changed;) {
    HopPlans plans = plan_hops(job, placement, kinds.kind_of);
    for (const Group group : groups) add_rings(job, group, plans, kinds.kind_of);
    std::vector<std::uint32_t> kind_of =
        number_kinds(plans, classes_of_groups(placement, plans.plans, plans.kinds), job.replicas());
    changed = std::ranges::max(kind_of) > std::ranges::max(kinds.kind_of);
    kinds.kind_of = std::move(kind_of);
  }
  for (std::uint32_t replica = 0; replica < job.replicas(); ++replica)
    if (kinds.kind_of[replica] == kinds.simulated.size()) kinds.simulated.push_back(replica);
  return kinds;
}

}  // namespace pipewright::execution
