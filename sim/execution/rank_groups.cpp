#include "sim/execution/rank_groups.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace pipewright::execution {

RankGroups::RankGroups(const workload::Ranks& ranks, std::uint32_t simulated_replicas)
    : ranks_(ranks), simulated_replicas_(simulated_replicas) {}

const RankGroups::Parties& RankGroups::parties(Group kind) {
  Parties& known = parties_[static_cast<std::size_t>(kind)];
  if (known.of_unit.empty()) known = split(kind);
  return known;
}

// Units that share a group are in one party, by way of others as well.
RankGroups::Parties RankGroups::split(Group kind) const {
  const std::uint32_t devices = ranks_.devices();
  const auto unit = [&](std::uint32_t rank) {
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
    if (at / devices < simulated_replicas_) ++parties.all[number[first]].members;
  }
  for (auto& group : groups) {
    const std::size_t at = unit(group.front());
    parties.all[parties.of_unit[at]].groups.push_back(std::move(group));
  }
  return parties;
}

std::uint32_t RankGroups::party_of(Group kind, Unit unit) {
  return parties(kind).of_unit[std::size_t{unit.replica} * ranks_.devices() + unit.device];
}

const RankGroups::Party& RankGroups::holders(Group kind,
                                             const std::vector<std::uint32_t>& devices) {
  const auto [place, is_new] = holders_.try_emplace({kind, devices});
  Party& all = place->second;
  if (!is_new) return all;
  for (const std::uint32_t device : devices) {
    // Experts' parties may be several on a device.
    std::set<std::uint32_t> numbers;
    for (std::uint32_t replica = 0; replica < ranks_.replicas(); ++replica)
      numbers.insert(party_of(kind, {replica, device}));
    Groups groups;
    for (const std::uint32_t number : numbers) {
      const Party& one = party(kind, number);
      all.members += one.members;
      groups.insert(groups.end(), one.groups.begin(), one.groups.end());
    }
    all.groups.resize(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i)
      all.groups[i].insert(all.groups[i].end(), groups[i].begin(), groups[i].end());
  }
  return all;
}

const RankGroups::Groups& RankGroups::embedding(std::uint32_t replica) {
  if (embedding_.empty()) {
    embedding_.resize(ranks_.replicas());
    for (auto& group : ranks_.groups(Group::embedding))
      embedding_[ranks_.of(group.front()).dp].push_back(std::move(group));
  }
  return embedding_[replica];
}

}  // namespace pipewright::execution
