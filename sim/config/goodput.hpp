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

// What happens to a training of weeks, and what is done about it. Rates are for 1000 days of a node
// of the job, as clusters publish them; times are seconds.
struct Goodput {
  enum class Kind : std::uint8_t { gpu, node, nic, network, software };
  struct Failure {
    Kind kind = Kind::node;
    double rate = 0;
    double shape =
        1;  // of Weibull's distribution of a node's time between failures; 1: exponential
    std::optional<std::uint32_t> nodes;  // that are out together; else 1, and none of software
    std::optional<double> detection;     // else that of all
    std::optional<double> repair;        // likewise
    Origin origin;
  };
  struct Straggler {
    double rate = 0;
    double factor = 1;            // iterations take so many times as long
    double lasts = 3600;          // mean of an exponential distribution
    std::optional<double> after;  // it is found and replaced; else it goes by itself
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
    std::optional<Located<double>> interval;  // of training between two to the storage; else Daly's
    std::optional<std::uint64_t> bytes;
    std::optional<double> storage;  // bytes/s of all nodes together, written
    std::optional<double> read;     // likewise; else as written
    double copy = 25e9;             // bytes/s of a GPU to its host's memory
    // Of training between two to a peer's memory; else a minute.
    std::optional<Located<double>> peer_interval;
    double peer = 25e9;             // bytes/s of a node to another's memory
    std::optional<double> network;  // bytes/s of all nodes, which training and storage share
    std::optional<double> traffic;  // bytes/s of training on it
  };

  double duration = 30 * 86400.0;
  std::vector<Failure> failures;
  std::optional<Located<std::filesystem::path>> trace;
  std::optional<Located<std::uint32_t>> trace_nodes;  // of the cluster that it is of, else the job
  Straggler straggler;
  Corruption corruption;
  Planned planned;
  Checkpoint checkpoint;
  double detection = 0;
  double restart = 300;
  double repair = 86400;
  std::optional<std::uint32_t> spares;  // nodes; else there is always one
  bool rest_is_spare = false;           // or those of the cluster that the job does not use
  bool elastic = false;
};
inline constexpr std::array<std::string_view, 5> failure_kinds{"gpu", "node", "nic", "network",
                                                               "software"};
inline constexpr std::array<std::string_view, 3> checkpoint_modes{"sync", "async", "peer"};

inline std::string_view name_of(Goodput::Kind kind) {
  return failure_kinds.at(static_cast<std::size_t>(kind));
}
inline std::string_view name_of(Goodput::Mode mode) {
  return checkpoint_modes.at(static_cast<std::size_t>(mode));
}

// Rates that were published: rsc-1, rsc-2 or llama-3.
std::vector<Goodput::Failure> published_failures(std::string_view name);

Goodput read_goodput(const Field& field);
std::vector<KeyRow> goodput_keys();

}  // namespace pipewright::config
