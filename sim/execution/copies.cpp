#include "sim/execution/copies.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/workload/by_stage.hpp"

namespace pipewright::execution {

using workload::Collective;
using workload::Group;

constexpr std::uint64_t weight_element = 2;  // bytes, in bf16

Copies::Copies(const Job& job) : job_(job) {
  if (!job.ranks) return;
  const schedules::Routes& routes = job.schedule.routes;
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    holders_.push_back(workload::devices_of(routes, stage));
    if (holders_.back().size() > 1 && job.conditions.zero >= 2 && !job.costs.traffic.empty())
      throw schedules::Error(fmt::format(
          "{} keeps stage {} on devices {}, which see microbatches of their own, and ZeRO-{} lets "
          "all copies of a stage talk after each; allowed: zero 0 or 1",
          job.schedule.name, stage, fmt::join(holders_.back(), " and "), job.conditions.zero));
  }
  for (const Group kind : {Group::tp, Group::cp, Group::ep, Group::dp, Group::edp})
    parties_[static_cast<std::size_t>(kind)] = split(kind);
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    dense_.push_back(of_stage(Group::dp, stage));
    experts_.push_back(of_stage(Group::edp, stage));
  }
  embedding_.resize(job.replicas());
  for (auto& group : job.ranks->groups(Group::embedding))
    embedding_[job.ranks->of(group.front()).dp].push_back(std::move(group));
  if (job.ranks->size() == 1 || !job.conditions.communication.global_norm) return;
  // The norm is one number, summed up along a tree and handed back.
  const cluster::Route way = job.cluster.route(job.hosts.front(), job.hosts.back());
  norm_latency_ = 2 * std::ceil(std::log2(job.ranks->size())) * way.latency;
}

// Units that share a group are in one party, by way of others as well.
Copies::Parties Copies::split(Group kind) const {
  const workload::Ranks& ranks = *job_.ranks;
  const std::uint32_t devices = job_.schedule.devices;
  const auto unit = [&](std::uint32_t rank) {
    const workload::Coordinates at = ranks.of(rank);
    return std::size_t{at.dp} * devices + at.pp;
  };
  std::vector<std::size_t> root(std::size_t{ranks.replicas()} * devices);
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](std::size_t at) {
    while (root[at] != at) at = root[at] = root[root[at]];
    return at;
  };
  auto groups = ranks.groups(kind);
  for (const auto& group : groups)
    for (const std::uint32_t rank : group) {
      const std::size_t a = find(unit(rank));
      const std::size_t b = find(unit(group.front()));
      root[std::max(a, b)] = std::min(a, b);
    }

  Parties parties;
  std::vector<std::uint32_t> number(root.size());
  for (std::size_t at = 0; at < root.size(); ++at) {
    const std::size_t first = find(at);  // at the most `at`
    if (first == at) {
      number[at] = static_cast<std::uint32_t>(parties.all.size());
      parties.all.emplace_back();
    }
    parties.of_unit.push_back(number[first]);
    if (at / devices < job_.simulated_replicas()) ++parties.all[number[first]].members;
  }
  for (auto& group : groups) {
    const std::size_t at = unit(group.front());
    parties.all[parties.of_unit[at]].groups.push_back(std::move(group));
  }
  return parties;
}

std::uint32_t Copies::party_of(Group kind, Unit unit) const {
  return parties_[static_cast<std::size_t>(kind)]
      .of_unit[std::size_t{unit.replica} * job_.schedule.devices + unit.device];
}

// All who hold a stage: the copies of a device, and, where the stage lives on two devices, those of
// the other, rank by rank.
Copies::Party Copies::of_stage(Group kind, std::uint32_t stage) const {
  Party all;
  for (const std::uint32_t device : holders_[stage]) {
    // Experts' parties may be several on a device.
    std::set<std::uint32_t> numbers;
    for (std::uint32_t replica = 0; replica < job_.replicas(); ++replica)
      numbers.insert(party_of(kind, {replica, device}));
    Groups groups;
    for (const std::uint32_t number : numbers) {
      const Party& one = parties_[static_cast<std::size_t>(kind)].all[number];
      all.members += one.members;
      groups.insert(groups.end(), one.groups.begin(), one.groups.end());
    }
    all.groups.resize(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i)
      all.groups[i].insert(all.groups[i].end(), groups[i].begin(), groups[i].end());
  }
  return all;
}

bool Copies::has(std::uint32_t stage) const {
  return job_.ranks && !job_.costs.traffic.empty() && dense_[stage].groups.front().size() > 1;
}

std::uint64_t Copies::gradient_bytes(std::uint32_t stage) const {
  const workload::StageTraffic& traffic = job_.costs.traffic[stage];
  return (traffic.parameters + traffic.expert_parameters) *
         job_.conditions.communication.gradient_bytes / parts(stage);
}

std::uint64_t Copies::weight_bytes(std::uint32_t stage) const {
  const workload::StageTraffic& traffic = job_.costs.traffic[stage];
  return (traffic.parameters + traffic.expert_parameters) * weight_element;
}

std::uint64_t Copies::embedding_bytes() const {
  if (!job_.ranks || job_.costs.traffic.empty()) return 0;
  return job_.costs.traffic.front().embedding_parameters *
         job_.conditions.communication.gradient_bytes;
}

std::uint32_t Copies::parts(std::uint32_t stage) const {
  const std::uint64_t bytes =
      job_.costs.traffic[stage].parameters * job_.conditions.communication.gradient_bytes;
  const std::uint64_t bucket =
      config::bucket_bytes(job_.conditions.communication, job_.ranks->group_size(Group::dp));
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (bytes + bucket - 1) / bucket));
}

std::vector<Copies::Leg> Copies::over_copies(Collective collective, std::uint32_t stage,
                                             double bytes_of_parameter) const {
  const workload::StageTraffic& traffic = job_.costs.traffic[stage];
  const auto bytes = [&](std::uint64_t parameters) {
    return static_cast<std::uint64_t>(static_cast<double>(parameters) * bytes_of_parameter);
  };
  return {{&dense_[stage].groups, collective, bytes(traffic.parameters)},
          {&experts_[stage].groups, collective, bytes(traffic.expert_parameters)}};
}

std::vector<Copies::Leg> Copies::gradients(std::uint32_t stage) const {
  return over_copies(
      job_.conditions.zero > 0 ? Collective::reduce_scatter : Collective::all_reduce, stage,
      static_cast<double>(job_.conditions.communication.gradient_bytes) / parts(stage));
}

std::vector<Copies::Leg> Copies::weights(std::uint32_t stage) const {
  return over_copies(Collective::all_gather, stage, weight_element);
}

bool Copies::ties_embeddings(std::uint32_t device) const {
  if (embedding_bytes() == 0) return false;
  const std::uint32_t first = holders_.front().front();
  const std::uint32_t last = holders_.back().front();
  return first != last && (device == first || device == last);
}

std::vector<Copies::Leg> Copies::embeddings(std::uint32_t replica) const {
  return {{&embedding_[replica], Collective::all_reduce, embedding_bytes()}};
}

}  // namespace pipewright::execution
