#include "sim/search/batches.hpp"

#include <algorithm>

#include "sim/base/mix.hpp"

namespace pipewright::search {
namespace {

constexpr std::size_t max_queued_layouts = std::size_t{1} << 20U;
constexpr std::size_t max_batch_size = 256;  // candidates
// Least number of batches per worker: batches are kept this small so that all workers finish at
// about the same time.
constexpr std::size_t min_batches_per_worker = 8;

constexpr std::uint64_t max_samples = std::uint64_t{1} << 14U;
constexpr std::size_t layouts_per_sample = 2;
constexpr std::uint64_t tries_per_sample = 20'000;

}  // namespace

Batches::Batches(const Space& space, const std::vector<std::uint64_t>& known_candidates,
                 std::size_t workers, const Stop& stop_counting, Stop stop)
    : space_(space), known_candidates_(known_candidates), stop_(std::move(stop)) {
  bool fits = true;
  is_listed_ = space.for_each_layout(
                   [&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
                     if (!space_.is_of_shard(layout)) return true;
                     total_ += schedules.size();
                     fits = fits && queue_.size() < max_queued_layouts;
                     if (fits) add(layout, schedules);
                     return true;
                   },
                   stop_counting) &&
               fits;
  if (is_listed_)
    spread();
  else
    queue_.clear();
  const std::uint64_t share = total_ / (min_batches_per_worker * std::max<std::size_t>(workers, 1));
  batch_size_ = static_cast<std::size_t>(std::clamp<std::uint64_t>(share, 1, max_batch_size));
}

// Appends a layout to the queue. Many layouts have the same list of schedules, so each distinct
// list is stored once.
void Batches::add(std::uint64_t layout, std::span<const std::uint32_t> schedules) {
  const auto it = std::ranges::find_if(
      schedules_, [&](const auto& list) { return std::ranges::equal(list, schedules); });
  const auto index = static_cast<std::uint32_t>(it - schedules_.begin());
  if (it == schedules_.end()) schedules_.emplace_back(schedules.begin(), schedules.end());
  queue_.push_back({layout, index});
}

// Shuffles the queue in runs of up to 16 consecutive layouts, so that neighbouring layouts stay
// together.
void Batches::spread() {
  constexpr std::size_t max_runs = 1024;
  const std::size_t run = std::clamp<std::size_t>(queue_.size() / max_runs, 1, 16);
  std::vector<std::pair<std::uint64_t, std::size_t>> runs;
  for (std::size_t first = 0; first < queue_.size(); first += run)
    runs.emplace_back(base::mix(first), first);
  std::ranges::sort(runs);
  std::vector<Layout> spread;
  spread.reserve(queue_.size());
  for (const auto& [order, first] : runs)
    for (std::size_t i = first; i < std::min(first + run, queue_.size()); ++i)
      spread.push_back(queue_[i]);
  queue_ = std::move(spread);
}

void Batches::add_neighbours(std::uint64_t layout) {
  if (centre_ != layout) neighbour_slot_ = 0;
  centre_ = layout;
  const auto add_new = [&](std::uint64_t near, std::span<const std::uint32_t> schedules) {
    if (space_.is_of_shard(near) && sampled_.insert(near).second) add(near, schedules);
    return true;
  };
  while (queue_.empty() && space_.visit_near(layout, neighbour_slot_, add_new)) ++neighbour_slot_;
}

void Batches::add_samples() {
  while (samples_ < max_samples && queue_.empty() && !(is_cut_short_ = stop_())) {
    std::size_t count = 0;
    space_.sample(samples_++, tries_per_sample,
                  [&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
                    if (space_.is_of_shard(layout) && sampled_.insert(layout).second)
                      add(layout, schedules);
                    return ++count < layouts_per_sample;
                  });
  }
}

// Fills the empty queue of a space that is not listed: with neighbours of `promising` and random
// samples while these yield new layouts, and then with all other layouts in ascending order.
void Batches::refill(std::optional<std::uint64_t> promising) {
  queue_.clear();
  taken_ = 0;
  is_exhausted_ = is_listed_;
  if (is_exhausted_) return;
  had_neighbours_ = !had_neighbours_ && promising;
  if (had_neighbours_) add_neighbours(*promising / space_.schedules());
  if (queue_.empty()) add_samples();
  if (!queue_.empty() || is_cut_short_) {
    is_exhausted_ = is_cut_short_;
    return;
  }
  // Each walk starts from the first layout and skips those that earlier walks have visited.
  // Skipping takes some 0.1 us per layout, whereas assessing a full queue takes minutes.
  std::uint64_t visited = 0;
  is_exhausted_ = true;
  space_.for_each_layout(
      [&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
        if (visited++ < walked_) return true;
        if (queue_.size() >= max_queued_layouts) return is_exhausted_ = false;
        ++walked_;
        if (space_.is_of_shard(layout) && !sampled_.contains(layout)) add(layout, schedules);
        return true;
      },
      [&] { return is_cut_short_ = stop_(); });
}

bool Batches::is_known(std::uint64_t candidate) const {
  return std::ranges::binary_search(known_candidates_, candidate);
}

std::vector<std::uint64_t> Batches::next(std::optional<std::uint64_t> promising) {
  std::vector<std::uint64_t> batch;
  while (batch.size() < batch_size_) {
    while (taken_ == queue_.size() && !is_exhausted_ && batch.empty()) refill(promising);
    if (taken_ == queue_.size()) return batch;
    const Layout& layout = queue_[taken_++];
    for (const std::uint32_t schedule : schedules_[layout.schedules])
      if (const std::uint64_t candidate = layout.number * space_.schedules() + schedule;
          !is_known(candidate))
        batch.push_back(candidate);
  }
  return batch;
}

}  // namespace pipewright::search
