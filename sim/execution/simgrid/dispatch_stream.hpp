#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/execution/simgrid/device_context.hpp"

namespace pipewright::execution {

// One collective within a pass, and the seconds of compute beside which it runs.
struct Turn {
  workload::Call call;
  double beside;
  bool of_partner = false;  // in a fused pair
};

// The second stream of a fused pair: tokens of both passes go to experts and back in collectives
// that follow one another, and slow down the compute beside them.
class DispatchStream final : public CollectiveListener {
 public:
  // `first` and the numbers after it tell its collectives apart from the device's others. Beside
  // them compute takes 1 + `excess` times as long. The stream outlives them: see wait().
  DispatchStream(DeviceContext& device, std::vector<Turn> turns, std::uint64_t first,
                 double excess);

  void start();
  // Blocks the device's actor until all are over.
  void wait();
  // Seconds of the collectives of either pass, but for what its own compute hides.
  const std::array<double, 2>& exposed() const { return exposed_; }

  void collective_joined() override { device_.clock.collective_joined(); }
  void collective_started() override;
  void collective_ended() override;

 private:
  void post() { device_.others.call(device_.self, turns_[at_].call, first_ + at_, this); }

  DeviceContext& device_;
  std::vector<Turn> turns_;
  std::uint64_t first_;
  double slowdown_;
  std::size_t at_ = 0;
  double started_ = 0;  // SimGrid's clock
  std::array<double, 2> exposed_{};
  cluster::sg4::SemaphorePtr over_ = cluster::sg4::Semaphore::create(0);
};

}  // namespace pipewright::execution
