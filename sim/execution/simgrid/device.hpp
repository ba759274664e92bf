#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "sim/execution/common_window.hpp"
#include "sim/execution/simgrid/network.hpp"
#include "sim/execution/simgrid/pass_runner.hpp"

namespace pipewright::execution {

// The actor of one device of one replica: walks its program, waits for inputs and weights,
// computes, sends, and ends each iteration with the optimizer's step.
class Device {
 public:
  // Rows of the first replica go to `sink`. `iterations` hears of those that it has done; null:
  // nobody counts them.
  Device(const Job& job, ReplicaDevice who, double epoch, Synchronizer& others, trace::Sink& sink,
         IterationCount* iterations);
  Device(const Device&) = delete;  // its parts refer to each other
  Device& operator=(const Device&) = delete;

  void run(const Network& network);
  // The pass at which it stands; none when it has done all.
  std::optional<schedules::Pass> stands_at() const;

 private:
  // When the input was sent and had arrived, for a device that is ready to receive it `now`.
  schedules::PassSpan wait_for_input(const schedules::Pass& pass, double now,
                                     const Network& network);
  // Returns when the device may go on.
  double send_output(const schedules::Pass& pass, double now, const Network& network);
  void run_pair(const schedules::Pass& pass, const schedules::Pass& partner,
                schedules::PassSpan span, double ready, const Network& network);
  void end_pass(const schedules::Pass& pass);
  void count(const schedules::Pass& pass);
  // Whether it is to run the pass at which it stands.
  bool enters(const schedules::Pass& pass);
  void finish_iteration(std::uint32_t iteration);
  void tie_embeddings(trace::StepRow& row);

  DeviceContext context_;
  std::optional<Recorder> recorder_;  // none: nobody looks at this replica
  GradientReducer gradients_;
  WeightGatherer weights_;
  PassRunner passes_;
  schedules::PassCursor at_;
  bool at_partner_ = false;  // waits for the input of the second of a fused pair
  std::uint64_t passes_of_iteration_;
  IterationCount* iterations_;
  std::map<std::uint32_t, std::uint64_t> done_;  // passes, by iterations that have some left
};

}  // namespace pipewright::execution
