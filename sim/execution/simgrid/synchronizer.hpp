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

// Interface of a device that is told when a collective which it has joined starts and ends, because
// it computes more slowly in between.
class CollectiveListener {
 public:
  virtual ~CollectiveListener() = default;
  // The device has joined; other members may start the collective from now on.
  virtual void collective_joined() = 0;
  virtual void collective_started() = 0;
  virtual void collective_ended() = 0;
};

// A collective that devices join one by one; the last one starts it. Called from actors.
class CollectiveInstance {
 public:
  // Function that starts the flows and calls `done` when they have ended.
  using Run = std::function<void(std::function<void()> done)>;
  CollectiveInstance(double epoch, Run run) : epoch_(epoch), run_(std::move(run)) {}

  void arrive(CollectiveListener* listener);  // listener may be null
  // Starts the collective, and calls `after` when it is over. The object must live until then.
  void start(std::function<void()> after);
  // Blocks the actor until the collective is over.
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

// Queue that runs collectives one after the other, like those of one communicator.
class Stream {
 public:
  void add(std::shared_ptr<CollectiveInstance> collective);

 private:
  void next();

  std::deque<std::shared_ptr<CollectiveInstance>> ready_;
  bool busy_ = false;
};

// Simulates collectives as flows over the network.
class CollectiveRunner {
 public:
  // Flows are recorded in `account`, under the class of traffic of each call.
  CollectiveRunner(Wiring& wiring, const LinkAccount& account)
      : wiring_(wiring), account_(account) {}

  // Runs collectives one after the other, then calls back. Must be called from an actor; groups
  // must outlive the run.
  void run(const std::vector<CollectiveOp>& ops, trace::TrafficClass traffic,
           const std::function<void()>& done);

 private:
  void run_from(const std::shared_ptr<const std::vector<CollectiveOp>>& ops, std::size_t at,
                const LinkAccount& account, const std::function<void()>& done);

  Wiring& wiring_;
  LinkAccount account_;
};

// Key of a pass among the passes of its stage.
struct PassOfStage {
  schedules::PassKind kind = schedules::PassKind::forward;
  std::uint32_t microbatch = 0;

  auto operator<=>(const PassOfStage&) const = default;
};

// Key of one reduction or gathering: which part of which stage's gradients or weights, in which
// iteration and, if each pass has a collective of its own, for which pass.
struct PartOfStage {
  std::uint32_t stage = 0;
  std::uint32_t iteration = 0;
  std::uint32_t part = 0;
  std::optional<PassOfStage> pass;
  bool with_copies = true;  // The collective includes the copies of shards, if any.

  auto operator<=>(const PartOfStage&) const = default;
};

// Brings the members of each collective of a job together: reductions of gradients, gathering of
// weights, the embedding that the first and the last stage share, the norm of all gradients, and,
// in full detail, the collectives inside passes. Every member of a collective joins it once, and
// all members join collectives in the same order.
class Synchronizer {
 public:
  using Joined = std::shared_ptr<CollectiveInstance>;  // collective that the caller has joined

  Synchronizer(const Job& job, const ReplicaGroups& replica_groups, double epoch,
               CollectiveRunner& runner);

  const ReplicaGroups& replica_groups() const { return replica_groups_; }

  Joined gradients(ReplicaDevice copy, const PartOfStage& part, CollectiveListener* listener);
  Joined weights(ReplicaDevice copy, const PartOfStage& part, CollectiveListener* listener);
  Joined embeddings(ReplicaDevice copy,
                    std::uint32_t iteration);  // null where embeddings are not tied
  Joined norm(ReplicaDevice copy, std::uint32_t iteration);
  // `count` is the number of this call among those of its device, the same on all members.
  Joined call(ReplicaDevice copy, const workload::Call& call, std::uint64_t count,
              CollectiveListener* listener);
  // Records that a device copy has finished an iteration.
  void ended(ReplicaDevice copy, std::uint32_t iteration, double end);
  // Reports the waits of the reported replica for other replicas. Call it once, after the run.
  void report_waits(trace::Sink& sink);

 private:
  // The member that is ready last for an event.
  struct Last {
    ReplicaDevice copy;
    double time = -1;
    void add(ReplicaDevice member, double now, std::uint32_t reported_replica);
  };
  struct Open {
    std::uint32_t members = 0;  // number of members that have yet to join
    Joined collective;
    Last last;
  };
  enum class Purpose : std::uint8_t { gradients, weights, embeddings, norm, call };
  struct Key {
    Purpose purpose = Purpose::norm;
    workload::Group group = workload::Group::world;  // for calls
    std::uint32_t index = 0;                         // replica; for calls, process group
    PartOfStage part = {};                           // or only its iteration
    std::uint64_t call = 0;
    auto operator<=>(const Key&) const = default;
  };
  static trace::TrafficClass class_of(Purpose purpose);
  using Ops = std::function<std::vector<CollectiveOp>()>;
  Joined join(const Key& key, ReplicaDevice copy, std::uint32_t members,
              CollectiveListener* listener, Stream* stream, const Ops& ops);
  void note_wait(const Key& key, const Last& last);
  void add_wait(trace::WaitEvent event, std::uint32_t iteration, std::uint32_t stage,
                const Last& last);

  const Job& job_;
  double epoch_;
  CollectiveRunner& runner_;
  const ReplicaGroups& replica_groups_;
  std::vector<Stream> streams_;  // by device; the order of one communicator
  std::map<Key, Open> open_;
  std::vector<trace::WaitRow> waits_;
  std::vector<Last> ends_;  // by iteration
};

}  // namespace pipewright::execution
