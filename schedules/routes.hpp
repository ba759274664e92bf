#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace pipewright::schedules {

// Which devices a microbatch visits, stage by stage. Most schedules have one route for all
// microbatches; a bidirectional one has two (microbatch k takes route k mod 2), so that a stage
// lives on two devices.
class Routes {
 public:
  // The looped placement: stage s on device s mod devices.
  static Routes looped(std::uint32_t devices, std::uint32_t chunks);

  // The V: stage s on device s, and stage 2 devices - 1 - s on it too.
  static Routes v_shape(std::uint32_t devices);

  // Two routes of one stage a device, the second from the last device to the first.
  static Routes both_ways(std::uint32_t devices);

  // device_of[route][stage]; all routes have the same number of stages.
  explicit Routes(std::vector<std::vector<std::uint32_t>> device_of);

  std::uint32_t count() const { return static_cast<std::uint32_t>(device_of_.size()); }
  std::uint32_t stages() const { return static_cast<std::uint32_t>(device_of_.front().size()); }
  std::uint32_t route_of(std::uint32_t microbatch) const {
    return count() == 1 ? 0 : microbatch % count();
  }
  std::uint32_t device(std::uint32_t stage, std::uint32_t microbatch) const {
    return device_of_[route_of(microbatch)][stage];
  }
  // The place of a stage among those of its device, in the order of stages.
  std::uint32_t chunk(std::uint32_t stage, std::uint32_t microbatch) const {
    return chunk_of_[route_of(microbatch)][stage];
  }

  // The pairs of devices between which boundary tensors go, in both directions.
  std::set<std::pair<std::uint32_t, std::uint32_t>> neighbours() const;

  friend bool operator==(const Routes&, const Routes&) = default;

 private:
  std::vector<std::vector<std::uint32_t>> device_of_;
  std::vector<std::vector<std::uint32_t>> chunk_of_;
};

}  // namespace pipewright::schedules
