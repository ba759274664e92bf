#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/execution/simgrid/device_context.hpp"

namespace pipewright::execution {

// A collective inside a pass, and the seconds of compute beside which it runs.
struct Slot {
  workload::Call call;
  double overlap;
  bool of_partner = false;  // of the second pass of a fused pair
};

// Second stream of a fused pair: dispatches of both passes run in collectives one after the other
// and slow down the compute beside them.
class DispatchStream final : public CollectiveListener {
 public:
  // Collectives of the stream have the numbers `first`, `first` + 1 and so on among the device's
  // collectives. Beside them compute takes 1 + `excess` times as long. The stream must outlive its
  // collectives: see wait().
  DispatchStream(DeviceContext& device, std::vector<Slot> slots, std::uint64_t first,
                 double excess);

  void start();
  // Blocks the device's actor until all collectives are over.
  void wait();
  // Seconds of each pass's collectives that its own compute does not hide.
  const std::array<double, 2>& exposed() const { return exposed_; }

  void collective_joined() override { device_.clock.collective_joined(); }
  void collective_started() override;
  void collective_ended() override;

 private:
  void post() { device_.synchronizer.call(device_.self, slots_[at_].call, first_ + at_, this); }

  DeviceContext& device_;
  std::vector<Slot> slots_;
  std::uint64_t first_;
  double slowdown_;
  std::size_t at_ = 0;
  double started_ = 0;  // by SimGrid's clock
  std::array<double, 2> exposed_{};
  cluster::sg4::SemaphorePtr over_ = cluster::sg4::Semaphore::create(0);
};

}  // namespace pipewright::execution
