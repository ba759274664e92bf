#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/execution/copies.hpp"
#include "sim/execution/meeting.hpp"
#include "sim/execution/talk.hpp"

namespace pipewright::execution {

// Where the devices of a job and their copies come together: gradients, weights, the embedding that
// the first and the last stage share, the norm of all gradients, and, in full detail, the
// collectives within passes. Each member of a meeting asks for it once, and all in the same order.
class Synchronizer {
 public:
  using Joined = std::shared_ptr<Meeting>;  // at which the caller has arrived

  Synchronizer(const Job& job, const Copies& copies, double epoch, Talk& talk);

  const Copies& copies() const { return copies_; }

  // `index` tells meetings of a stage and an iteration apart: the part, or the pass.
  Joined gradients(std::uint32_t stage, std::uint32_t iteration, std::uint64_t index,
                   Attendance* who);
  Joined weights(std::uint32_t stage, std::uint32_t iteration, std::uint64_t index,
                 Attendance* who);
  Joined embeddings(Unit unit, std::uint32_t iteration);  // null where nothing is tied
  Joined norm(std::uint32_t iteration);
  // `count` tells the calls of a device apart.
  Joined call(Unit unit, const workload::Call& call, std::uint64_t count, Attendance* who);

 private:
  enum class What : std::uint8_t { gradients, weights, embeddings, norm, call };
  struct Key {
    What what;
    std::uint32_t place;  // stage, replica, or group and party
    std::uint32_t iteration;
    std::uint64_t index;
    auto operator<=>(const Key&) const = default;
  };
  static trace::TrafficClass class_of(What what);
  using Legs = std::function<std::vector<Copies::Leg>()>;
  Joined join(const Key& key, std::uint32_t members, Attendance* who, Stream* stream,
              const Legs& legs);

  const Job& job_;
  double epoch_;
  Talk& talk_;
  const Copies& copies_;
  std::vector<Stream> streams_;                           // by device: one communicator's order
  std::map<Key, std::pair<std::uint32_t, Joined>> open_;  // and how many are still to come
};

}  // namespace pipewright::execution
