#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/cluster/simgrid/engine.hpp"
#include "sim/execution/simgrid/wiring.hpp"

namespace pipewright::execution {

// Watches a collective that its device takes part in, to slow down while it goes on.
class CollectiveListener {
 public:
  virtual ~CollectiveListener() = default;
  virtual void collective_joined() = 0;  // which others may start from now on
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

// Carries the collectives of the main simulation over the network.
class CollectiveRunner {
 public:
  // Flows go into `account`, by the class of traffic that each call gives.
  CollectiveRunner(Wiring& wiring, const LinkAccount& account)
      : wiring_(wiring), account_(account) {}

  // From an actor: runs collectives one after the other, then calls back. Groups outlive the run.
  void run(const std::vector<CollectiveOp>& ops, trace::TrafficClass traffic,
           const std::function<void()>& done);

 private:
  void run_from(const std::shared_ptr<const std::vector<CollectiveOp>>& ops, std::size_t at,
                const LinkAccount& account, const std::function<void()>& done);

  Wiring& wiring_;
  LinkAccount account_;
};

// A pass among those of its stage.
struct PassOfStage {
  schedules::PassKind kind = schedules::PassKind::forward;
  std::uint32_t microbatch = 0;

  auto operator<=>(const PassOfStage&) const = default;
};

// A part of a stage's gradients or weights that one collective reduces or gathers: of an iteration,
// or, where each pass has a collective of its own, of this pass.
struct PartOfStage {
  std::uint32_t stage = 0;
  std::uint32_t iteration = 0;
  std::uint32_t part = 0;
  std::optional<PassOfStage> pass;

  auto operator<=>(const PartOfStage&) const = default;
};

// Where the devices of a job and their replicas come together: gradients, weights, the embedding
// that the first and the last stage share, the norm of all gradients, and, in full detail, the
// collectives within passes. Each member of a collective asks for it once, and all in the same
// order.
class Synchronizer {
 public:
  using Joined = std::shared_ptr<CollectiveInstance>;  // at which the caller has arrived

  Synchronizer(const Job& job, const ReplicaGroups& replica_groups, double epoch,
               CollectiveRunner& runner);

  const ReplicaGroups& replica_groups() const { return replica_groups_; }

  Joined gradients(const PartOfStage& which, CollectiveListener* listener);
  Joined weights(const PartOfStage& which, CollectiveListener* listener);
  Joined embeddings(ReplicaDevice who, std::uint32_t iteration);  // null where nothing is tied
  Joined norm(std::uint32_t iteration);
  // `count` tells the calls of a device apart.
  Joined call(ReplicaDevice who, const workload::Call& call, std::uint64_t count,
              CollectiveListener* listener);

 private:
  enum class What : std::uint8_t { gradients, weights, embeddings, norm, call };
  struct Key {
    What what = What::norm;
    workload::Group group = workload::Group::world;  // of a call
    std::uint32_t place = 0;                         // replica, or process group of a call
    PartOfStage part = {};                           // of an iteration, if no more
    std::uint64_t call = 0;
    auto operator<=>(const Key&) const = default;
  };
  static trace::TrafficClass class_of(What what);
  using Ops = std::function<std::vector<CollectiveOp>()>;
  Joined join(const Key& key, std::uint32_t members, CollectiveListener* listener, Stream* stream,
              const Ops& ops);

  const Job& job_;
  double epoch_;
  CollectiveRunner& runner_;
  const ReplicaGroups& replica_groups_;
  std::vector<Stream> streams_;                           // by device: one communicator's order
  std::map<Key, std::pair<std::uint32_t, Joined>> open_;  // and how many are still to come
};

}  // namespace pipewright::execution
