#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/execution/wiring.hpp"

namespace pipewright::execution {

// The collectives of the main simulation.
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

}  // namespace pipewright::execution
