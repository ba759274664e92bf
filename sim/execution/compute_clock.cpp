#include "sim/execution/compute_clock.hpp"

#include <algorithm>

namespace pipewright::execution {

namespace sg4 = cluster::sg4;

void ComputeClock::change(int by) {
  running_ += by;
  if (!watching_) return;
  watching_ = false;
  changed_->release();
}

double ComputeClock::advance(double now, double work, double slowed) {
  if (slowdown_ == 1) {
    sg4::this_actor::sleep_until(epoch_ + now + work);
    return now + work;
  }
  sg4::this_actor::sleep_until(epoch_ + now);
  while (work > 0) {  // SimGrid takes a timeout of 0 for none
    const double rate = running_ > 0 ? 1 / (1 + slowed * (slowdown_ - 1)) : 1;
    watching_ = true;
    const bool timed_out = changed_->acquire_timeout(work / rate);
    watching_ = false;
    if (timed_out) return now + work / rate;
    const double then = std::max(now, sg4::Engine::get_clock() - epoch_);
    work = std::max(0.0, work - (then - now) * rate);
    now = then;
  }
  return now;
}

}  // namespace pipewright::execution
