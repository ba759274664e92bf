#pragma once

#include <array>
#include <span>

#include "schedules/program.hpp"
#include "sim/execution/pass_work.hpp"
#include "sim/execution/simgrid/dispatch_stream.hpp"
#include "sim/execution/simgrid/gradient_reducer.hpp"
#include "sim/execution/simgrid/weight_gatherer.hpp"

namespace pipewright::execution {

// How a device computes: what its passes take, what falls due on the way, and the collectives
// within them where these are simulated in full.
class PassRunner {
 public:
  PassRunner(DeviceContext& device, GradientReducer& gradients, WeightGatherer& weights)
      : device_(device), gradients_(gradients), weights_(weights) {}

  struct Ran {
    double start = 0;  // what it waited for weights on the way counts as before it
    double end = 0;
  };
  // Runs the pass at which the device stands, or the fused pair, which can start at `start`.
  Ran run(const schedules::PassCursor& at, const schedules::Pass& pass,
          const schedules::Pass* partner, double start);

 private:
  class Running;

  PassWork work_of(const schedules::Pass& pass, const schedules::Pass* partner) const {
    return execution::work_of(device_.job, device_.replica_groups, device_.self, pass, partner);
  }
  // Takes turns with the collectives within the passes; of a fused pair, tokens are on their way to
  // experts beside all of it.
  void run_with_collectives(Running& running, const schedules::Pass& pass,
                            const schedules::Pass* partner);
  std::array<double, 2> take_turns(Running& running, std::span<const Turn> turns, double compute);

  DeviceContext& device_;
  GradientReducer& gradients_;
  WeightGatherer& weights_;
  std::uint64_t calls_ = 0;  // collectives within passes so far
};

}  // namespace pipewright::execution
