#include "sim/execution/collectives/flow_counts.hpp"

#include <algorithm>
#include <compare>
#include <numeric>

namespace pipewright::execution {

std::uint32_t FlowKinds::number_of(const ByProtocol& bytes) {
  if (last_ < bytes_.size() && bytes_[last_] == bytes) return last_;
  const auto [it, is_new] = numbers_.try_emplace(bytes, static_cast<std::uint32_t>(bytes_.size()));
  if (is_new) bytes_.push_back(bytes);
  return last_ = it->second;
}

void FlowCounts::add(const cluster::Link* link, std::uint32_t kind, std::uint32_t count) {
  if (link->number >= slots_.size()) slots_.resize(link->number + std::size_t{1});
  std::uint32_t& slot = slots_[link->number];
  if (slot == 0) {
    links_.push_back(link);
    slot = static_cast<std::uint32_t>(links_.size());
    if (counts_.size() < links_.size()) counts_.emplace_back();
  }
  Counts& counts = counts_[slot - 1];
  const auto it = std::ranges::find(counts, kind, &Counts::value_type::first);
  if (it == counts.end())
    counts.emplace_back(kind, count);
  else
    it->second += count;
}

void FlowCounts::clear() {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    slots_[links_[i]->number] = 0;
    counts_[i].clear();
  }
  links_.clear();
}

std::vector<std::size_t> FlowCounts::distinct(const RankPlacement& placement) {
  struct Profile {
    double capacity;
    bool is_shared;
    const Counts* counts;
    std::size_t index;
  };
  std::vector<Profile> profiles;
  profiles.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) {
    std::ranges::sort(counts_[i]);
    profiles.push_back(
        {placement.capacity_of(links_[i]), cluster::is_shared(links_[i]), &counts_[i], i});
  }
  const auto is_less = [](const Profile& lhs, const Profile& rhs) {
    if (lhs.capacity != rhs.capacity) return lhs.capacity < rhs.capacity;
    if (lhs.is_shared != rhs.is_shared) return lhs.is_shared < rhs.is_shared;
    return *lhs.counts < *rhs.counts;
  };
  std::ranges::sort(profiles, is_less);
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < profiles.size(); ++i)
    if (i == 0 || is_less(profiles[i - 1], profiles[i])) indices.push_back(profiles[i].index);
  return indices;
}

}  // namespace pipewright::execution
