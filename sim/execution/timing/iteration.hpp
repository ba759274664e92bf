#pragma once

#include <vector>

#include "sim/execution/timing/replica_timeline.hpp"

namespace pipewright::execution {

class CollectiveQueue;

// Computes the times of a job without contention, iteration by iteration: weights are gathered,
// passes run, gradients are reduced, the norm is computed, and the optimizer makes its step. With
// several iterations, all devices must wait for the norm of each.
class TimedIterations {
 public:
  // `replicas` are simulated and stand for all others. Trace rows of the first one go to `rows`, if
  // not null.
  TimedIterations(const Job& job, std::vector<std::uint32_t> replicas,
                  const ReplicaGroups& replica_groups, LeastTimes& least_times, TimingRows* rows);

  // Times at which parts of an iteration end, in seconds since the start of the run.
  struct Ends {
    // Time at which the gradient norm is complete on all devices.
    double synchronized = 0;
    // Time at which all replicas have finished the iteration.
    double end = 0;
  };
  // Computes the next iteration.
  Ends run();

 private:
  using ByDevice = std::vector<double>;

  std::vector<double> begin_gathers() const;
  void report_gathers(const std::vector<double>& begin) const;
  void run_passes(ReplicaTimeline::Begin begin, TimingRows* rows);
  void run_until_settled(ReplicaTimeline::Begin& begin);
  std::vector<CollectiveSpans> gathers_beside(const std::vector<double>& begin) const;
  CollectiveQueue reductions(bool reported) const;
  ByDevice reduce_gradients() const;
  void tie_embeddings(std::size_t replica, ByDevice& times) const;
  ByDevice gather_weights(const std::vector<ByDevice>& updated) const;
  void report_last(trace::WaitEvent event, std::uint32_t stage, const std::vector<ByDevice>& times,
                   const std::vector<std::uint32_t>& devices) const;

  const Job& job_;
  std::vector<std::uint32_t> replicas_;
  const ReplicaGroups& replica_groups_;
  LeastTimes& least_times_;
  TimingRows* rows_;
  StageCollectives collectives_;
  std::vector<std::vector<std::uint32_t>>
      stages_;                   // stages that other GPUs hold as well, by device
  std::uint32_t iteration_ = 0;  // next iteration
  // True if collectives slow down passes beside them.
  bool slows_ = false;
  // True if the time at which the gradients of a device's stages are reduced follows from one
  // replica.
  bool is_single_replica_enough_ = false;
  // State of each simulated replica.
  std::vector<ReplicaTimeline> timelines_;
  // Time at which each device can begin the next iteration, by simulated replica.
  std::vector<ByDevice> free_;
  std::vector<ReplicaTimeline::Passes> passes_;
};

}  // namespace pipewright::execution
