#include "sim/search/batches.hpp"

#include <algorithm>

#include "sim/config/mix.hpp"

namespace pipewright::search {
namespace {

constexpr std::size_t most_ahead = std::size_t{1} << 20U;  // layouts
constexpr std::size_t most_in_batch = 256;                 // candidates
constexpr std::size_t least_batches = 8;  // for each worker, so that they end at about one time

constexpr std::uint64_t most_samples = std::uint64_t{1} << 14U;
constexpr std::size_t layouts_of_a_sample = 2;
constexpr std::uint64_t tries_of_a_sample = 20'000;

}  // namespace

Batches::Batches(const Space& space, const std::vector<std::uint64_t>& known, std::size_t workers,
                 const Stop& enough, Stop stop)
    : space_(space), known_(known), stop_(std::move(stop)) {
  bool fits = true;
  is_listed_ = space.for_each_layout(
                   [&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
                     if (!space_.is_of_shard(layout)) return true;
                     total_ += schedules.size();
                     fits = fits && ahead_.size() < most_ahead;
                     if (fits) add(layout, schedules);
                     return true;
                   },
                   enough) &&
               fits;
  if (is_listed_)
    spread();
  else
    ahead_.clear();
  const std::uint64_t share = total_ / (least_batches * std::max<std::size_t>(workers, 1));
  size_ = static_cast<std::size_t>(std::clamp<std::uint64_t>(share, 1, most_in_batch));
}

// Layouts mostly have the schedules of the one before.
void Batches::add(std::uint64_t layout, std::span<const std::uint32_t> schedules) {
  const auto known = std::ranges::find_if(
      schedules_, [&](const auto& one) { return std::ranges::equal(one, schedules); });
  const auto index = static_cast<std::uint32_t>(known - schedules_.begin());
  if (known == schedules_.end()) schedules_.emplace_back(schedules.begin(), schedules.end());
  ahead_.push_back({layout, index});
}

// Runs of neighbours, in an order of their own.
void Batches::spread() {
  constexpr std::size_t most_runs = 1024;
  const std::size_t run = std::clamp<std::size_t>(ahead_.size() / most_runs, 1, 16);
  std::vector<std::pair<std::uint64_t, std::size_t>> runs;
  for (std::size_t first = 0; first < ahead_.size(); first += run)
    runs.emplace_back(mix(first), first);
  std::ranges::sort(runs);
  std::vector<Layout> spread;
  spread.reserve(ahead_.size());
  for (const auto& [order, first] : runs)
    for (std::size_t i = first; i < std::min(first + run, ahead_.size()); ++i)
      spread.push_back(ahead_[i]);
  ahead_ = std::move(spread);
}

void Batches::add_some_near(std::uint64_t layout) {
  if (of_ != layout) turn_ = 0;
  of_ = layout;
  const auto add_new = [&](std::uint64_t near, std::span<const std::uint32_t> schedules) {
    if (space_.is_of_shard(near) && sampled_.insert(near).second) add(near, schedules);
    return true;
  };
  while (ahead_.empty() && space_.visit_near(layout, turn_, add_new)) ++turn_;
}

void Batches::add_samples() {
  while (samples_ < most_samples && ahead_.empty() && !(cut_short_ = stop_())) {
    std::size_t found = 0;
    space_.sample(samples_++, tries_of_a_sample,
                  [&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
                    if (space_.is_of_shard(layout) && sampled_.insert(layout).second)
                      add(layout, schedules);
                    return ++found < layouts_of_a_sample;
                  });
  }
}

// Some, as long as they find something; then all that these have not met, in order.
void Batches::refill(std::optional<std::uint64_t> promising) {
  ahead_.clear();
  taken_ = 0;
  all_ = is_listed_;
  if (all_) return;
  was_near_ = !was_near_ && promising;
  if (was_near_) add_some_near(*promising / space_.schedules());
  if (ahead_.empty()) add_samples();
  if (!ahead_.empty() || cut_short_) {
    all_ = cut_short_;
    return;
  }
  // Layouts are visited by a call, so going on means to visit again, and to pass by, those that
  // have been. That takes some 0.1 us each where the assessment of this many takes minutes.
  std::uint64_t visited = 0;
  all_ = true;
  space_.for_each_layout(
      [&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
        if (visited++ < passed_) return true;
        if (ahead_.size() >= most_ahead) return all_ = false;
        ++passed_;
        if (space_.is_of_shard(layout) && !sampled_.contains(layout)) add(layout, schedules);
        return true;
      },
      [&] { return cut_short_ = stop_(); });
}

bool Batches::is_known(std::uint64_t candidate) const {
  return std::ranges::binary_search(known_, candidate);
}

std::vector<std::uint64_t> Batches::next(std::optional<std::uint64_t> promising) {
  std::vector<std::uint64_t> batch;
  while (batch.size() < size_) {
    while (taken_ == ahead_.size() && !all_ && batch.empty()) refill(promising);
    if (taken_ == ahead_.size()) return batch;
    const Layout& layout = ahead_[taken_++];
    for (const std::uint32_t schedule : schedules_[layout.schedules])
      if (const std::uint64_t candidate = layout.number * space_.schedules() + schedule;
          !is_known(candidate))
        batch.push_back(candidate);
  }
  return batch;
}

}  // namespace pipewright::search
