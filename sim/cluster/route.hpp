#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/message_model.hpp"
#include "sim/cluster/platform/condition.hpp"

namespace pipewright::cluster {

// A vertex of the network at which flows start or end: a GPU, or a NIC port through which a GPU's
// flows leave and enter its node.
struct Host {
  std::string name;
  std::string gpu;                         // GPU type, from property "gpu"; empty if there is none
  std::optional<std::string> memory_text;  // property "memory"
  std::uint64_t memory = 0;                // bytes; 0 if unknown
  std::optional<std::string> launch_factor_text;  // property "launch_factor"
  double launch_factor = 1;                       // factor of the host times of a software stack
  // Properties "host_memory_bandwidth" and "host_core_bandwidth" of a GPU, and their bytes/s: the
  // GPU's share of the bandwidth of its host's memory, and the bandwidth that a core reaches; 0 if
  // the file does not state it.
  std::optional<std::string> host_memory_text;
  std::optional<std::string> host_core_text;
  double host_memory_bandwidth = 0;
  double host_core_bandwidth = 0;
  std::optional<std::string> host_gpus_text;  // property "host_gpus"
  // GPUs of the machine that starts processes: a tray of a rack. 0: all GPUs of the node.
  std::uint32_t host_gpus = 0;
  double speed = 0;  // FLOP/s
  int cores = 1;
  std::uint32_t node = 0;         // node of a GPU; see Cluster::node_of
  std::uint32_t local_index = 0;  // index of a GPU within its node, from 0, in natural order
  std::uint32_t number = 0;
};

// One direction of a full-duplex link, or a half-duplex link that both directions share.
struct Link {
  std::string name;  // "node-0-nvlink-7_UP"
  std::string link_class;
  // Capacity that the flows on the link share, in bytes/s. If flows are divided into parts on the
  // link because several paths are equally short, this is the link's bandwidth times `parts`, and a
  // flow counts once for each of its parts.
  double bandwidth = 0;
  double latency = 0;  // seconds, from the file
  bool is_shared = true;
  bool failed = false;
  double rate_left = 1;  // fraction of the bandwidth that a slow link has left; 1 if it failed
  std::uint32_t parts = 1;
  std::uint32_t parts_as_built = 1;  // `parts` without failed and slow links
  std::uint32_t number = 0;
  // cost models of the link's class, indexed by Numbers
  std::array<const ClassModel*, number_kinds> models{};

  const ClassModel& model(Numbers numbers) const {
    return *models[static_cast<std::size_t>(numbers)];
  }
};

// Route from one GPU to another: its links, and the latency and bandwidth without other traffic.
struct Route {
  double latency = 0;                                          // seconds
  double bandwidth = std::numeric_limits<double>::infinity();  // bytes/s of the narrowest link
  // End points of a flow: the GPUs, or the ports of their NICs.
  Host* source = nullptr;
  Host* destination = nullptr;
  // Links that a flow loads, in path order. If several paths are equally short, the flow is divided
  // among them, and a link is listed once for each part of the flow that crosses it;
  // Link::bandwidth is scaled to match.
  std::vector<const Link*> links;
  std::vector<const Link*> single_path;  // links of one of these paths, if the flow is divided
  // Costs of the route for each NCCL protocol. For Simple, they are the latency above and an
  // efficiency of 1.
  struct ProtocolCost {
    double latency = 0;     // seconds
    double efficiency = 1;  // fraction of the bandwidth that payload reaches
  };
  std::array<ProtocolCost, protocols> per_protocol;
  // Fraction of the bandwidth that remains if many ranks exchange messages directly.
  double direct_efficiency = 1;
  double message = 0;  // seconds between successive messages of a GPU over this route

  // Returns the links of a single path from end to end, also if the flow is divided among several.
  const std::vector<const Link*>& path() const { return single_path.empty() ? links : single_path; }
  bool divides() const { return !single_path.empty(); }

  double seconds(std::uint64_t bytes) const {
    return latency + static_cast<double>(bytes) / bandwidth;
  }
};

inline const std::string& name_of(const Host* host) { return host->name; }
inline const std::string& gpu_of(const Host* host) { return host->gpu; }
inline std::uint64_t memory_of(const Host* host) { return host->memory; }

// Returns whether flows on a link share its bandwidth. A FATPIPE link gives its full bandwidth to
// each.
inline bool is_shared(const Link* link) { return link->is_shared; }

}  // namespace pipewright::cluster
