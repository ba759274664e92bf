#include "sim/cluster/checks/torus_loads.hpp"

#include <numeric>

namespace pipewright::cluster {
namespace {

// Flows around one ring of a torus, by the positions between which they cross it.
class RingLoads {
 public:
  explicit RingLoads(std::uint32_t side) : side_(side), up_(side + 1), down_(side + 1) {}

  void add(std::uint32_t begin, std::uint32_t end, double amount) {
    const auto [up, is_opposite] = TorusGrid::ways(begin, end, side_);
    if (is_opposite) amount /= 2;
    if (up || is_opposite) add_range(up_, begin, end, amount);
    if (!up || is_opposite) add_range(down_, end + 1, begin + 1, amount);
  }
  // Loads of the links that leave each position upwards or downwards.
  std::vector<double> loads(bool up) const {
    std::vector<double> loads(side_);
    const std::vector<double>& changes = up ? up_ : down_;
    std::partial_sum(changes.begin(), changes.end() - 1, loads.begin());
    return loads;
  }

 private:
  // Adds a load to the positions from `first` to before `last`, around the ring. The list holds the
  // change of the load from each position to the next.
  void add_range(std::vector<double>& changes, std::uint32_t first, std::uint32_t last,
                 double amount) const {
    first %= side_;
    changes[first] += amount;
    changes[last] -= amount;
    if (first < last) return;
    changes[side_] -= amount;
    changes[0] += amount;
  }

  std::uint32_t side_;
  std::vector<double> up_;
  std::vector<double> down_;
};

}  // namespace

void add_torus_loads(const TorusGrid& grid, const std::vector<double>& sources,
                     const std::vector<double>& destinations,
                     const std::function<void(std::uint32_t link, double amount)>& load) {
  const auto corners = static_cast<std::uint32_t>(sources.size());
  for (std::size_t dimension = 0; dimension < grid.sides.size(); ++dimension) {
    const std::uint32_t side = grid.sides[dimension];
    const std::uint32_t stride = grid.stride(dimension);
    // A flow crosses this dimension after it has reached its destination's position in the lower
    // ones, and before it leaves its source's position in the higher ones.
    std::vector<double> from(corners / stride);  // by position here and in higher dimensions
    std::vector<double> to(std::size_t{stride} * side);  // by position in lower ones and here
    for (std::uint32_t corner = 0; corner < corners; ++corner) {
      from[corner / stride] += sources[corner];
      to[corner % (stride * side)] += destinations[corner];
    }
    for (std::uint32_t line = 0; line < corners / side; ++line) {
      const std::uint32_t lower = line % stride;
      const std::uint32_t higher = line / stride;
      RingLoads ring(side);
      for (std::uint32_t begin = 0; begin < side; ++begin)
        for (std::uint32_t end = 0; end < side; ++end)
          if (begin != end)
            ring.add(begin, end, from[begin + higher * side] * to[lower + end * stride]);
      for (const bool up : {true, false}) {
        const std::vector<double> loads = ring.loads(up);
        for (std::uint32_t position = 0; position < side; ++position)
          if (loads[position] > 0)
            load(grid.link(lower + position * stride + higher * stride * side, dimension, up),
                 loads[position]);
      }
    }
  }
}

}  // namespace pipewright::cluster
