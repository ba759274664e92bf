#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/cluster/message_model.hpp"

namespace simgrid::s4u {
class Host;
class Link;
}  // namespace simgrid::s4u

namespace pipewright::cluster {

using simgrid::s4u::Host;
using simgrid::s4u::Link;

// The way from one GPU to another when nothing else is on it.
struct Route {
  double latency = 0;                                          // seconds
  double bandwidth = std::numeric_limits<double>::infinity();  // bytes/s of its narrowest link
  // Between which SimGrid carries a flow: the GPUs, or the ports of their NICs.
  Host* source = nullptr;
  Host* destination = nullptr;
  // What a flow loads, in the order of the way. Where several ways are equally short it has parts
  // on each, and a link stands here once for each of the flow's parts on it; the link's capacity
  // counts as many flows.
  std::vector<const Link*> links;
  std::vector<const Link*> one_way;  // then: those of one of the ways
  // By each protocol; by Simple, the latency that stands above, and all of the bandwidth.
  struct By {
    double latency = 0;     // seconds
    double efficiency = 1;  // part of the bandwidth that payload gets
  };
  std::array<By, protocols> by;
  double message = 0;  // seconds by which a GPU's messages over it follow each other

  // From end to end.
  const std::vector<const Link*>& way() const { return one_way.empty() ? links : one_way; }
  bool divides() const { return !one_way.empty(); }

  double seconds(std::uint64_t bytes) const {
    return latency + static_cast<double>(bytes) / bandwidth;
  }
};

// What a host's name is called in outputs, its type of GPU (property "gpu", "" if it has none), and
// its GPU memory in bytes (property "memory", 0: unknown). memory_of throws config::Error if the
// property is no size.
std::string name_of(const Host* host);
std::string gpu_of(const Host* host);
std::uint64_t memory_of(const Host* host);

// Whether flows over a link share its bandwidth. A FATPIPE link gives all of it to each.
bool is_shared(const Link* link);

}  // namespace pipewright::cluster
