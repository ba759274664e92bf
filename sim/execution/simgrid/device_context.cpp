#include "sim/execution/simgrid/device_context.hpp"

#include <algorithm>

namespace pipewright::execution {

namespace sg4 = cluster::sg4;

void ComputeClock::change(int by) {
  running_ += by;
  if (!watching_) return;
  watching_ = false;
  changed_->release();
}

double ComputeClock::advance(double now, double work, double excess) {
  if (excess == 0 || joined_ == 0) {
    sg4::this_actor::sleep_until(epoch_ + now + work);
    return now + work;
  }
  sg4::this_actor::sleep_until(epoch_ + now);
  while (work > 0) {  // SimGrid takes a timeout of 0 for none
    const double rate = running_ > 0 ? 1 / (1 + excess) : 1;
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

DeviceContext::DeviceContext(const Job& given, ReplicaDevice who, double start,
                             Synchronizer& synchronizer, trace::Sink& rows)
    : job(given),
      self(who),
      epoch(start),
      others(synchronizer),
      replica_groups(synchronizer.replica_groups()),
      sink(who.replica == 0 ? &rows : nullptr),
      clock(start) {}

void DeviceContext::catch_up(double time) {
  now = time;
  sg4::this_actor::sleep_until(epoch + time);
}

double DeviceContext::finish(PendingCollective& pending) const {
  pending.instance->wait();
  pending.row.start = std::max(pending.row.posted, pending.instance->start_time());
  pending.row.end = std::max(pending.row.start, pending.instance->end_time());
  if (sink != nullptr) sink->collective(pending.row);
  return pending.row.end;
}

}  // namespace pipewright::execution
