#pragma once

#include <array>
#include <span>

#include "schedules/program.hpp"
#include "sim/execution/pass_work.hpp"
#include "sim/execution/simgrid/dispatch_stream.hpp"
#include "sim/execution/simgrid/gradient_reducer.hpp"
#include "sim/execution/simgrid/weight_gatherer.hpp"

namespace pipewright::execution {

// Simulates the compute of a device's passes: their duration, the milestones during a pass, and the
// collectives inside it if these are simulated in full.
class PassRunner {
 public:
  PassRunner(DeviceContext& device, GradientReducer& gradients, WeightGatherer& weights)
      : device_(device), gradients_(gradients), weights_(weights) {}

  struct Interval {
    // Time at which the compute starts. Waits for weights during the pass count as if they preceded
    // it.
    double start = 0;
    double end = 0;
  };
  // Runs the device's current pass, or a fused pair, which may start at `start` at the earliest.
  Interval run(const schedules::PassCursor& at, const schedules::Pass& pass,
               const schedules::Pass* partner, double start);

 private:
  class PassProgress;

  PassWork work_of(const schedules::Pass& pass, const schedules::Pass* partner) const {
    return execution::work_of(device_.job, device_.replica_groups, device_.self, pass, partner);
  }
  // Runs compute and the collectives inside the passes in turn. In a fused pair, the collectives of
  // the second stream run beside the other work throughout.
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
