#include "sim/execution/least_times.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "sim/execution/exposed_time.hpp"

namespace pipewright::execution {

LeastTimes::LeastTimes(const Job& job, Sharing sharing)
    : placement_(job.cluster, job.hosts), devices_(job.schedule.devices), sharing_(sharing) {
  for (std::uint32_t replica = 0; replica < job.replicas(); ++replica)
    for (std::uint32_t device = 0; device < devices_; ++device) {
      std::vector<std::uint32_t>& ranks = ranks_.emplace_back();
      for (std::uint32_t member = 0; member < job.ranks_per_stage(); ++member)
        ranks.push_back(job.rank({replica, device}, member));
    }
  if (job.ranks) groups_ = std::make_shared<ProcessGroups>(*job.ranks, job.simulated_replicas());
}

// The tensor is there when the part of the last of its GPUs is, which no link carries faster than
// it can.
LeastTimes::Hop LeastTimes::find_hop(ReplicaDevice source, std::uint32_t destination) const {
  const auto& from = ranks_[std::size_t{source.replica} * devices_ + source.device];
  const auto& to = ranks_[std::size_t{source.replica} * devices_ + destination];
  Hop hop;
  LinkLoads flows(placement_);  // of one byte each
  const std::size_t members = sharing_ == Sharing::known ? from.size() : 1;
  for (std::size_t member = 0; member < members; ++member) {
    const cluster::Route route = placement_.route(from[member], to[member]);
    hop.latency = std::max(hop.latency, placement_.message_latency(route));
    flows.add(route, 1);
  }
  hop.seconds_per_byte = flows.busiest_seconds().front();
  return hop;
}

double LeastTimes::hop(ReplicaDevice source, std::uint32_t destination, std::uint64_t bytes) {
  const auto key = std::pair(source, destination);
  auto known = hops_.find(key);
  if (known == hops_.end()) known = hops_.emplace(key, find_hop(source, destination)).first;
  return known->second.latency + static_cast<double>(bytes) * known->second.seconds_per_byte;
}

double LeastTimes::seconds(const std::vector<CollectiveOp>& ops, Algorithm algorithm) {
  double sum = 0;
  for (const CollectiveOp& op : ops) {
    if (op.bytes == 0) continue;
    const OpKey key{op.groups, op.collective, algorithm};
    auto known = ops_.find(key);
    if (known == ops_.end())
      known =
          ops_.emplace(key, LeastTime(op.collective, *op.groups, algorithm, placement_, together()))
              .first;
    sum += known->second.seconds(op.bytes);
  }
  return sum;
}

bool LeastTimes::touches(const std::vector<std::uint32_t>& group, std::uint32_t device) const {
  return std::ranges::any_of(
      group, [&](std::uint32_t rank) { return groups_->ranks().of(rank).pp == device; });
}

double LeastTimes::seconds(const workload::Call& call, std::uint32_t device, Algorithm algorithm) {
  if (call.bytes == 0 || groups_->ranks().group_size(call.group) < 2) return 0;
  const CallKey key{call.group, device, call.collective, algorithm};
  auto known = calls_.find(key);
  if (known == calls_.end()) {
    // The groups with GPUs of this device, in any replica.
    RankGroups groups;
    std::set<std::uint32_t> process_groups;
    for (std::uint32_t replica = 0; replica < groups_->ranks().replicas(); ++replica)
      if (const auto process_group = groups_->process_group_of(call.group, {replica, device});
          process_groups.insert(process_group).second)
        std::ranges::copy_if(groups_->process_group(call.group, process_group).groups,
                             std::back_inserter(groups),
                             [&](const auto& group) { return touches(group, device); });
    known =
        calls_.emplace(key, LeastTime(call.collective, groups, algorithm, placement_, together()))
            .first;
  }
  return known->second.seconds(call.bytes);
}

void add_least_exposed_time(const Job& job, LeastTimes& least, workload::StageCosts& costs) {
  add_exposed_time(job, costs, [&](const workload::Call& call, std::uint32_t device) {
    return least.seconds(call, device, job.conditions.communication.all_reduce);
  });
}

}  // namespace pipewright::execution
