#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "sim/cluster/simgrid.hpp"

namespace pipewright::execution {

// Watches a collective that its device takes part in, to slow down while it goes on.
class CollectiveListener {
 public:
  virtual ~CollectiveListener() = default;
  virtual void collective_started() = 0;
  virtual void collective_ended() = 0;
};

// A collective that devices come to one by one, until somebody sees that all are there and starts
// it. Called from inside actors.
class CollectiveInstance {
 public:
  // `run` starts the flows and calls back when they are done.
  using Run = std::function<void(std::function<void()> done)>;
  CollectiveInstance(double epoch, Run run) : epoch_(epoch), run_(std::move(run)) {}

  void arrive(CollectiveListener* listener);  // which may be null
  // Calls `after` when it is over. The collective outlives that.
  void start(std::function<void()> after);
  // Blocks the actor until it is over.
  void wait();

  bool is_over() const { return over_; }
  double start_time() const { return start_; }  // seconds from the start of the run
  double end_time() const { return end_; }

 private:
  double now() const { return cluster::sg4::Engine::get_clock() - epoch_; }

  double epoch_;
  Run run_;
  std::vector<CollectiveListener*> listeners_;
  std::uint32_t waiting_ = 0;
  bool over_ = false;
  double start_ = 0;
  double end_ = 0;
  cluster::sg4::SemaphorePtr ended_ = cluster::sg4::Semaphore::create(0);
};

// Runs collectives one after the other, as those of one communicator.
class Stream {
 public:
  void add(std::shared_ptr<CollectiveInstance> collective);

 private:
  void next();

  std::deque<std::shared_ptr<CollectiveInstance>> ready_;
  bool busy_ = false;
};

}  // namespace pipewright::execution
