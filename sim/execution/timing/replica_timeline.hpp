#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "schedules/costs.hpp"
#include "schedules/program.hpp"
#include "sim/execution/least_times.hpp"
#include "sim/execution/milestones.hpp"
#include "sim/execution/pass_work.hpp"
#include "sim/execution/timing/collective_spans.hpp"
#include "sim/execution/timing/rows.hpp"

namespace pipewright::execution {

// Collectives of a job's stages over their replicas, with lower bounds of their durations in
// seconds.
struct StageCollectives {
  StageCollectives(const Job& job, const ReplicaGroups& replica_groups, LeastTimes& least_times);

  // Parts of a stage's gradients; 0: no other GPU holds the stage.
  std::vector<std::uint32_t> parts;
  // Parts of a stage's weights; 0: no other GPU holds the stage, or weights are always complete.
  std::vector<std::uint32_t> weight_parts;
  std::vector<double> gradients;   // of a part, by stage
  std::vector<double> weights;     // of a part, by stage
  bool has_shared_stages = false;  // some stage is held by several GPUs
};

// ZeRO-2 and 3: collectives that a device takes part in between its passes, one after the other, in
// the order of its passes. The order is the same on all replicas of the device, so no collective
// overtakes another.
class DeviceStream {
 public:
  // The first collective starts at `start` at the earliest. Rows go to `rows`, and the periods of
  // collectives to `spans`, if not null.
  DeviceStream(const Job& job, std::uint32_t device, const StageCollectives& collectives,
               double start, TimingRows* rows, CollectiveSpans* spans);

  void reduce_gradients(std::uint32_t stage, double posted) {
    add(trace::CollectiveKind::reduce_gradients, stage, posted, collectives_.gradients[stage]);
  }
  // ZeRO-3: time at which a part of the weights of the pass that runs at `now`, or of its partner,
  // is available. Requests the next part; after the last part, the first one of the next pass.
  double wait_for_weights(const schedules::Pass& pass, const Milestone& needed, bool is_last,
                          double now);
  double end() const { return end_; }

 private:
  void add(trace::CollectiveKind kind, std::uint32_t stage, double posted, double seconds) {
    const double start = std::max(end_, posted);
    end_ = start + seconds;
    if (spans_ != nullptr) spans_->add(start, end_);
    if (rows_ != nullptr)
      rows_->collective({.device = device_,
                         .stage = stage,
                         .kind = kind,
                         .posted = posted,
                         .start = start,
                         .end = end_});
  }
  void gather_weights(std::uint32_t stage, double posted) {
    add(trace::CollectiveKind::gather_weights, stage, posted, collectives_.weights[stage]);
  }
  void prefetch(double time);

  const Job& job_;
  const StageCollectives& collectives_;
  std::uint32_t device_;
  TimingRows* rows_;
  CollectiveSpans* spans_;
  schedules::PassCursor ahead_;     // next pass whose weights are not requested yet
  std::array<double, 2> arrive_{};  // arrival of requested weights of the pass and of its partner
  double end_;
};

// ZeRO-2 and 3: whether gradients are reduced after each pass that produces them.
inline bool reduces_between_passes(const Job& job) {
  return job.conditions.zero >= 2 && !job.costs.traffic.empty();
}

// A device becomes ready for the collective of a part of a stage's gradients or weights.
struct PartReady {
  std::uint32_t device = 0;
  std::uint32_t stage = 0;
  std::uint32_t part = 0;
  double time = 0;  // seconds from the start of the run
};

// Passes of one replica without contention, each as early as its inputs and weights allow.
class ReplicaTimeline {
 public:
  ReplicaTimeline(const Job& job, std::uint32_t replica, const ReplicaGroups& replica_groups,
                  const StageCollectives& collectives, LeastTimes& least_times);

  // Begin of an iteration, in seconds from the start of the run.
  struct Begin {
    // Time at which a device is free for its first pass, by device.
    std::vector<double> devices;
    // Time at which gathering of the first part of a stage's weights starts, by stage.
    std::vector<double> weights;
    std::uint32_t first_microbatch = 0;  // counted over all iterations
    // Periods of collectives beside a device's passes, as far as known, by device. Empty: none slow
    // down passes.
    std::vector<CollectiveSpans> beside = {};
    // True if reductions of the replica itself extend `beside`, because all replicas do the same.
    bool adds_reductions = false;
  };
  struct Passes {
    double end = 0;                  // end of all passes
    std::vector<double> released;    // by device: end of the last pass's sends
    std::vector<double> gathering;   // by device: seconds that passes waited for weights
    std::vector<double> stream_end;  // by device: end of the collectives of ZeRO-2 and 3
    std::vector<PartReady> posts;    // remaining collectives, in the order of each device
  };
  // Throws schedules::Deadlock. Rows go to `rows`, if not null.
  Passes run(const Begin& begin, TimingRows* rows) const;

 private:
  class Follower;

  // Collectives inside a pass, for runs that simulate each of them.
  struct Calls {
    struct TimedCall {
      double seconds = 0;
      // Compute of the pass that can hide it, in seconds.
      double overlappable = 0;
      std::optional<std::size_t> dispatch;  // half of the pass, if it is a dispatch
    };
    std::vector<TimedCall> calls;
    double overlappable = 0;  // sum over the calls
  };

  void add_works();
  void add_calls();
  Calls time_calls(const std::vector<workload::Call>& calls, ReplicaDevice copy) const;
  PassWork work(std::uint32_t device, schedules::Pass pass, const schedules::Pass* partner,
                std::uint32_t first_microbatch) const;
  // Calls of a pass. Where microbatches differ, they are computed into `buffer`; else all
  // microbatches share them.
  const Calls& calls_in(std::uint32_t device, schedules::Pass pass, std::uint32_t first_microbatch,
                        Calls& buffer) const;
  // Seconds that simulated collectives add to a pass or a fused pair.
  double waits(std::uint32_t device, const schedules::Pass& pass, const schedules::Pass* partner,
               const PassWork& work, std::uint32_t first_microbatch) const;
  static double pair_waits(const Calls& pass_calls, const Calls& partner_calls,
                           const PassWork& work);

  const Job& job_;
  std::uint32_t replica_;
  const ReplicaGroups& replica_groups_;
  const StageCollectives& collectives_;
  LeastTimes& least_times_;
  schedules::HopTimes hops_;
  using Works = std::array<std::vector<PassWork>, schedules::pass_kinds>;
  // Work of passes outside pairs, by route. Empty: microbatches differ.
  std::vector<Works> works_;
  std::vector<std::array<Calls, schedules::pass_kinds>> calls_;  // by stage; empty: none
};

}  // namespace pipewright::execution
