#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "sim/execution/common_window.hpp"
#include "sim/execution/simgrid/network.hpp"
#include "sim/execution/simgrid/pass_runner.hpp"

namespace pipewright::execution {

// Simulates one device of one replica, as an actor. It runs its passes in order: waits for inputs
// and weights, computes, sends, and ends each iteration with the optimizer's step.
class Device {
 public:
  // Rows of the reported replica go to `sink`. `iterations`, if not null, counts finished
  // iterations.
  Device(const Job& job, ReplicaDevice copy, double epoch, Synchronizer& synchronizer,
         trace::Sink& sink, IterationCount* iterations);
  Device(const Device&) = delete;  // its parts refer to each other
  Device& operator=(const Device&) = delete;

  void run(const Network& network);
  // Pass that the device is running or waiting for; empty after the last one.
  std::optional<schedules::Pass> current_pass() const;

 private:
  // Waits until a pass's input has arrived. Returns the times at which it was sent and had arrived,
  // for a device that is ready to receive it at `now`.
  schedules::PassSpan wait_for_input(const schedules::Pass& pass, double now,
                                     const Network& network);
  // Sends a pass's output, and returns the time at which the device continues.
  double send_output(const schedules::PassCursor& at, double now, const Network& network);
  void run_pair(const schedules::Pass& pass, const schedules::Pass& partner,
                schedules::PassSpan span, double ready, const Network& network);
  void end_pass(const schedules::Pass& pass);
  void count(const schedules::Pass& pass);
  // True if the device may run its current pass, that is, if its job continues with the pass's
  // iteration.
  bool enters(const schedules::Pass& pass);
  void finish_iteration(std::uint32_t iteration);
  void tie_embeddings(trace::StepRow& row);

  DeviceContext context_;
  std::optional<Recorder> recorder_;  // empty: rows of this replica are not reported
  GradientReducer gradients_;
  WeightGatherer weights_;
  PassRunner passes_;
  schedules::PassCursor at_;
  bool at_partner_ = false;  // waits for the input of the second pass of a fused pair
  std::uint64_t passes_of_iteration_;
  IterationCount* iterations_;
  std::map<std::uint32_t, std::uint64_t> done_;  // finished passes of unfinished iterations
};

}  // namespace pipewright::execution
