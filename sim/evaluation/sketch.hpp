#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/evaluation/layouts.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {

// Computes lower bounds on the time and memory of schedules of one layout that hold for any order
// of passes. A bound takes microseconds, where building an order takes milliseconds. Arguments
// passed by reference must outlive this object.
class Sketches {
 public:
  // `capacity` is the memory of each device in bytes. `settle` adds to pass times the least time by
  // which collectives inside passes lengthen them; none: no network.
  Sketches(const config::Scenario& scenario, const Hardware& hardware,
           std::vector<std::uint64_t> capacity, workload::Planner::Settle settle);

  // Row of a candidate schedule with lower bounds of its iteration time and of its peak memory.
  // Empty where there are none without an order of passes: for schedule files, without a model, or
  // with jitter. Throws config::Error for impossible candidates.
  std::optional<analysis::CandidateRow> sketch(const config::ScheduleSpec& spec);

 private:
  // Properties of a schedule that its bounds depend on, whatever the order of its passes.
  struct Rule {
    // Input and weight gradients are computed in one pass.
    bool whole_backward = false;
    // Forward and backward passes may run in fused pairs.
    bool in_pairs = false;
    // No chunk recomputes activations, so that all of them stay in memory.
    bool holds_all = true;
  };
  // Passes of a stage on one route: seconds in an iteration, and of the shortest microbatch.
  struct StageSeconds {
    double total = 0;    // seconds of an iteration
    double awaited = 0;  // seconds of an iteration, without weight gradients that run separately
    double least_forward = 0;  // seconds of one microbatch
    double least_awaited =
        0;  // seconds of the part of one microbatch's backward that others wait for
  };
  struct PlacedCosts {
    schedules::Routes routes;
    std::uint32_t slices = 1;  // slices of a microbatch; each slice is a pass
    workload::StageCosts costs = {};
    double step_s = 0;  // seconds of the shortest optimizer step of a device
    // Microbatches differ in their tokens, and so in the activations that they hold.
    bool tokens_vary = false;
    // By Rule::whole_backward and Rule::in_pairs, by route and stage; empty: not needed yet.
    std::array<std::array<std::vector<StageSeconds>, 2>, 2> seconds = {};
  };
  PlacedCosts& place(const schedules::Routes& routes, std::uint32_t slices,
                     const config::ScheduleSpec& spec);
  const std::vector<StageSeconds>& stage_seconds(PlacedCosts& placement, const Rule& rule) const;
  analysis::CandidateRow row_for(PlacedCosts& placement, const Rule& rule) const;
  // Lower bound on the seconds of an iteration without its optimizer step: the passes of the
  // busiest device, and with a single iteration also filling and draining the pipeline.
  double least_seconds(PlacedCosts& placement, const Rule& rule) const;
  // Lower bound on the peak memory of a device, in bytes: what it holds while the loss of the only
  // microbatch in flight is computed.
  std::uint64_t held_bytes(const PlacedCosts& placement, std::uint32_t device,
                           const Rule& rule) const;

  const config::Scenario& scenario_;
  const Hardware& hardware_;
  std::vector<std::uint64_t> capacity_;
  workload::Planner::Settle settle_;
  std::deque<PlacedCosts> placements_;
};

}  // namespace pipewright::evaluation
