#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/sweep/space.hpp"

namespace pipewright::search {

// The candidates of a space, some at a time, without those that are known. They are spread over it,
// so that a search that stops has looked everywhere; neighbours, which share most of what an
// assessment costs, stay together. A space that is too large to be listed is sampled first.
class Batches {
 public:
  using Stop = std::function<bool()>;

  // `known` in ascending order; both are to outlive this. Throws what for_each_layout() does.
  // Counting ends when `enough` says so. When `stop` says so, there are no more.
  Batches(const Space& space, const std::vector<std::uint64_t>& known, std::size_t workers,
          const Stop& enough, Stop stop);

  std::uint64_t total() const { return total_; }  // with those that are known, as far as counted
  bool is_listed() const { return is_listed_; }   // counted to the end
  // Empty at the end. Of a space that is not listed these are, by turns, such as are like the
  // layout of `promising`, and samples.
  std::vector<std::uint64_t> next(std::optional<std::uint64_t> promising = {});
  bool is_cut_short() const { return cut_short_; }

 private:
  struct Layout {
    std::uint64_t number = 0;
    std::uint32_t schedules = 0;  // of schedules_
  };
  void add(std::uint64_t layout, std::span<const std::uint32_t> schedules);
  void spread();
  void refill(std::optional<std::uint64_t> promising);
  void add_some_near(std::uint64_t layout);
  void add_samples();
  bool is_known(std::uint64_t candidate) const;

  const Space& space_;
  const std::vector<std::uint64_t>& known_;
  Stop stop_;
  std::uint64_t total_ = 0;
  std::size_t size_ = 1;  // of a batch, about
  std::vector<Layout> ahead_;
  std::size_t taken_ = 0;                              // of these
  std::vector<std::vector<std::uint32_t>> schedules_;  // that layouts have, each once
  bool is_listed_ = false;                             // all that there are stand in ahead_
  std::uint64_t samples_ = 0;
  bool was_near_ = false;                      // when it was filled last
  std::optional<std::uint64_t> of_;            // layout, whose neighbours are met
  std::size_t turn_ = 0;                       // of these
  std::unordered_set<std::uint64_t> sampled_;  // layouts
  std::uint64_t passed_ = 0;                   // layouts, once what was not sampled is visited
  bool all_ = false;
  bool cut_short_ = false;
};

}  // namespace pipewright::search
