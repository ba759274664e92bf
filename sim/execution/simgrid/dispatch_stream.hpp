#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/execution/simgrid/device_context.hpp"

namespace pipewright::execution {

// Collective inside a pass, with the seconds of compute that run beside it.
struct Slot {
  workload::Call call;
  double overlap;
  bool of_partner = false;  // of the second pass of a fused pair
};

// Runs the collectives of the second stream of a fused pair beside its kernels: those of both
// passes, one after the other. They slow down the compute beside them.
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
  // Seconds, for each pass of the pair, by which these collectives take longer than the compute of
  // the same pass that can hide them.
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
