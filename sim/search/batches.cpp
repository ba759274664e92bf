#include "sim/search/batches.hpp"

#include <algorithm>
#include <utility>

namespace pipewright::search {
namespace {

// Layouts are visited by a call, so going on means to visit again, and to pass by, those that have
// been. That takes some 0.1 us each where the assessment of this many candidates takes minutes.
constexpr std::size_t most_ahead = std::size_t{1} << 20U;
constexpr std::size_t most_in_batch = 64;
constexpr std::size_t least_batches = 8;  // for each worker, so that they end at about one time

}  // namespace

Batches::Batches(const Space& space, const std::vector<std::uint64_t>& known, std::size_t workers,
                 const Stop& enough, Stop stop)
    : space_(space), known_(known), stop_(std::move(stop)) {
  space.for_each_layout(
      [&](std::uint64_t, std::span<const std::uint32_t> schedules) {
        total_ += schedules.size();
        return true;
      },
      enough);
  const std::uint64_t share = total_ / (least_batches * std::max<std::size_t>(workers, 1));
  size_ = static_cast<std::size_t>(std::clamp<std::uint64_t>(share, 1, most_in_batch));
}

void Batches::refill() {
  ahead_.clear();
  taken_ = 0;
  std::uint64_t visited = 0;
  all_ = true;
  const auto take = [&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
    if (visited++ < passed_) return true;
    if (ahead_.size() >= most_ahead) {
      all_ = false;
      return false;
    }
    ++passed_;
    for (const std::uint32_t schedule : schedules) {
      const std::uint64_t candidate = layout * space_.schedules() + schedule;
      while (next_known_ < known_.size() && known_[next_known_] < candidate) ++next_known_;
      if (next_known_ == known_.size() || known_[next_known_] != candidate)
        ahead_.push_back(candidate);
    }
    return true;
  };
  space_.for_each_layout(take, [&] { return cut_short_ = stop_(); });
}

std::vector<std::uint64_t> Batches::next() {
  while (taken_ == ahead_.size() && !all_) refill();
  const auto begin = ahead_.begin() + static_cast<std::ptrdiff_t>(taken_);
  auto end = begin + static_cast<std::ptrdiff_t>(std::min(size_, ahead_.size() - taken_));
  const auto layout = [&](auto at) { return *at / space_.schedules(); };
  while (end != ahead_.end() && end != begin && end - begin < std::ptrdiff_t{most_in_batch} &&
         layout(end) == layout(end - 1))
    ++end;
  taken_ = static_cast<std::size_t>(end - ahead_.begin());
  return {begin, end};
}

}  // namespace pipewright::search
