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

// A schedule of a scenario, which has been generated and checked, and the costs of its passes.
struct Plan {
  schedules::Schedule schedule;
  StageCosts costs;
};

// Makes the plans of a scenario's schedules, and computes the costs that several of them share only
// once. All arguments that are passed by reference must outlive the planner.
class Planner {
 public:
  // Function that adjusts the costs of a placement, such as by timed collectives, before they are
  // used.
  using Settle = std::function<void(const schedules::Schedule&, StageCosts&)>;

  // `cache` stores generated schedules and may be shared with other planners; it may be null.
  Planner(const config::Scenario& scenario, const Gpus& gpus, NetworkEstimate estimate = {},
          ScheduleCache* cache = nullptr, Settle settle = {});

  // Returns the generated and checked schedule. Throws what make_plan throws.
  std::shared_ptr<const schedules::Schedule> schedule(const config::ScheduleSpec& spec);
  // Returns the request for the search whose result is the schedule `searched`, without running the
  // search.
  schedules::SearchRequest search_request(const config::ScheduleSpec& spec) const {
    return workload::search_request(scenario_, spec, gpus_, estimate_);
  }
  // Returns the costs of a schedule's passes. They are valid until the next call, and the same for
  // all schedules on the same placement.
  const StageCosts& costs(const schedules::Schedule& schedule);

 private:
  // Costs of a placement's stages, as far as schedules need them whose order is planned with times.
  struct PlanningCosts {
    schedules::PassTimes times;      // empty if the scenario gives no times for the placement
    double hop = 0;                  // seconds
    double input_grad_releases = 0;  // smallest share of a microbatch's activations in any stage
  };
  struct PlacementCosts {
    schedules::Routes routes;
    std::uint32_t slices = 1;
    bool braids = false;
    StageCosts costs;
  };
  PlanningCosts costs_from_times(const schedules::Routes& routes) const;
  // Computes these costs with the scenario's model. Error messages name the schedule `name`.
  PlanningCosts costs_from_model(const schedules::Routes& routes, const std::string& name) const;
  schedules::Parameters parameters(const config::ScheduleSpec& spec);
  // Throws config::Error if the scenario demands that expert dispatch overlaps with another pass
  // but the schedule runs no passes in pairs. Null stands for a searched schedule, which runs
  // passes one by one.
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

// Throws config::Error if the vocabulary is split over the pipeline and the schedule cannot run the
// passes of its parts.
void check_vocabulary(const config::Scenario& scenario, const config::ScheduleSpec& spec);

// Generates a schedule and computes its costs. Throws config::Error at the location in the scenario
// of an impossible request: an unknown schedule, sizes that the schedule does not support, or a
// list of times that fits neither devices nor stages.
Plan make_plan(const config::Scenario& scenario, const config::ScheduleSpec& spec,
               const Gpus& gpus = {}, const NetworkEstimate& estimate = {});
// Makes the plan of a schedule that is given rather than generated.
Plan make_plan(const config::Scenario& scenario, schedules::Schedule schedule,
               const Gpus& gpus = {});

}  // namespace pipewright::workload
