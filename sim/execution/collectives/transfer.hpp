#pragma once

#include <cstdint>

#include "sim/cluster/cluster.hpp"

namespace pipewright::execution {

// A flow as SimGrid carries it.
struct Transfer {
  cluster::Host* source = nullptr;  // a GPU, or its NIC's port
  cluster::Host* destination = nullptr;
  std::uint64_t bytes = 0;
};

}  // namespace pipewright::execution
