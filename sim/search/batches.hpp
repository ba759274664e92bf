#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/sweep/space.hpp"

namespace pipewright::search {

// Hands out the candidates of a search space in batches, leaving out those that already have a row.
// Successive batches come from all over the space, so that a search that is stopped has looked
// everywhere; neighbours stay in one batch, as they share most of the cost of assessing them. A
// space that is too large to be listed is sampled first.
class Batches {
 public:
  using Stop = std::function<bool()>;

  // `known_candidates` is in ascending order; it and `space` must outlive this object. Counting the
  // candidates ends early when `stop_counting` returns true, and the batches end when `stop` does.
  // Throws config::Error if there are more than 2^63 combinations.
  Batches(const Space& space, const std::vector<std::uint64_t>& known_candidates,
          std::size_t workers, const Stop& stop_counting, Stop stop);

  std::uint64_t total() const { return total_; }  // counted candidates, known ones included
  bool is_listed() const { return is_listed_; }   // whether all candidates are counted
  // Returns the next batch of candidates; an empty one means that none are left. In a space that is
  // too large to be listed, batches come in turn from neighbours of `promising` and from random
  // samples.
  std::vector<std::uint64_t> next(std::optional<std::uint64_t> promising = {});
  bool is_cut_short() const { return is_cut_short_; }

 private:
  struct Layout {
    std::uint64_t number = 0;
    std::uint32_t schedules = 0;  // index in schedules_
  };
  void add(std::uint64_t layout, std::span<const std::uint32_t> schedules);
  void spread();
  void refill(std::optional<std::uint64_t> promising);
  void add_neighbours(std::uint64_t layout);
  void add_samples();
  bool is_known(std::uint64_t candidate) const;

  const Space& space_;
  const std::vector<std::uint64_t>& known_candidates_;
  Stop stop_;
  std::uint64_t total_ = 0;
  std::size_t batch_size_ = 1;  // approximate
  std::vector<Layout> queue_;
  std::size_t taken_ = 0;                              // layouts of queue_ that were handed out
  std::vector<std::vector<std::uint32_t>> schedules_;  // distinct lists of schedules of layouts
  bool is_listed_ = false;                             // queue_ holds every layout
  std::uint64_t samples_ = 0;
  bool had_neighbours_ = false;                // the last refill asked for neighbours
  std::optional<std::uint64_t> centre_;        // layout whose neighbours are visited
  std::size_t neighbour_slot_ = 0;             // next pair of axes to vary around it
  std::unordered_set<std::uint64_t> sampled_;  // layouts
  std::uint64_t walked_ = 0;                   // layouts that the final walk has visited
  bool is_exhausted_ = false;
  bool is_cut_short_ = false;
};

}  // namespace pipewright::search
