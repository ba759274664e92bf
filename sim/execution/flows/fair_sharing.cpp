#include "sim/execution/flows/fair_sharing.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace pipewright::execution {

FairSharing::FairSharing(std::vector<double> bandwidth)
    : bandwidth_(std::move(bandwidth)), links_(bandwidth_.size()) {}

// Counts, for each link, how often the flows cross it.
void FairSharing::count(std::span<const FlowPath* const> flows) {
  for (const std::uint32_t link : used_) links_[link] = {};
  used_.clear();
  by_cap_.clear();
  for (std::uint32_t flow = 0; flow < flows.size(); ++flow) {
    for (const std::uint32_t link : flows[flow]->links)
      if (links_[link].crossings++ == 0) used_.push_back(link);
    if (flows[flow]->cap < std::numeric_limits<double>::infinity()) by_cap_.push_back(flow);
  }
  std::ranges::stable_sort(by_cap_, {}, [&](std::uint32_t flow) { return flows[flow]->cap; });
  std::uint32_t end = 0;
  for (const std::uint32_t link : used_) {
    links_[link].remaining = bandwidth_[link];
    links_[link].begin = links_[link].end = end;
    end += links_[link].crossings;
  }
  flows_by_link_.resize(end);
  for (std::uint32_t flow = 0; flow < flows.size(); ++flow)
    for (const std::uint32_t link : flows[flow]->links) flows_by_link_[links_[link].end++] = flow;
}

void FairSharing::fix(std::uint32_t flow, double rate, std::uint32_t link,
                      std::span<const FlowPath* const> flows) {
  shares_[flow] = {rate, link};
  for (const std::uint32_t crossed : flows[flow]->links) {
    links_[crossed].remaining -= rate;
    --links_[crossed].crossings;
  }
}

const std::vector<FairShare>& FairSharing::share(std::span<const FlowPath* const> flows) {
  constexpr double growing = -1;
  count(flows);
  shares_.assign(flows.size(), {growing, FairShare::no_link});
  // The share that a link can give each of its growing flows never shrinks when other flows get
  // fixed rates, so that an outdated heap entry is never too high.
  const auto share_of = [&](std::uint32_t link) {
    return std::max(0.0, links_[link].remaining / links_[link].crossings);
  };
  heap_.clear();
  for (const std::uint32_t link : used_) heap_.emplace_back(share_of(link), link);
  std::ranges::make_heap(heap_, std::greater{});
  auto capped = by_cap_.begin();
  while (!heap_.empty() || capped != by_cap_.end()) {
    if (capped != by_cap_.end() && (heap_.empty() || flows[*capped]->cap <= heap_.front().first)) {
      if (shares_[*capped].rate == growing)
        fix(*capped, flows[*capped]->cap, FairShare::no_link, flows);
      ++capped;
      continue;
    }
    const auto [share, link] = heap_.front();
    std::ranges::pop_heap(heap_, std::greater{});
    heap_.pop_back();
    if (links_[link].crossings == 0) continue;
    if (const double now = share_of(link); now > share) {
      heap_.emplace_back(now, link);
      std::ranges::push_heap(heap_, std::greater{});
      continue;
    }
    for (std::uint32_t i = links_[link].begin; i < links_[link].end; ++i)
      if (const std::uint32_t flow = flows_by_link_[i]; shares_[flow].rate == growing)
        fix(flow, share, link, flows);
  }
  // No link limits a flow with an empty path.
  for (FairShare& share : shares_)
    if (share.rate == growing) share.rate = std::numeric_limits<double>::infinity();
  return shares_;
}

}  // namespace pipewright::execution
