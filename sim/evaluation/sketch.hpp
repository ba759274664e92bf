#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/evaluation/layouts.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {

// What the candidates of one layout take and hold at least, without the order of their passes: that
// takes some microseconds, where building an order takes milliseconds. All that is passed by
// reference outlives this.
class Sketches {
 public:
  // `capacity` of each device in bytes. `settle` adds what the network takes at least; none: no
  // network.
  Sketches(const config::Scenario& scenario, const Hardware& hardware,
           std::vector<std::uint64_t> capacity, workload::Planner::Settle settle);

  // None where only the order of passes tells: of files, or where passes differ.
  // Throws config::Error where the candidate cannot be.
  std::optional<analysis::CandidateRow> of(const config::ScheduleSpec& spec);

 private:
  struct Placed {
    schedules::Routes routes;
    std::uint32_t slices = 1;  // of a microbatch, each a pass
    workload::StageCosts costs = {};
    double step_s = 0;    // the shortest optimizer's
    bool is_even = true;  // all copies of a device and all microbatches are alike
  };
  const Placed& placed(const schedules::Routes& routes, std::uint32_t slices,
                       const config::ScheduleSpec& spec);
  // What is known of an order.
  struct Rule {
    bool whole_backward = false;  // input and weight gradients are one pass
    bool in_pairs = false;        // passes may run in fused pairs
    bool holds_all = true;        // no chunk keeps its input alone
  };
  analysis::CandidateRow on(const Placed& placed, const Rule& rule) const;
  // Seconds of an iteration, of passes alone.
  double least_seconds(const Placed& placed, const Rule& rule) const;
  std::uint64_t held(const Placed& placed, std::uint32_t device, const Rule& rule) const;

  const config::Scenario& scenario_;
  const Hardware& hardware_;
  std::vector<std::uint64_t> capacity_;
  workload::Planner::Settle settle_;
  std::deque<Placed> placed_;
};

}  // namespace pipewright::evaluation
