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

  explicit Talk(Wiring& wiring) : wiring_(wiring) {}

  // From an actor: runs legs one after the other, then calls back. Groups outlive the run.
  void run(std::vector<Leg> legs, std::function<void()> done);

 private:
  void run_from(std::shared_ptr<std::vector<Leg>> legs, std::size_t at, std::function<void()> done);

  Wiring& wiring_;
};

}  // namespace pipewright::execution
