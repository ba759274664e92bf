#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/message_model.hpp"

namespace pipewright::cluster {

// A GPU, or a port by which flows leave a node and come to it.
struct Host {
  std::string name;
  std::string gpu;                         // its type, property "gpu"; "" if it has none
  std::optional<std::string> memory_text;  // property "memory"
  std::uint64_t memory = 0;                // bytes; 0: unknown
  double speed = 0;                        // FLOP/s
  int cores = 1;
  std::uint32_t node = 0;   // of a GPU: see Cluster::node_of
  std::uint32_t place = 0;  // of a GPU: among those of its node, from 0, in natural order
  std::uint32_t number = 0;
};

// One direction of a link, or both of one that is half duplex.
struct Link {
  std::string name;  // "node-0-nvlink-7_UP"
  std::string link_class;
  // What its flows share, bytes/s. Of a link of which flows take parts, as several ways are equally
  // short, so many times what it carries; a flow that has some of the parts counts as often.
  double bandwidth = 0;
  double latency = 0;  // seconds, as the file says
  bool is_shared = true;
  bool failed = false;
  std::uint32_t parts = 1;
  std::uint32_t number = 0;
  std::array<const ClassModel*, kinds_of_numbers> models{};  // of its class, by Numbers

  const ClassModel& model(Numbers numbers) const {
    return *models[static_cast<std::size_t>(numbers)];
  }
};

// The way from one GPU to another when nothing else is on it.
struct Route {
  double latency = 0;                                          // seconds
  double bandwidth = std::numeric_limits<double>::infinity();  // bytes/s of its narrowest link
  // Between which a flow goes: the GPUs, or the ports of their NICs.
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

inline const std::string& name_of(const Host* host) { return host->name; }
inline const std::string& gpu_of(const Host* host) { return host->gpu; }
inline std::uint64_t memory_of(const Host* host) { return host->memory; }

// Whether flows over a link share its bandwidth. A FATPIPE link gives all of it to each.
inline bool is_shared(const Link* link) { return link->is_shared; }

}  // namespace pipewright::cluster
