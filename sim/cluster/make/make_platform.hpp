#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/make/node_kind.hpp"

namespace pipewright::cluster {

struct Fabric {
  std::string_view name;
  std::string_view help;  // one line
  std::uint32_t leaf_nodes = 0;
};
std::span<const Fabric> fabrics();

// A platform file in SimGrid's XML. Throws Error, which says what would be right.
std::string make_platform(const PlatformRequest& wanted);

}  // namespace pipewright::cluster
