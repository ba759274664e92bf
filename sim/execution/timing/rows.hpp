#pragma once

#include <optional>
#include <vector>

#include "sim/execution/recorder.hpp"
#include "sim/execution/replica_groups.hpp"

namespace pipewright::execution {

// Converts the times that the timing engine computes for the reported replica to trace rows.
class TimingRows {
 public:
  TimingRows(const Job& job, const ReplicaGroups& replica_groups, trace::Sink& sink);

  // Sets the iteration of the rows that follow. Each iteration counts its microbatches from 0;
  // `first_microbatch` is added.
  void start_iteration(std::uint32_t iteration, std::uint32_t first_microbatch) {
    iteration_ = iteration;
    first_microbatch_ = first_microbatch;
  }
  // Reports a pass and the transfer of its input. Call it in the device's order; for a fused pair,
  // with both passes one after the other.
  void pass(std::uint32_t device, schedules::Pass pass, const schedules::PassSpan& span,
            const schedules::HopTimes& hops);
  // ZeRO-3: the weights of a later pass begin to arrive. They are freed when that pass has ended.
  void hold_weights(std::uint32_t device, std::uint32_t stage, double time) {
    recorders_[device].hold_weights(stage, time);
  }
  // Reports a change of the gathered stages of a pipeline.
  void change_weights(std::uint32_t device, const schedules::UnshardStep& step, double time) {
    recorders_[device].change_weights(step, time);
  }
  // Reports a device's part in a collective over its replicas. The bytes are filled in here.
  void collective(trace::CollectiveRow row);
  void step(trace::StepRow row);
  void wait(trace::WaitRow row);

 private:
  void transfer(std::uint32_t device, const schedules::Pass& pass, const schedules::PassSpan& span,
                const schedules::HopTimes& hops);

  const Job& job_;
  const ReplicaGroups& replica_groups_;
  trace::Sink& sink_;
  std::vector<Recorder> recorders_;  // by device
  std::vector<std::optional<schedules::Pass>>
      first_of_pair_;  // by device: first pass of the current pair
  std::uint32_t iteration_ = 0;
  std::uint32_t first_microbatch_ = 0;  // first microbatch of the current iteration
};

}  // namespace pipewright::execution
