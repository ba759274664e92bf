#pragma once

#include "sim/execution/collective_instance.hpp"

namespace pipewright::execution {

// A device's clock of work: while collectives run beside it, work takes `slowdown` times as long.
class ComputeClock final : public CollectiveListener {
 public:
  ComputeClock(double slowdown, double epoch) : slowdown_(slowdown), epoch_(epoch) {}

  // Blocks the actor for `work` seconds of undisturbed work from `now` on; returns the end. Of the
  // work the share `slowed` is compute, the rest waits, which pass as they do.
  double advance(double now, double work, double slowed = 1);

  void collective_started() override { change(+1); }
  void collective_ended() override { change(-1); }

 private:
  void change(int by);

  double slowdown_;
  double epoch_;
  int running_ = 0;
  bool watching_ = false;
  cluster::sg4::SemaphorePtr changed_ = cluster::sg4::Semaphore::create(0);
};

}  // namespace pipewright::execution
