#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "sim/search/space/domain.hpp"

namespace pipewright::search {

// Which products of parallel sizes can still come to an allowed number of GPUs.
class GpuProducts {
 public:
  // `values` that are left of each axis.
  GpuProducts(const Domain& domain, const std::vector<std::vector<std::uint32_t>>& values);

  // Whether the axes after the first `depth` can make up for what `product` lacks, exactly.
  bool can_be(std::size_t depth, std::size_t cluster, std::uint64_t product) const {
    return reachable_[cluster][depth].contains(product);
  }

 private:
  std::vector<std::vector<std::unordered_set<std::uint64_t>>> reachable_;
};

}  // namespace pipewright::search
