#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "sim/workload/plan/schedule_costs.hpp"
#include "sim/workload/schedule_source.hpp"

namespace pipewright::workload {

// A schedule of a scenario, generated and checked, and the costs of its passes.
struct Plan {
  schedules::Schedule schedule;
  StageCosts costs;
};

// Plans the schedules of one scenario and computes what they share only once. Everything that is
// passed by reference must outlive the planner.
class Planner {
 public:
  // Adjusts the costs of a placement before they are used.
  using Settle = std::function<void(const schedules::Schedule&, StageCosts&)>;

  // `cache` holds schedules and may be shared with other planners; it may be null.
  Planner(const config::Scenario& scenario, const Gpus& gpus, NetworkEstimate estimate = {},
          ScheduleCache* cache = nullptr, Settle settle = {});

  // Throws what make_plan throws.
  std::shared_ptr<const schedules::Schedule> schedule(const config::ScheduleSpec& spec);
  // Search request for the order that `searched` stands for, without running the search.
  schedules::SearchRequest search_request(const config::ScheduleSpec& spec) const {
    return workload::search_request(scenario_, spec, gpus_, estimate_);
  }
  // The result is valid until the next call, and holds for schedules on the same placement.
  const StageCosts& costs(const schedules::Schedule& schedule);

 private:
  // Costs of a placement's stages with which schedules are planned.
  struct PlanningCosts {
    schedules::PassTimes times;      // empty if the scenario gives no times for the placement
    double hop = 0;                  // seconds
    double input_grad_releases = 0;  // smallest share of a microbatch's activations in any stage
  };
  struct PlacementCosts {
    schedules::Routes routes;
    std::uint32_t slices = 1;
    StageCosts costs;
  };
  PlanningCosts costs_from_times(const schedules::Routes& routes) const;
  // Errors name the schedule `name`.
  PlanningCosts costs_from_model(const schedules::Routes& routes, const std::string& name) const;
  schedules::Parameters parameters(const config::ScheduleSpec& spec);
  // Throws config::Error if dispatch should overlap but the schedule runs no passes in pairs. Null
  // stands for a searched schedule, which runs passes one by one.
  void check_pairs(const config::ScheduleSpec& spec, const schedules::Schedule* schedule) const;
  const StageCosts& costs_on_placement(const schedules::Schedule& schedule);

  const config::Scenario& scenario_;
  const Gpus& gpus_;
  NetworkEstimate estimate_;
  ScheduleCache* cache_;
  Settle settle_;
  std::map<std::uint32_t, PlanningCosts> planning_costs_;  // by number of stages
  std::deque<PlacementCosts> placements_;
  StageCosts schedule_costs_;  // costs of a single schedule
};

// Throws config::Error for a schedule that has no place for the passes of a split vocabulary.
void check_vocabulary(const config::Scenario& scenario, const config::ScheduleSpec& spec);

// Throws config::Error at the location in the scenario of an impossible request: an unknown
// schedule, sizes that the schedule does not support, or a list of times that fits neither devices
// nor stages.
Plan make_plan(const config::Scenario& scenario, const config::ScheduleSpec& spec,
               const Gpus& gpus = {}, const NetworkEstimate& estimate = {});
// Plan of a schedule that was made elsewhere.
Plan make_plan(const config::Scenario& scenario, schedules::Schedule schedule,
               const Gpus& gpus = {});

}  // namespace pipewright::workload
