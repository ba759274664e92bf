#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "schedules/costs.hpp"
#include "schedules/program.hpp"
#include "sim/execution/least_times.hpp"
#include "sim/execution/milestones.hpp"
#include "sim/execution/pass_work.hpp"
#include "sim/execution/timing/collective_spans.hpp"
#include "sim/execution/timing/rows.hpp"

namespace pipewright::execution {

// Numbers and durations of the collectives that reduce a stage's gradients and gather its weights
// over replicas. A duration is a lower bound on the seconds of one collective.
struct StageCollectives {
  StageCollectives(const Job& job, const ReplicaGroups& replica_groups, LeastTimes& least_times);

  // Number of parts of a stage's gradients, by stage; 0: no other GPU holds the stage.
  std::vector<std::uint32_t> parts;
  // Number of parts of a stage's weights, by stage; 0: no other GPU holds the stage, or weights are
  // never gathered (no ZeRO).
  std::vector<std::uint32_t> weight_parts;
  std::vector<double> gradients;  // seconds to reduce a part, by stage
  std::vector<double> weights;    // seconds to gather a part, by stage
  // The same without the collectives between copies of shards.
  std::vector<double> shard_gradients;
  std::vector<double> shard_weights;
  std::vector<std::uint32_t>
      weight_parts_ahead;          // by stage: parts gathered ahead of the one in use
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

  // `is_last`: no later pass adds to the gradients of the stage in this iteration.
  void reduce_gradients(std::uint32_t stage, bool is_last, double posted) {
    const bool with_copies = is_last || !job_.conditions.sums_copies_once;
    add(trace::CollectiveKind::reduce_gradients, stage, posted,
        (with_copies ? collectives_.gradients : collectives_.shard_gradients)[stage]);
  }
  // ZeRO-3 only: returns when the needed part of the weights is available to the pass that runs at
  // `now`, or to its partner. Requests a later part; after the last part, the first ones of the
  // next pass.
  double wait_for_weights(const schedules::Pass& pass, const Milestone& needed, bool is_last,
                          double now);
  void gather_weights(std::uint32_t stage, double posted) {
    add(trace::CollectiveKind::gather_weights, stage, posted, collectives_.weights[stage]);
  }
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
  // Weights of a pass that are requested part by part.
  struct Requested {
    bool with_copies = false;     // first pass of its stage in the iteration
    std::uint32_t times = 1;      // gathers of each part
    std::deque<double> arrivals;  // arrivals of the parts that the pass has yet to wait for
  };
  void request(Requested& requested, std::uint32_t stage, double time);
  void prefetch(double time);

  const Job& job_;
  const StageCollectives& collectives_;
  std::uint32_t device_;
  TimingRows* rows_;
  CollectiveSpans* spans_;
  schedules::PassCursor ahead_;            // next pass whose weights are not requested yet
  std::array<Requested, 2> requested_;     // requests of the pass and of its partner
  std::set<std::uint32_t> gathered_once_;  // stages that passes have gathered in this iteration
  double end_;
};

// FSDP that reshards stages of a pipeline: gathers the stages of a device by its plan, one after
// the other. A pass waits for those parts of its stage that no earlier pass has waited for.
class StageGathers {
 public:
  // The parameters are those of DeviceStream.
  StageGathers(const Job& job, std::uint32_t device, const ReplicaGroups& replica_groups,
               const StageCollectives& collectives, double start, TimingRows* rows,
               CollectiveSpans* spans);

  // Make the changes that are due before a pass or fused pair, and after a pass.
  void before_pass(double time) { change(unshards_.before_pass(), time); }
  void after_pass(double time) { change(unshards_.after_pass(), time); }
  // Returns the number of parts of the stage that the next pass waits for.
  std::uint32_t take_parts(std::uint32_t stage) { return std::exchange(parts_[stage], 0); }
  // Returns when a part of the stage's weights arrives.
  double arrival(std::uint32_t stage, std::uint32_t part) const {
    return begin_[stage] + (part + 1) * collectives_.weights[stage];
  }

 private:
  void change(const schedules::UnshardStep* step, double time);

  const StageCollectives& collectives_;
  std::uint32_t device_;
  TimingRows* rows_;
  DeviceStream stream_;
  schedules::UnshardCursor unshards_;
  std::vector<double> begin_;         // by stage: begin of its latest gathering
  std::vector<std::uint32_t> parts_;  // by stage: gathered parts that no pass has waited for
};

// ZeRO-2 and 3: whether gradients are reduced after each pass that produces them.
inline bool reduces_between_passes(const Job& job) {
  return job.conditions.zero >= 2 && !job.costs.traffic.empty();
}

// Time at which a device is ready for the collective of one part of a stage's gradients or weights.
struct PartReady {
  std::uint32_t device = 0;
  std::uint32_t stage = 0;
  std::uint32_t part = 0;
  double time = 0;  // seconds from the start of the run
};

// Computes the times of one replica's passes without contention. Each pass runs as early as its
// inputs and weights allow.
class ReplicaTimeline {
 public:
  ReplicaTimeline(const Job& job, std::uint32_t replica, const ReplicaGroups& replica_groups,
                  const StageCollectives& collectives, LeastTimes& least_times);

  // Conditions at the beginning of an iteration; times in seconds since the start of the run.
  struct Begin {
    // Time at which each device is free for its first pass.
    std::vector<double> devices;
    // Time at which gathering of the first part of a stage's weights starts, by stage.
    std::vector<double> weights;
    std::uint32_t first_microbatch = 0;  // counted over all iterations
    // Known periods in which collectives run beside a device's passes, by device. Empty:
    // collectives do not slow down passes.
    std::vector<CollectiveSpans> beside = {};
    // True if each gradient reduction is added to `beside`, the collectives that slow down passes,
    // as soon as this replica is ready for it. All replicas run alike, so a reduction waits for no
    // other one.
    bool adds_reductions = false;
  };
  struct Passes {
    double end = 0;                  // end of all passes
    std::vector<double> released;    // by device: end of the last pass's sends
    std::vector<double> gathering;   // by device: seconds that passes waited for weights
    std::vector<double> stream_end;  // by device: end of the collectives of ZeRO-2 and 3
    std::vector<PartReady> posts;    // remaining collectives, in the order of each device
  };
  // Computes an iteration. Throws schedules::Deadlock. Trace rows go to `rows`, if not null.
  Passes run(const Begin& begin, TimingRows* rows) const;

 private:
  class Follower;

  // Collectives inside a pass, with their durations, for runs that simulate each of them.
  struct Calls {
    struct TimedCall {
      double seconds = 0;
      // Seconds of the pass's compute that can hide the collective.
      double overlappable = 0;
      std::optional<std::size_t> half;  // Job::half_in_pair()
    };
    std::vector<TimedCall> calls;
    double overlappable = 0;  // sum over the calls
  };

  void add_works();
  void add_calls();
  Calls time_calls(const std::vector<workload::Call>& calls, ReplicaDevice copy) const;
  PassWork work(std::uint32_t device, schedules::Pass pass, const schedules::Pass* partner,
                std::uint32_t first_microbatch) const;
  // Collectives of a pass. If microbatches differ, they are computed into `buffer`; else all
  // microbatches use the same ones.
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
  // Work of passes outside fused pairs, by route. Empty if microbatches differ.
  std::vector<Works> works_;
  std::vector<std::array<Calls, schedules::pass_kinds>> calls_;  // by stage; empty: none
};

}  // namespace pipewright::execution
