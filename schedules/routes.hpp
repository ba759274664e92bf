#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace pipewright::schedules {

// Placement of stages: the device that runs each stage of a microbatch. Most schedules have one
// route for all microbatches. A schedule with n routes runs microbatch k on route k mod n. A
// bidirectional schedule has two, so each stage lives on two devices. An attention-parallel
// schedule has more: its stages with weights live on one device, and attention, which has none, on
// many.
class Routes {
 public:
  // Returns the looped placement: device s mod `devices` has stage s.
  static Routes looped(std::uint32_t devices, std::uint32_t chunks);

  // Returns the V placement: device d has the stages d and 2 * devices - 1 - d.
  static Routes v_shape(std::uint32_t devices);

  // Returns a placement with two routes and one stage per device; the second route runs from the
  // last device to the first.
  static Routes both_ways(std::uint32_t devices);

  // Returns a placement whose stages are parts of layers (HelixPipe). Even stages are parameter
  // parts, the matrices of a layer after its attention and those of the next layer before it; stage
  // 2k is on device k mod `devices`. Stage 2k+1 is the attention of layer k. Of each `devices` x
  // `fold` successive microbatches, the first `fold` run it on the device after that of stage 2k,
  // the next `fold` on the device after that, and so on.
  static Routes attention_parallel(std::uint32_t devices, std::uint32_t layers_per_device,
                                   std::uint32_t fold);

  // Makes a placement from device_of[route][stage]; all routes have the same number of stages.
  // Stages are parts of layers, and every second one attention, if `divides_layers`.
  explicit Routes(std::vector<std::vector<std::uint32_t>> device_of, bool divides_layers = false);

  std::uint32_t count() const { return static_cast<std::uint32_t>(device_of_.size()); }
  std::uint32_t stages() const { return static_cast<std::uint32_t>(device_of_.front().size()); }
  std::uint32_t route_of(std::uint32_t microbatch) const {
    return count() == 1 ? 0 : microbatch % count();
  }
  std::uint32_t device(std::uint32_t stage, std::uint32_t microbatch) const {
    return device_of_[route_of(microbatch)][stage];
  }
  // Returns the index of a stage among the stages of its device, in ascending order from 0.
  std::uint32_t chunk(std::uint32_t stage, std::uint32_t microbatch) const {
    return chunk_of_[route_of(microbatch)][stage];
  }

  // Returns whether layers are divided among stages. Other placements give stages whole layers.
  bool divides_layers() const { return divides_layers_; }
  // Returns false for the attention of a layer that is divided among stages.
  bool has_weights(std::uint32_t stage) const { return !divides_layers_ || stage % 2 == 0; }

  // Returns the pairs of devices that exchange boundary tensors, in both directions.
  std::set<std::pair<std::uint32_t, std::uint32_t>> neighbours() const;

  friend bool operator==(const Routes&, const Routes&) = default;

 private:
  std::vector<std::vector<std::uint32_t>> device_of_;
  std::vector<std::vector<std::uint32_t>> chunk_of_;
  bool divides_layers_ = false;
};

}  // namespace pipewright::schedules
