#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/goodput.hpp"

namespace pipewright::goodput {

inline constexpr double never = std::numeric_limits<double>::infinity();

// What a seed may have: hundreds of times what is seen on the largest clusters in a year, and
// seconds of simulation.
inline constexpr double most_incidents = 1e6;

// What fails, of a whole job. Times in seconds.
struct FailureKind {
  std::string name;
  double rate = 0;          // a second, of all units together
  double shape = 1;         // of Weibull's distribution of a unit's times
  std::uint32_t units = 1;  // that fail, each for itself
  std::uint32_t nodes = 1;  // that are out together
  double detection = 0;
  double repair = 0;

  bool operator==(const FailureKind&) const = default;
};

// One that did happen.
struct TracedFailure {
  double at = 0;
  FailureKind kind;
  std::uint64_t node = 0;  // its number in the trace

  bool operator==(const TracedFailure&) const = default;
};

// A training of weeks in numbers: what the simulation takes.
struct Setting {
  std::uint32_t nodes = 1;
  std::uint32_t replicas = 1;
  double duration = never;  // seconds; it ends then, or
  double target = never;    // after so many seconds of training that lasts

  std::vector<FailureKind> failures;
  std::vector<TracedFailure> trace;
  // The trace is of a cluster of which the job has this part of the nodes: each seed draws them,
  // and a day of the trace on which training begins. 0: it is of the job itself.
  double trace_share = 0;
  double straggler_rate = 0;  // a second, of all nodes
  double straggler_factor = 1;
  double straggler_lasts = 0;
  double straggler_replaced_after = never;
  double corruption_rate = 0;
  double corruption_found_after = 0;

  double planned_every = never;  // a stop that is planned
  double planned_lasts = 0;

  config::Goodput::Mode mode = config::Goodput::Mode::sync;
  double interval = 0;        // seconds of training between two checkpoints
  double least_interval = 0;  // seconds of an iteration, at whose end a checkpoint is; 0: any
  double bytes = 0;           // of one
  double storage = 1;         // bytes/s
  double read = 1;            // bytes/s
  double copy = 0;            // seconds in which GPUs copy to their hosts
  double peer_interval = 0;
  double peer = 0;     // seconds until a peer has it, or gives it back
  double network = 0;  // bytes/s that training and storage share; 0: each has its own
  double traffic = 0;  // bytes/s of training there

  double restart = 0;
  double repair = 0;
  std::optional<std::uint32_t> spares;  // none: there is always one
  bool elastic = false;

  bool operator==(const Setting&) const = default;
};

// Seconds of a checkpoint to or from a storage of this rate, alone on the network.
double flow_seconds(const Setting& setting, double rate);
// Seconds for which training waits at a checkpoint when nothing else is on the network.
double stall(const Setting& setting);
// Replicas that cannot train without so many nodes.
std::uint32_t replicas_of(const Setting& setting, std::uint32_t nodes);
// Events a second that stop the job unexpectedly.
double stops(const Setting& setting);
// The part of the time that planned stops take, each with its checkpoint, `restart` and loading.
double planned_part(const Setting& setting, double restart);

}  // namespace pipewright::goodput
