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

// Generates a platform file in SimGrid's XML. Throws Error that names what is allowed.
std::string make_platform(const PlatformRequest& request);

}  // namespace pipewright::cluster
