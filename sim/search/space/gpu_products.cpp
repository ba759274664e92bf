#include "sim/search/space/gpu_products.hpp"

namespace pipewright::search {
namespace {

using Products = std::unordered_set<std::uint64_t>;

// What has to be there before an axis, for one of `after` to be there behind it.
Products before(const Axis& axis, const std::vector<std::uint32_t>& values, const Products& after) {
  std::unordered_set<std::uint64_t> factors;
  for (const std::uint32_t value : values) factors.insert(axis.values[value].gpus);
  Products result;
  for (const std::uint64_t product : after)
    for (const std::uint64_t factor : factors)
      if (factor != 0 && product % factor == 0) result.insert(product / factor);
  return result;
}

}  // namespace

GpuProducts::GpuProducts(const Domain& domain,
                         const std::vector<std::vector<std::uint32_t>>& values) {
  const std::vector<Axis>& open = domain.open();
  for (const std::vector<std::uint64_t>& allowed : domain.allowed_gpus) {
    std::vector<Products> by_depth(open.size() + 1);
    by_depth.back() = {allowed.begin(), allowed.end()};
    for (std::size_t i = open.size(); i-- > 0;)
      by_depth[i] = before(open[i], values[i], by_depth[i + 1]);
    reachable_.push_back(std::move(by_depth));
  }
}

}  // namespace pipewright::search
