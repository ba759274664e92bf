#pragma once

#include <cstdint>
#include <span>

namespace pipewright::cluster {

// Directions in which a flow crosses a dimension of a torus: upwards (to the next higher position)
// or downwards, the shorter of both. To the opposite side both are equally short.
struct RingWays {
  bool up = true;            // direction that SimGrid takes
  bool is_opposite = false;  // the other direction is as short
};

// A torus of a platform file, with its corners numbered along the first dimension first. Each
// corner has a duplex link per dimension, to the next higher position.
struct TorusGrid {
  std::span<const std::uint32_t> sides;  // number of positions in each dimension
  std::uint32_t first_link = 0;

  std::uint32_t stride(std::size_t dimension) const {
    std::uint32_t stride = 1;
    for (std::size_t i = 0; i < dimension; ++i) stride *= sides[i];
    return stride;
  }
  std::uint32_t position(std::uint32_t corner, std::size_t dimension) const {
    return corner / stride(dimension) % sides[dimension];
  }
  // Corner at another position of a dimension.
  std::uint32_t moved(std::uint32_t corner, std::size_t dimension, std::uint32_t position) const {
    const std::uint32_t step = stride(dimension);
    return corner - this->position(corner, dimension) * step + position * step;
  }
  std::uint32_t corners() const { return stride(sides.size()); }
  bool has_link(std::uint32_t link) const {
    return link >= first_link && link - first_link < 2 * std::size_t{corners()} * sides.size();
  }
  // Neighbour of a position in a ring.
  static std::uint32_t next(std::uint32_t position, bool up, std::uint32_t side) {
    return (position + (up ? 1 : side - 1)) % side;
  }
  // Direction of a link by which a flow leaves a corner.
  std::uint32_t link(std::uint32_t corner, std::size_t dimension, bool up) const {
    const std::uint32_t owner =
        up ? corner
           : moved(corner, dimension, next(position(corner, dimension), false, sides[dimension]));
    return first_link + static_cast<std::uint32_t>(2 * (owner * sides.size() + dimension)) +
           (up ? 0 : 1);
  }
  // SimGrid's TorusZone measures the direction from the source.
  static RingWays ways(std::uint32_t begin, std::uint32_t end, std::uint32_t side) {
    return {.up = (end > begin && end <= begin + side / 2) ||
                  (begin > side / 2 && (begin + side / 2) % side >= end),
            .is_opposite = side > 2 && (begin + side - end) % side * 2 == side};
  }
};

}  // namespace pipewright::cluster
