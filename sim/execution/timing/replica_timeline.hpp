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

// The collectives of a job's stages over their replicas, and how long one takes at least, in
// seconds.
struct StageCollectives {
  StageCollectives(const Job& job, const ReplicaGroups& replica_groups, LeastTimes& least);

  std::vector<std::uint32_t> parts;         // by stage: of its gradients; 0: nobody else holds it
  std::vector<std::uint32_t> weight_parts;  // by stage; 0: likewise, or they are there all along
  std::vector<double> gradients;            // by stage: of a part
  std::vector<double> weights;              // by stage: of a part
  bool any = false;                         // some stage is held by others as well
};

// ZeRO-2 and 3: the collectives that a device takes part in between its passes, one after the
// other, in the order of its passes. All its replicas have the same order, so that nothing
// overtakes.
class DeviceStream {
 public:
  // Its first collective comes at `start` at the earliest. Rows go to `rows`, and when they run to
  // `spans`, if any.
  DeviceStream(const Job& job, std::uint32_t device, const StageCollectives& collectives,
               double start, TimingRows* rows, CollectiveSpans* spans);

  void reduce_gradients(std::uint32_t stage, double posted) {
    add(trace::CollectiveKind::reduce_gradients, stage, posted, collectives_.gradients[stage]);
  }
  // ZeRO-3: when a part of the weights of the pass that runs at `now`, or of its partner, is there.
  // Then the next is asked for: after the last one the first of the next pass.
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
  schedules::PassCursor ahead_;     // whose weights were not yet asked for
  std::array<double, 2> arrive_{};  // those on their way: of the pass and of its partner
  double end_;
};

// ZeRO-2 and 3: whether gradients are reduced after each pass that makes some.
inline bool reduces_between_passes(const Job& job) {
  return job.conditions.zero >= 2 && !job.costs.traffic.empty();
}

// A device is ready for the collective of a part of a stage's gradients or weights.
struct PartReady {
  std::uint32_t device = 0;
  std::uint32_t stage = 0;
  std::uint32_t part = 0;
  double time = 0;  // seconds from the start of the run
};

// The passes of one replica where nothing contends, each as early as its inputs and weights allow.
class ReplicaTimeline {
 public:
  ReplicaTimeline(const Job& job, std::uint32_t replica, const ReplicaGroups& replica_groups,
                  const StageCollectives& collectives, LeastTimes& least);

  // When an iteration begins. In seconds from the start of the run.
  struct Begin {
    std::vector<double> devices;  // by device: it is free for its first pass
    std::vector<double> weights;  // by stage: the first part of its weights starts to be gathered
    std::uint32_t first_microbatch = 0;  // of those of all iterations
    // By device: the collectives that are known to run beside its passes. Empty: none slows these.
    std::vector<CollectiveSpans> beside = {};
    bool adds_reductions = false;  // to these, since the device's copies do as it does
  };
  struct Passes {
    double end = 0;                  // of all passes
    std::vector<double> released;    // by device: after its last pass
    std::vector<double> gathering;   // by device: seconds that passes waited for weights
    std::vector<double> stream_end;  // by device: of the collectives of ZeRO-2 and 3
    std::vector<PartReady> posts;    // of others, in the order of each device
  };
  // Throws schedules::Deadlock. Rows go to `rows`, if any.
  Passes run(const Begin& begin, TimingRows* rows) const;

 private:
  class Follower;

  // The collectives within a pass that are simulated one by one.
  struct Calls {
    struct One {
      double seconds = 0;
      double beside = 0;                    // of the pass's compute that can hide it
      std::optional<std::size_t> dispatch;  // in this half of the pass
    };
    std::vector<One> all;
    double beside = 0;  // of all
  };

  void add_works();
  void add_calls();
  Calls timed(const std::vector<workload::Call>& calls, ReplicaDevice who) const;
  PassWork work(std::uint32_t device, schedules::Pass pass, const schedules::Pass* partner,
                std::uint32_t first_microbatch) const;
  // Made in `own` where microbatches differ, else those of all.
  const Calls& calls_in(std::uint32_t device, schedules::Pass pass, std::uint32_t first_microbatch,
                        Calls& own) const;
  // Seconds that the collectives simulated one by one add to a pass, or to a fused pair.
  double waits(std::uint32_t device, const schedules::Pass& pass, const schedules::Pass* partner,
               const PassWork& work, std::uint32_t first_microbatch) const;
  static double pair_waits(const Calls& of_pass, const Calls& of_partner, const PassWork& work);

  const Job& job_;
  std::uint32_t replica_;
  const ReplicaGroups& replica_groups_;
  const StageCollectives& collectives_;
  LeastTimes& least_;
  schedules::HopTimes hops_;
  using Works = std::array<std::vector<PassWork>, schedules::pass_kinds>;
  std::vector<Works> works_;  // by route, of passes but pairs; empty: each has a time of its own
  std::vector<std::array<Calls, schedules::pass_kinds>> calls_;  // by stage; empty: none
};

}  // namespace pipewright::execution
