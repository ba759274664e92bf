#include "sim/execution/process_groups.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace pipewright::execution {

ProcessGroups::ProcessGroups(const workload::Ranks& ranks, std::uint32_t simulated_replicas)
    : ranks_(ranks), simulated_replicas_(simulated_replicas) {}

const ProcessGroups::GroupsOfKind& ProcessGroups::process_groups(Group kind) {
  GroupsOfKind& known = of_kind_[static_cast<std::size_t>(kind)];
  if (known.of_device.empty()) known = split(kind);
  return known;
}

// Device copies that share a group of ranks are in one process group, by way of others as well.
ProcessGroups::GroupsOfKind ProcessGroups::split(Group kind) const {
  const std::uint32_t devices = ranks_.devices();
  const auto who = [&](std::uint32_t rank) {
    const workload::Coordinates at = ranks_.of(rank);
    return std::size_t{at.dp} * devices + at.pp;
  };
  std::vector<std::size_t> root(std::size_t{ranks_.replicas()} * devices);
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](std::size_t at) {
    while (root[at] != at) at = root[at] = root[root[at]];
    return at;
  };
  auto groups = ranks_.groups(kind);
  for (const auto& group : groups)
    for (const std::uint32_t rank : group) {
      const std::size_t a = find(who(rank));
      const std::size_t b = find(who(group.front()));
      root[std::max(a, b)] = std::min(a, b);
    }

  GroupsOfKind process_groups;
  std::vector<std::uint32_t> number(root.size());
  for (std::size_t at = 0; at < root.size(); ++at) {
    const std::size_t first = find(at);  // at the most `at`
    if (first == at) {
      number[at] = static_cast<std::uint32_t>(process_groups.all.size());
      process_groups.all.emplace_back();
    }
    process_groups.of_device.push_back(number[first]);
    if (at / devices < simulated_replicas_) ++process_groups.all[number[first]].members;
  }
  for (auto& group : groups) {
    const std::size_t at = who(group.front());
    process_groups.all[process_groups.of_device[at]].groups.push_back(std::move(group));
  }
  return process_groups;
}

std::uint32_t ProcessGroups::process_group_of(Group kind, ReplicaDevice who) {
  return process_groups(kind).of_device[std::size_t{who.replica} * ranks_.devices() + who.device];
}

const ProcessGroup& ProcessGroups::holders(Group kind, const std::vector<std::uint32_t>& devices) {
  const auto [place, is_new] = holders_.try_emplace({kind, devices});
  ProcessGroup& all = place->second;
  if (!is_new) return all;
  for (const std::uint32_t device : devices) {
    // A device may have several process groups of experts.
    std::set<std::uint32_t> numbers;
    for (std::uint32_t replica = 0; replica < ranks_.replicas(); ++replica)
      numbers.insert(process_group_of(kind, {replica, device}));
    RankGroups groups;
    for (const std::uint32_t number : numbers) {
      const ProcessGroup& one = process_group(kind, number);
      all.members += one.members;
      groups.insert(groups.end(), one.groups.begin(), one.groups.end());
    }
    all.groups.resize(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i)
      all.groups[i].insert(all.groups[i].end(), groups[i].begin(), groups[i].end());
  }
  return all;
}

const RankGroups& ProcessGroups::embedding(std::uint32_t replica) {
  if (embedding_.empty()) {
    embedding_.resize(ranks_.replicas());
    for (auto& group : ranks_.groups(Group::embedding))
      embedding_[ranks_.of(group.front()).dp].push_back(std::move(group));
  }
  return embedding_[replica];
}

}  // namespace pipewright::execution
