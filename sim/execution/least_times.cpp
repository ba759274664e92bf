#include "sim/execution/least_times.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>

#include "sim/cluster/simgrid.hpp"
#include "sim/execution/pass_waits.hpp"

namespace pipewright::execution {

LeastTimes::LeastTimes(const Job& job, Sharing sharing)
    : places_(job.cluster, job.hosts), devices_(job.schedule.devices), sharing_(sharing) {
  for (std::uint32_t replica = 0; replica < job.replicas(); ++replica)
    for (std::uint32_t device = 0; device < devices_; ++device) {
      std::vector<std::uint32_t>& ranks = lanes_.emplace_back();
      for (std::uint32_t lane = 0; lane < job.lanes(); ++lane)
        ranks.push_back(job.rank(replica, device, lane));
    }
  if (job.ranks) groups_ = std::make_shared<RankGroups>(*job.ranks, job.simulated_replicas());
}

// The tensor is there when the last lane's part is, which no link carries faster than it can.
LeastTimes::Hop LeastTimes::find_hop(std::uint32_t replica, std::uint32_t source,
                                     std::uint32_t destination) const {
  const auto& from = lanes_[std::size_t{replica} * devices_ + source];
  const auto& to = lanes_[std::size_t{replica} * devices_ + destination];
  Hop hop;
  std::unordered_map<const cluster::Link*, std::uint32_t> lanes;
  const std::size_t count_of_lanes = sharing_ == Sharing::known ? from.size() : 1;
  for (std::size_t lane = 0; lane < count_of_lanes; ++lane) {
    const cluster::Route route = places_.route(from[lane], to[lane]);
    hop.latency = std::max(hop.latency, places_.message_latency(route));
    for (const cluster::Link* link : route.links) {
      std::uint32_t& count = lanes[link];
      const bool shared = link->get_sharing_policy() != cluster::sg4::Link::SharingPolicy::FATPIPE;
      count = shared ? count + 1 : 1;
      hop.seconds_per_byte =
          std::max(hop.seconds_per_byte, count / cluster::Cluster::bandwidth_of(link));
    }
  }
  return hop;
}

double LeastTimes::hop(std::uint32_t replica, std::uint32_t source, std::uint32_t destination,
                       std::uint64_t bytes) {
  const auto key = std::tuple(replica, source, destination);
  auto known = hops_.find(key);
  if (known == hops_.end())
    known = hops_.emplace(key, find_hop(replica, source, destination)).first;
  return known->second.latency + static_cast<double>(bytes) * known->second.seconds_per_byte;
}

double LeastTimes::seconds(const std::vector<Copies::Leg>& legs, Algorithm algorithm) {
  double sum = 0;
  for (const Copies::Leg& leg : legs) {
    if (leg.bytes == 0) continue;
    const LegKey key{leg.groups, leg.collective, algorithm};
    auto known = legs_.find(key);
    if (known == legs_.end())
      known =
          legs_.emplace(key, LeastTime(leg.collective, *leg.groups, algorithm, places_, together()))
              .first;
    sum += known->second.seconds(leg.bytes);
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
    Copies::Groups groups;
    std::set<std::uint32_t> parties;
    for (std::uint32_t replica = 0; replica < groups_->ranks().replicas(); ++replica)
      if (const auto party = groups_->party_of(call.group, {replica, device});
          parties.insert(party).second)
        std::ranges::copy_if(groups_->party(call.group, party).groups, std::back_inserter(groups),
                             [&](const auto& group) { return touches(group, device); });
    known = calls_.emplace(key, LeastTime(call.collective, groups, algorithm, places_, together()))
                .first;
  }
  return known->second.seconds(call.bytes);
}

void add_least_waits(const Job& job, LeastTimes& least, workload::StageCosts& costs) {
  add_pass_waits(job, costs, [&](const workload::Call& call, std::uint32_t device) {
    return least.seconds(call, device, job.conditions.communication.all_reduce);
  });
}

}  // namespace pipewright::execution
