#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/execution/simgrid/device_context.hpp"

namespace pipewright::execution {

// The gradients of a device: knows when those of a stage, and of all its stages, are summed up, and
// reduces them with the device's replicas, in parts.
class GradientReducer {
 public:
  explicit GradientReducer(DeviceContext& device);

  const std::vector<std::uint32_t>& stages() const { return stages_; }  // of the device

  // In how many parts the gradients become whole while this pass runs, layer by layer from the last
  // one on, and are reduced on the way; 0: they are not, or after the pass.
  std::uint32_t parts(const schedules::Pass& pass) const;
  // A part of them is whole at `now`.
  void reduce(const schedules::Pass& pass, std::uint32_t part, double now);

  // A pass has ended. Returns the iteration whose gradients are complete with it.
  std::optional<std::uint32_t> add(const schedules::Pass& pass);
  // At the end of an iteration: waits for what is to be reduced, and returns when it is.
  double finish();

 private:
  // Whether this pass, which has not been added, is the last to add to its stage's gradients.
  bool completes_stage(const schedules::Pass& pass) const;
  // Whether gradients are to be reduced after this pass: of its stage's last microbatch, or, with
  // sharded gradients, of every one.
  bool completes_gradients(const schedules::Pass& pass) const;
  void reduce_all(const schedules::Pass& pass, double now);

  DeviceContext& device_;
  std::vector<std::uint32_t> stages_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> added_;  // iteration, stage
  std::map<std::uint32_t, std::uint32_t> complete_;                         // stages, by iteration
  std::vector<PendingCollective> pending_;
  std::vector<schedules::Pass> unreduced_;  // that completed gradients, until the iteration ends
};

}  // namespace pipewright::execution
