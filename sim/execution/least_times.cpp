#include "sim/execution/least_times.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "sim/execution/exposed_time.hpp"

namespace pipewright::execution {

LeastTimes::LeastTimes(const Job& job, Sharing sharing)
    : placement_(job.cluster, job.hosts),
      cuts_boundary_(job.conditions.cuts_boundary),
      links_vary_(!job.conditions.variation.links.empty()),
      sharing_(sharing) {
  if (!job.ranks) return;
  replicas_ = job.ranks->replicas();
  groups_ = std::make_shared<ProcessGroups>(*job.ranks, first_replicas(job));
}

LeastTimes LeastTimes::of_first_replica() const {
  LeastTimes times = *this;
  times.replicas_ = 1;
  times.counts_ops_ = false;
  times.calls_.clear();
  return times;
}

LeastTimes LeastTimes::of_ranks(std::size_t ranks) const {
  LeastTimes times = *this;
  times.most_ranks_ = ranks;
  times.calls_.clear();
  times.ops_.clear();
  return times;
}

// Counts the first groups, whose ranks share nodes and so the links that groups share most.
LeastTime LeastTimes::least_time(const workload::Operation& operation, const RankGroups& groups,
                                 Algorithm algorithm) const {
  std::size_t ranks = 0;
  std::size_t count = 0;
  while (count < groups.size() && ranks < most_ranks_) ranks += groups[count++].size();
  if (count == groups.size()) return {operation, groups, algorithm, placement_, models_sharing()};
  return {operation, RankGroups(groups.begin(), groups.begin() + std::ptrdiff_t(count)), algorithm,
          placement_, models_sharing()};
}

// The tensor has arrived when the last GPU's part has. No link carries its flows faster than its
// bandwidth.
LeastTimes::Hop LeastTimes::find_hop(ReplicaDevice source, std::uint32_t destination) const {
  std::vector<workload::Ranks::Part> parts{{source.device, destination}};
  if (groups_ != nullptr) parts = groups_->ranks().hop(source, destination, cuts_boundary_);
  if (sharing_ == Sharing::ignored) parts.resize(1);
  Hop hop;
  LinkLoads flows(placement_);  // loads per byte sent by a rank of the larger device
  for (const workload::Ranks::Part& part : parts) {
    const cluster::Route route = placement_.route(part.source, part.destination);
    hop.latency = std::max(hop.latency, placement_.message_latency(route));
    flows.add(route, part.parts);
  }
  hop.seconds_per_byte = flows.busiest_seconds().front();
  return hop;
}

double LeastTimes::hop(ReplicaDevice source, std::uint32_t destination, std::uint64_t bytes) {
  const auto key = std::pair(source, destination);
  auto it = hops_.find(key);
  if (it == hops_.end()) it = hops_.emplace(key, find_hop(source, destination)).first;
  return it->second.latency + static_cast<double>(bytes) * it->second.seconds_per_byte;
}

double LeastTimes::seconds(const std::vector<CollectiveOp>& ops, Algorithm algorithm) {
  double sum = 0;
  if (!counts_ops_) return sum;
  for (const CollectiveOp& op : ops) {
    if (op.bytes == 0) continue;
    const OpKey key{op.groups, op.collective, algorithm};
    auto it = ops_.find(key);
    if (it == ops_.end())
      it = ops_.emplace(key, least_time(op.collective, *op.groups, algorithm)).first;
    sum += op.times * it->second.seconds(op.bytes);
  }
  return sum;
}

// Groups inside a node are on links of their own, so one such group stands for all of the same size
// and GPU type, together with the groups in the same node. With fewer flows the bound stays a lower
// bound.
RankGroups LeastTimes::groups_of(workload::Group kind, std::uint32_t device) const {
  const workload::Ranks& ranks = groups_->ranks();
  RankGroups groups;
  std::set<std::uint32_t> numbers;
  using SizeAndGpu = std::pair<std::size_t, std::string>;
  std::map<SizeAndGpu, std::uint32_t> node_of;  // node of the first group
  const auto is_superfluous = [&](const std::vector<std::uint32_t>& group) {
    const std::uint32_t node = placement_.node(group.front());
    if (links_vary_ || std::ranges::any_of(group, [&](std::uint32_t rank) {
          return placement_.node(rank) != node;
        }))
      return false;
    const SizeAndGpu size_and_gpu{group.size(), cluster::gpu_of(placement_.host(group.front()))};
    return node_of.try_emplace(size_and_gpu, node).first->second != node;
  };
  for (std::uint32_t replica = 0; replica < replicas_; ++replica) {
    const std::uint32_t number = groups_->process_group_of(kind, {replica, device});
    if (!numbers.insert(number).second) continue;
    for (const auto& group : groups_->process_group(kind, number).groups) {
      const bool is_own = std::ranges::any_of(
          group, [&](std::uint32_t rank) { return ranks.of(rank).pp == device; });
      if (is_own && !is_superfluous(group)) groups.push_back(group);
    }
  }
  return groups;
}

double LeastTimes::seconds(const workload::Call& call, std::uint32_t device, Algorithm algorithm) {
  if (call.bytes == 0 || groups_->ranks().group_size(call.group, device) < 2) return 0;
  const CallKey key{call.group, device, call.collective, algorithm};
  auto it = calls_.find(key);
  if (it == calls_.end())
    it = calls_.emplace(key, least_time(call.collective, groups_of(call.group, device), algorithm))
             .first;
  return it->second.seconds(call.bytes);
}

void add_least_exposed_time(const Job& job, LeastTimes& least_times, workload::StageCosts& costs) {
  add_exposed_time(job, costs, [&](const workload::Call& call, std::uint32_t device) {
    return least_times.seconds(call, device, job.conditions.communication.all_reduce);
  });
}

}  // namespace pipewright::execution
