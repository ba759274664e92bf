#pragma once

#include <memory>

#include "sim/execution/simgrid/synchronizer.hpp"

namespace pipewright::execution {

// Clock of a device's compute, which slows down while collectives run beside it.
class ComputeClock final : public CollectiveListener {
 public:
  explicit ComputeClock(double epoch) : epoch_(epoch) {}

  // Blocks the actor for `work` seconds of undisturbed compute from `now` on and returns the end.
  // Beside collectives compute takes 1 + `excess` times as long.
  double advance(double now, double work, double excess);

  void collective_joined() override { ++joined_; }
  void collective_started() override { change(+1); }
  void collective_ended() override {
    --joined_;
    change(-1);
  }

 private:
  void change(int delta);

  double epoch_;
  int joined_ = 0;  // collectives that are not over
  int running_ = 0;
  bool watching_ = false;
  cluster::sg4::SemaphorePtr changed_ = cluster::sg4::Semaphore::create(0);
};

// A collective that a device has joined and will wait for.
struct PendingCollective {
  std::shared_ptr<CollectiveInstance> instance;
  trace::CollectiveRow row;
};

// State that the classes which simulate one device share: its position, its clock and its job's
// collectives.
struct DeviceContext {
  // `epoch` is SimGrid's clock at the start of the run. Rows of the reported replica go to
  // `sink`.
  DeviceContext(const Job& job, ReplicaDevice self, double epoch, Synchronizer& synchronizer,
                trace::Sink& sink);

  // Waits until SimGrid's clock has reached `time`. Call it before an event at that time that other
  // devices can observe.
  void catch_up(double time);
  // Waits for the end of a collective, reports it to the sink, and returns the time of the end.
  double finish(PendingCollective& pending) const;

  const Job& job;
  const ReplicaDevice self;
  const double epoch;
  Synchronizer& synchronizer;
  const ReplicaGroups& replica_groups;
  trace::Sink* const sink;  // null: rows of this replica are not reported
  ComputeClock clock;
  // Time of the device, in seconds since the start of the run. Exact, whereas SimGrid's clock is
  // rounded.
  double now = 0;
};

}  // namespace pipewright::execution
