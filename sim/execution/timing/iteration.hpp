#pragma once

#include <vector>

#include "sim/execution/timing/replica_timeline.hpp"

namespace pipewright::execution {

class CollectiveQueue;

// A job where nothing contends, iteration by iteration: weights are gathered, passes run, gradients
// are reduced, the norm is known and the optimizer has made its step. Where there are several
// iterations, all devices are to wait for the norm of each.
class TimedIterations {
 public:
  // Looks at these replicas, which stand for all others. Rows of the first go to `rows`, if any.
  TimedIterations(const Job& job, std::vector<std::uint32_t> replicas,
                  const ReplicaGroups& replica_groups, LeastTimes& least, TimingRows* rows);

  // Of the next iteration, in seconds from the start of the run.
  struct Ends {
    double synchronized = 0;  // of all devices: the norm is known
    double end = 0;           // of the replica that is reported
  };
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

  const Job& job_;
  std::vector<std::uint32_t> replicas_;
  const ReplicaGroups& replica_groups_;
  LeastTimes& least_;
  TimingRows* rows_;
  StageCollectives collectives_;
  std::vector<std::vector<std::uint32_t>> stages_;  // by device: that others hold as well
  std::uint32_t iteration_ = 0;                     // the next
  bool slows_ = false;                              // passes beside collectives take longer
  bool are_alike_ = false;  // a device alone tells when its stages' gradients are reduced
  // Of each replica that is looked at.
  std::vector<ReplicaTimeline> timelines_;
  std::vector<ByDevice> free_;  // when the next iteration begins
  std::vector<ReplicaTimeline::Passes> passes_;
};

}  // namespace pipewright::execution
