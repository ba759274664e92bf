#pragma once

#include <array>
#include <span>

#include "schedules/program.hpp"
#include "sim/execution/pass_work.hpp"
#include "sim/execution/simgrid/dispatch_stream.hpp"
#include "sim/execution/simgrid/gradient_reducer.hpp"
#include "sim/execution/simgrid/weight_gatherer.hpp"

namespace pipewright::execution {

// Runs the compute of a device: the duration of passes, milestones during passes, and the
// collectives inside passes where these are simulated in full.
class PassRunner {
 public:
  PassRunner(DeviceContext& device, GradientReducer& gradients, WeightGatherer& weights)
      : device_(device), gradients_(gradients), weights_(weights) {}

  struct Interval {
    // Waits for weights during the pass count as time before the start.
    double start = 0;
    double end = 0;
  };
  // Runs the current pass, or a fused pair, which can start at `start`.
  Interval run(const schedules::PassCursor& at, const schedules::Pass& pass,
               const schedules::Pass* partner, double start);

 private:
  class PassProgress;

  PassWork work_of(const schedules::Pass& pass, const schedules::Pass* partner) const {
    return execution::work_of(device_.job, device_.replica_groups, device_.self, pass, partner);
  }
  // Alternates compute with the collectives inside the passes. In a fused pair, dispatch runs
  // beside the other work throughout.
  void run_with_collectives(PassProgress& progress, const schedules::Pass& pass,
                            const schedules::Pass* partner);
  std::array<double, 2> alternate(PassProgress& progress, std::span<const Slot> slots,
                                  double compute);

  DeviceContext& device_;
  GradientReducer& gradients_;
  WeightGatherer& weights_;
  std::uint64_t calls_ = 0;  // number of collectives inside passes so far
};

}  // namespace pipewright::execution
