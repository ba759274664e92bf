#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/execution/simgrid/device_context.hpp"

namespace pipewright::execution {

// Gradients of a device: detects when those of a stage, and of all stages, are complete, and
// reduces them over the device's replicas, in parts.
class GradientReducer {
 public:
  explicit GradientReducer(DeviceContext& device);

  const std::vector<std::uint32_t>& stages() const { return stages_; }  // stages of the device

  // Number of parts in which gradients become complete and are reduced while this pass runs, layer
  // by layer from the last one on; 0: reductions do not overlap with the pass.
  std::uint32_t parts(const schedules::Pass& pass) const;
  // Starts the reduction of a part that is complete at `now`.
  void reduce(const schedules::Pass& pass, std::uint32_t part, double now);

  // Registers the end of a pass. Returns the iteration whose gradients it completes, if any.
  std::optional<std::uint32_t> add(const schedules::Pass& pass);
  // Waits at the end of an iteration for all reductions and returns the time of the last.
  double finish();

 private:
  // True if this pass, which is not added yet, is the last to add to its stage's gradients.
  bool completes_stage(const schedules::Pass& pass) const;
  // True if a reduction follows this pass: after the last microbatch of the stage, or, with sharded
  // gradients, after every microbatch.
  bool completes_gradients(const schedules::Pass& pass) const;
  void reduce_all(const schedules::Pass& pass, double now);

  DeviceContext& device_;
  std::vector<std::uint32_t> stages_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>
      added_;                                        // by iteration and stage
  std::map<std::uint32_t, std::uint32_t> complete_;  // number of complete stages, by iteration
  std::vector<PendingCollective> pending_;
  std::vector<schedules::Pass>
      unreduced_;  // passes whose gradients are reduced at the end of the iteration
};

}  // namespace pipewright::execution
