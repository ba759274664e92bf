#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/execution/collective_instance.hpp"
#include "sim/execution/collective_runner.hpp"
#include "sim/execution/replica_groups.hpp"

namespace pipewright::execution {

// Where the devices of a job and their copies come together: gradients, weights, the embedding that
// the first and the last stage share, the norm of all gradients, and, in full detail, the
// collectives within passes. Each member of a collective asks for it once, and all in the same
// order.
class Synchronizer {
 public:
  using Joined = std::shared_ptr<CollectiveInstance>;  // at which the caller has arrived

  Synchronizer(const Job& job, const ReplicaGroups& replica_groups, double epoch,
               CollectiveRunner& runner);

  const ReplicaGroups& replica_groups() const { return replica_groups_; }

  // `index` tells collectives of a stage and an iteration apart: the part, or the pass.
  Joined gradients(std::uint32_t stage, std::uint32_t iteration, std::uint64_t index,
                   CollectiveListener* listener);
  Joined weights(std::uint32_t stage, std::uint32_t iteration, std::uint64_t index,
                 CollectiveListener* listener);
  Joined embeddings(ReplicaDevice who, std::uint32_t iteration);  // null where nothing is tied
  Joined norm(std::uint32_t iteration);
  // `count` tells the calls of a device apart.
  Joined call(ReplicaDevice who, const workload::Call& call, std::uint64_t count,
              CollectiveListener* listener);

 private:
  enum class What : std::uint8_t { gradients, weights, embeddings, norm, call };
  struct Key {
    What what;
    std::uint32_t place;  // stage, replica, or process group and its kind
    std::uint32_t iteration;
    std::uint64_t index;
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
