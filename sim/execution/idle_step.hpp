#pragma once

#include <vector>

#include "sim/execution/collectives/places.hpp"
#include "sim/execution/copies.hpp"
#include "sim/execution/gradient_count.hpp"

namespace pipewright::execution {

// What Synchronizer and Device do between the passes, where nothing contends: collectives take as
// long as they take alone, and those of a device follow one another. For one iteration.
class IdleStep {
 public:
  // Throws Unsupported for what needs the network.
  IdleStep(const Job& job, trace::Sink& sink);

  // When the weights of each stage are there; empty if they are all along.
  std::vector<double> weights_arrive() const;
  // Passes of a device come in order.
  void pass(std::uint32_t device, const schedules::Pass& pass, const schedules::PassSpan& span);
  // After all passes.
  void finish();

 private:
  double seconds(const std::vector<Copies::Leg>& legs) const;
  void reduce(std::uint32_t device, std::uint32_t stage, double posted);

  const Job& job_;
  trace::Sink& sink_;
  Places places_;
  Copies copies_;
  std::vector<double> gradient_seconds_;  // by stage, of a part
  std::vector<double> weight_seconds_;    // by stage
  std::vector<GradientCount> counts_;     // by device, likewise the next
  std::vector<double> busy_until_;        // of its collectives
  std::vector<double> passes_end_;
  std::vector<double> gathering_;
};

}  // namespace pipewright::execution
