#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/report/idle_time.hpp"
#include "analysis/report/why/trace_index.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// A piece of time in which a device computes nothing, for one reason. An optimizer's step is no
// idle time.
struct Idle {
  std::uint32_t device = 0;
  IdleCause cause = IdleCause::other;
  double start = 0;
  double end = 0;
  std::uint32_t stage = 0;       // of the cause
  std::uint32_t microbatch = 0;  // likewise, where it has one

  bool operator==(const Idle&) const = default;
};

// All of them, device by device in order of time. Together with passes and optimizer's steps they
// cover each device from 0 to the makespan.
std::vector<Idle> idle_times(const TraceIndex& index);

// Where a device's time goes, in seconds that add up to the makespan. Formulas: metrics.md.
struct TimeSplit {
  std::uint32_t device = 0;
  std::array<double, trace::pass_kinds> compute_s{};  // by kind; without waits within passes
  double in_passes_s = 0;                             // those waits
  double p2p_s = 0;         // its next input, or its own send, is on the way
  double weights_s = 0;     // are gathered
  double gradients_s = 0;   // are reduced
  double embeddings_s = 0;  // tied ones are
  double norm_s = 0;        // of all gradients, once all devices have theirs
  double optimizer_s = 0;
  // The bubble: what it waits for other devices' passes, and for nothing more.
  double warm_up_s = 0;    // before its first backward
  double steady_s = 0;     // between
  double cool_down_s = 0;  // after its last forward
  double imbalance_s = 0;  // what it has less to do than the busiest device; in none of the three

  double computing_s() const;
  double collectives_s() const { return weights_s + gradients_s + embeddings_s + norm_s; }
  double bubble_s() const { return warm_up_s + steady_s + cool_down_s + imbalance_s; }
  double total_s() const {
    return computing_s() + in_passes_s + p2p_s + collectives_s() + optimizer_s + bubble_s();
  }
};

std::vector<TimeSplit> time_splits(const TraceIndex& index);

}  // namespace pipewright::analysis
