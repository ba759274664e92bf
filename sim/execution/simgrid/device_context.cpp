#include "sim/execution/simgrid/device_context.hpp"

#include <algorithm>

namespace pipewright::execution {

namespace sg4 = cluster::sg4;

void ComputeClock::change(int delta) {
  running_ += delta;
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
  while (work > 0) {  // SimGrid treats a timeout of 0 as no timeout
    const double rate = running_ > 0 ? 1 / (1 + excess) : 1;
    watching_ = true;
    const bool timed_out = changed_->acquire_timeout(work / rate);
    watching_ = false;
    if (timed_out) return now + work / rate;
    const double time = std::max(now, sg4::Engine::get_clock() - epoch_);
    work = std::max(0.0, work - (time - now) * rate);
    now = time;
  }
  return now;
}

DeviceContext::DeviceContext(const Job& run_job, ReplicaDevice copy, double run_start,
                             Synchronizer& collectives, trace::Sink& rows)
    : job(run_job),
      self(copy),
      epoch(run_start),
      synchronizer(collectives),
      replica_groups(collectives.replica_groups()),
      sink(copy.replica == run_job.reported_replica ? &rows : nullptr),
      clock(run_start) {}

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
