#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/execution/simgrid/device_context.hpp"

namespace pipewright::execution {

// Reduces the gradients of a device over its replicas, in parts, when a stage's are complete. Also
// detects when those of all its stages are complete.
class GradientReducer {
 public:
  explicit GradientReducer(DeviceContext& device);

  const std::vector<std::uint32_t>& stages() const { return stages_; }  // stages of the device

  // Number of parts in which the pass's stage completes its gradients, and reduces them while the
  // pass runs, from the last layer to the first; 0: no reduction runs beside the pass.
  std::uint32_t parts(const schedules::Pass& pass) const;
  // Starts the reduction of a part that is complete at `now`.
  void reduce(const schedules::Pass& pass, std::uint32_t part, double now);

  // Records that a pass has ended. Returns the iteration whose gradients are then complete, if any.
  std::optional<std::uint32_t> add(const schedules::Pass& pass);
  // Waits until all reductions of an iteration are over, and returns the time of the last end.
  double finish();

 private:
  // True if this pass, not recorded by add() yet, is the last to add to its stage's gradients.
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
