#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/search/space.hpp"

namespace pipewright::search {

// The candidates of a space in order, some at a time, without those that are known. Those of a
// layout share most of what an assessment costs, and so stay together.
class Batches {
 public:
  using Stop = std::function<bool()>;

  // `known` in ascending order; both are to outlive this. Throws what for_each_layout() does.
  // Counting ends when `enough` says so, and all that was counted is the total. When `stop` says
  // so, there are no more.
  Batches(const Space& space, const std::vector<std::uint64_t>& known, std::size_t workers,
          const Stop& enough, Stop stop);

  std::uint64_t total() const { return total_; }  // with those that are known
  std::vector<std::uint64_t> next();              // empty at the end
  bool is_cut_short() const { return cut_short_; }

 private:
  void refill();

  const Space& space_;
  const std::vector<std::uint64_t>& known_;
  std::uint64_t total_ = 0;
  std::size_t size_ = 1;      // of a batch, about
  std::uint64_t passed_ = 0;  // layouts
  bool all_ = false;
  Stop stop_;
  bool cut_short_ = false;
  std::size_t next_known_ = 0;
  std::vector<std::uint64_t> ahead_;
  std::size_t taken_ = 0;  // of these
};

}  // namespace pipewright::search
