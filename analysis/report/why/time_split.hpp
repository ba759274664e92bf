#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/report/idle_time.hpp"
#include "analysis/report/why/trace_index.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// A piece of time in which a device computes nothing, with its cause. Optimizer steps are not idle
// time.
struct Idle {
  std::uint32_t device = 0;
  IdleCause cause = IdleCause::other;
  double start = 0;
  double end = 0;
  std::uint32_t stage = 0;       // stage of the cause
  std::uint32_t microbatch = 0;  // microbatch of the cause, if it has one

  bool operator==(const Idle&) const = default;
};

// All periods in which a device is idle, sorted by device and time. Together with passes and
// optimizer steps they cover each device's time from 0 to the makespan.
std::vector<Idle> idle_times(const TraceIndex& index);

// Seconds that one device spends on each activity of a run. They add up to the makespan. metrics.md
// has the formulas.
struct TimeSplit {
  std::uint32_t device = 0;
  std::array<double, trace::pass_kinds> compute_s{};  // by kind; without waits inside passes
  double in_passes_s = 0;                             // waits for collectives inside passes
  double p2p_s = 0;         // transfers of the next input, and sends that block the device
  double weights_s = 0;     // gathering of weights
  double gradients_s = 0;   // reduction of gradients
  double embeddings_s = 0;  // reduction of tied embeddings
  double norm_s = 0;        // norm of all gradients, once all devices have theirs
  double optimizer_s = 0;
  double replicas_s = 0;  // waits for other replicas once this replica is ready
  // Pipeline bubble: idle time in which the device waits only for passes of other devices.
  double warm_up_s = 0;    // before the first backward
  double steady_s = 0;     // between the first backward and the last forward
  double cool_down_s = 0;  // after the last forward
  double imbalance_s = 0;  // work that the busiest device has more; not in the other three

  double computing_s() const;
  double collectives_s() const { return weights_s + gradients_s + embeddings_s + norm_s; }
  double bubble_s() const { return warm_up_s + steady_s + cool_down_s + imbalance_s; }
  double total_s() const {
    return computing_s() + in_passes_s + p2p_s + collectives_s() + optimizer_s + replicas_s +
           bubble_s();
  }
};

std::vector<TimeSplit> time_splits(const TraceIndex& index);

}  // namespace pipewright::analysis
