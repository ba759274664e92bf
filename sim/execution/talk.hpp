#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/execution/wiring.hpp"

namespace pipewright::execution {

// The collectives of the main simulation.
class Talk {
 public:
  using Leg = Copies::Leg;

  // Flows go into `account`, by the class of traffic that each call gives.
  Talk(Wiring& wiring, const LinkAccount& account) : wiring_(wiring), account_(account) {}

  // From an actor: runs legs one after the other, then calls back. Groups outlive the run.
  void run(const std::vector<Leg>& legs, trace::TrafficClass traffic,
           const std::function<void()>& done);

 private:
  void run_from(const std::shared_ptr<const std::vector<Leg>>& legs, std::size_t at,
                const LinkAccount& account, const std::function<void()>& done);

  Wiring& wiring_;
  LinkAccount account_;
};

}  // namespace pipewright::execution
