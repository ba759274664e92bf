#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Options of a goodput simulation: failures of a long training run, and the measures against them.
// Rates are per 1000 days of a unit of the job, as clusters publish them; times are in seconds. A
// node is a machine with its own hosts: of a rack whose GPUs share NVLink, one compute tray.
struct Goodput {
  enum class Kind : std::uint8_t { gpu, node, nic, network, software, rack };
  enum class Unit : std::uint8_t { node, rack, gpu };
  struct Failure {
    Kind kind = Kind::node;
    double rate = 0;
    std::optional<Unit> per;  // unit of the rate; default: node, and rack for racks
    // Shape of the Weibull distribution of a unit's time between failures; 1: exponential.
    double shape = 1;
    // Nodes that fail together; default: 1, 0 for software, and all nodes of a rack for racks.
    std::optional<std::uint32_t> nodes;
    std::optional<double> detection;  // default: Goodput::detection
    std::optional<double> repair;     // default: Goodput::repair
    Origin origin;
  };
  struct Straggler {
    double rate = 0;
    double factor = 1;            // slowdown of iterations
    double lasts = 3600;          // mean of an exponential distribution
    std::optional<double> after;  // time until the node is replaced; default: it recovers by itself
  };
  struct Corruption {
    double rate = 0;
    double found_after = 3600;  // mean of an exponential distribution
  };
  struct Planned {
    double a_week = 0;
    double lasts = 3600;
  };
  enum class Mode : std::uint8_t { sync, async, peer };
  struct Checkpoint {
    Mode mode = Mode::sync;
    std::optional<Located<double>>
        interval;  // training time between checkpoints; default: Daly's optimum
    std::optional<std::uint64_t> bytes;
    std::optional<double> storage;  // write bandwidth of all nodes together, bytes/s
    std::optional<double> read;     // read bandwidth of all nodes together; default: as storage
    double copy = 25e9;             // bandwidth from a GPU to host memory, bytes/s
    // Training time between copies of the state to a peer node's memory, in seconds; default: a
    // minute.
    std::optional<Located<double>> peer_interval;
    double peer = 25e9;             // bandwidth between the memories of two nodes, bytes/s
    std::optional<double> network;  // bandwidth that training and storage share, bytes/s
    std::optional<double> traffic;  // training traffic on the shared network, bytes/s
  };

  double duration = 30 * 86400.0;
  std::vector<Failure> failures;
  std::optional<Located<std::filesystem::path>> trace;
  std::optional<Located<std::uint32_t>>
      trace_nodes;  // nodes of the recorded cluster; default: of the job
  Straggler straggler;
  Corruption corruption;
  Planned planned;
  Checkpoint checkpoint;
  double detection = 0;
  double restart = 300;
  double repair = 86400;
  std::optional<std::uint32_t> spares;  // default: there is always a spare
  bool spares_are_racks = false;        // the number of spares counts racks
  Unit replaces = Unit::node;           // what is exchanged for a spare: the node, or its rack
  bool rest_is_spare = false;           // nodes of the cluster that the job does not use are spares
  bool elastic = false;
};
inline constexpr std::array<std::string_view, 6> failure_kinds{"gpu",     "node",     "nic",
                                                               "network", "software", "rack"};
inline constexpr std::array<std::string_view, 3> failure_units{"node", "rack", "gpu"};
inline constexpr std::array<std::string_view, 2> replaced_units{"node", "rack"};
inline constexpr std::array<std::string_view, 3> checkpoint_modes{"sync", "async", "peer"};

inline std::string_view name_of(Goodput::Kind kind) {
  return failure_kinds.at(static_cast<std::size_t>(kind));
}
inline std::string_view name_of(Goodput::Mode mode) {
  return checkpoint_modes.at(static_cast<std::size_t>(mode));
}

// Returns failure rates that were published for a cluster: rsc-1, rsc-2 or llama-3.
std::vector<Goodput::Failure> published_failures(std::string_view name);

Goodput read_goodput(const Field& field);
std::vector<KeyRow> goodput_keys();

}  // namespace pipewright::config
