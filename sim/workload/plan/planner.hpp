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

// One schedule of a scenario, generated and checked, with what its passes cost.
struct Plan {
  schedules::Schedule schedule;
  StageCosts costs;
};

// Plans the schedules of one scenario: what they have in common is worked out once. All that is
// passed by reference outlives this.
class Planner {
 public:
  // Changes the costs of a placement before anybody sees them.
  using Settle = std::function<void(const schedules::Schedule&, StageCosts&)>;

  // `cache`: of schedules, which others share; may be null.
  Planner(const config::Scenario& scenario, const Gpus& gpus, NetworkEstimate estimate = {},
          ScheduleCache* cache = nullptr, Settle settle = {});

  // Throws as make_plan does.
  std::shared_ptr<const schedules::Schedule> schedule(const config::ScheduleSpec& spec);
  // Which order `searched` stands for, without searching it.
  schedules::SearchRequest search_request(const config::ScheduleSpec& spec) const {
    return workload::search_request(scenario_, spec, gpus_, estimate_);
  }
  // Valid until the next call, and for schedules on the same placement.
  const StageCosts& costs(const schedules::Schedule& schedule);

 private:
  // What schedules plan with, of a placement's stages.
  struct PlanningCosts {
    schedules::PassTimes times;      // empty where the scenario gives no such
    double hop = 0;                  // seconds
    double input_grad_releases = 0;  // part of a microbatch's activations, least of all
  };
  struct Placed {
    schedules::Routes routes;
    std::uint32_t slices = 1;
    StageCosts costs;
  };
  PlanningCosts given_costs(const schedules::Routes& routes) const;
  PlanningCosts model_costs(const schedules::Routes& routes,
                            const std::string& name) const;  // for the schedule called so
  schedules::Parameters parameters(const config::ScheduleSpec& spec);
  // Throws where dispatch is to be overlapped and passes run one by one. Null: as searched ones do.
  void check_pairs(const config::ScheduleSpec& spec, const schedules::Schedule* schedule) const;
  const StageCosts& placed(const schedules::Schedule& schedule);

  const config::Scenario& scenario_;
  const Gpus& gpus_;
  NetworkEstimate estimate_;
  ScheduleCache* cache_;
  Settle settle_;
  std::map<std::uint32_t, PlanningCosts> planning_costs_;  // by number of stages
  std::deque<Placed> placed_;
  StageCosts own_;  // of one schedule alone
};

// Throws config::Error for a schedule that has no place for passes of a vocabulary that is cut.
void check_vocabulary(const config::Scenario& scenario, const config::ScheduleSpec& spec);

// Throws config::Error, at the place in the scenario that asked for what cannot be: an unknown
// schedule, sizes that it cannot do, a list of times that fits neither devices nor stages.
Plan make_plan(const config::Scenario& scenario, const config::ScheduleSpec& spec,
               const Gpus& gpus = {}, const NetworkEstimate& estimate = {});
// Of a schedule from elsewhere.
Plan make_plan(const config::Scenario& scenario, schedules::Schedule schedule,
               const Gpus& gpus = {});

}  // namespace pipewright::workload
