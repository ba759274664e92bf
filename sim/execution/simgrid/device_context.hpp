#pragma once

#include <memory>

#include "sim/execution/simgrid/synchronizer.hpp"

namespace pipewright::execution {

// A device's clock of work, which takes longer while collectives run beside it.
class ComputeClock final : public CollectiveListener {
 public:
  explicit ComputeClock(double epoch) : epoch_(epoch) {}

  // Blocks the actor for `work` seconds of undisturbed work from `now` on; returns the end. Beside
  // collectives it takes 1 + `excess` times as long.
  double advance(double now, double work, double excess);

  void collective_joined() override { ++joined_; }
  void collective_started() override { change(+1); }
  void collective_ended() override {
    --joined_;
    change(-1);
  }

 private:
  void change(int by);

  double epoch_;
  int joined_ = 0;  // that are not over
  int running_ = 0;
  bool watching_ = false;
  cluster::sg4::SemaphorePtr changed_ = cluster::sg4::Semaphore::create(0);
};

// A collective that a device has posted and waits for later.
struct PendingCollective {
  std::shared_ptr<CollectiveInstance> instance;
  trace::CollectiveRow row;
};

// What the parts of a device share: whose copy it is, with whom it talks, and its own time.
struct DeviceContext {
  // `epoch` is SimGrid's clock at the start of the run. Rows of the first replica go to `sink`.
  DeviceContext(const Job& job, ReplicaDevice self, double epoch, Synchronizer& others,
                trace::Sink& sink);

  // Lets SimGrid's clock come to where this device's time may be already, before others are told.
  void catch_up(double time);
  // Waits until a collective is over, reports it, and returns its end.
  double finish(PendingCollective& pending) const;

  const Job& job;
  const ReplicaDevice self;
  const double epoch;
  Synchronizer& others;
  const ReplicaGroups& replica_groups;
  trace::Sink* const sink;  // null: nobody looks at this replica
  ComputeClock clock;
  double now = 0;  // seconds from the start of the run, exact where SimGrid's clock has rounded
};

}  // namespace pipewright::execution
