#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/goodput.hpp"

namespace pipewright::goodput {

inline constexpr double never = std::numeric_limits<double>::infinity();

// Maximum number of incidents per seed: hundreds of times as many as the largest clusters have in a
// year; they take seconds to simulate.
inline constexpr double max_incidents = 1e6;

// Kind of failure, with the rate at which it hits the whole job. Times are in seconds.
struct FailureKind {
  std::string name;
  double rate = 0;            // Failures per second of all units.
  double shape = 1;           // Weibull shape of the times between failures of a unit.
  std::uint32_t units = 1;    // Number of units that fail independently.
  std::uint32_t nodes = 1;    // Nodes that a failure takes down.
  std::uint32_t drained = 0;  // Nodes that leave the job with them until the repair.
  double detection = 0;
  double repair = 0;

  bool operator==(const FailureKind&) const = default;
};

// A recorded failure.
struct TracedFailure {
  double at = 0;
  FailureKind kind;
  std::uint64_t node = 0;  // Number of the node in the trace.

  bool operator==(const TracedFailure&) const = default;
};

// All parameters of a simulated goodput run. Times are in seconds.
struct Setting {
  std::uint32_t nodes = 1;
  std::uint32_t replicas = 1;
  double duration = never;  // The run ends after this time,
  double target = never;    // or after this much training that lasts.

  std::vector<FailureKind> failures;
  std::vector<TracedFailure> trace;
  // Fraction of the trace's cluster that the job uses. Each seed draws the nodes, and the day of
  // the trace on which training begins. 0 if the trace belongs to the job itself.
  double trace_share = 0;
  double straggler_rate = 0;  // Per second, of all nodes.
  double straggler_factor = 1;
  double straggler_lasts = 0;
  double straggler_replaced_after = never;
  double corruption_rate = 0;
  double corruption_found_after = 0;

  double planned_every = never;  // Time between planned stops.
  double planned_lasts = 0;

  config::Goodput::Mode mode = config::Goodput::Mode::sync;
  double interval = 0;       // Training between two checkpoints.
  double min_interval = 0;   // An iteration, at whose end checkpoints are taken; 0 if unlimited.
  double bytes = 0;          // Size of a checkpoint.
  double storage = 1;        // Write rate in bytes/s.
  double read = 1;           // Read rate in bytes/s.
  double copy = 0;           // Time for GPUs to copy a checkpoint to their hosts.
  double peer_interval = 0;  // Training between two copies to peers.
  double peer = 0;           // Time to copy a checkpoint to a peer, or back.
  double network = 0;  // Bytes/s of the network that training and storage share; 0 if not shared.
  double traffic = 0;  // Bytes/s that training sends over it.

  double restart = 0;
  double repair = 0;
  std::uint32_t drained = 0;  // Nodes that leave the job with a single node that is replaced.
  std::optional<std::uint32_t> spares;  // Nothing: a spare is always available.
  bool elastic = false;

  bool operator==(const Setting&) const = default;
};

// Returns the seconds to transfer a checkpoint at `rate` bytes/s, if nothing else uses the network.
double flow_seconds(const Setting& setting, double rate);
// Returns the seconds for which a checkpoint stops training on an otherwise idle network.
double stall(const Setting& setting);
// Returns the number of replicas that cannot train without `nodes` nodes.
std::uint32_t replicas_of(const Setting& setting, std::uint32_t nodes);
// Returns the rate of unplanned interruptions per second.
double interruption_rate(const Setting& setting);
// Returns the fraction of time that planned stops take, including the checkpoint before and
// `restart` seconds after each stop.
double planned_part(const Setting& setting, double restart);

}  // namespace pipewright::goodput
