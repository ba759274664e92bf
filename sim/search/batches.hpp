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
  // `known` in ascending order; both are to outlive this. Counting ends, and all that was counted
  // is the total, when `stop` says so. Throws what for_each_layout() does.
  Batches(const Space& space, const std::vector<std::uint64_t>& known, std::size_t workers,
          const std::function<bool()>& stop);

  std::uint64_t total() const { return total_; }  // with those that are known
  std::vector<std::uint64_t> next();              // empty at the end

 private:
  void refill();

  const Space& space_;
  const std::vector<std::uint64_t>& known_;
  std::uint64_t total_ = 0;
  std::size_t size_ = 1;      // of a batch, about
  std::uint64_t passed_ = 0;  // layouts
  bool all_ = false;
  std::size_t next_known_ = 0;
  std::vector<std::uint64_t> ahead_;
  std::size_t taken_ = 0;  // of these
};

}  // namespace pipewright::search
