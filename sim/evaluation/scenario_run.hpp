#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/job.hpp"
#include "analysis/report/summary.hpp"
#include "analysis/trace/sink.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/execution/run.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {

// Simulates a scenario on its hardware: holds a plan for each of its schedules, which run one after
// the other.
class ScenarioRun {
 public:
  // Opens the cluster and plans. Throws config::Error, cluster::Error, schedules::Error.
  explicit ScenarioRun(config::Scenario scenario);
  ScenarioRun(const ScenarioRun&) = delete;
  ScenarioRun& operator=(const ScenarioRun&) = delete;

  const config::Scenario& scenario() const { return scenario_; }
  const Hardware& hardware() const { return hardware_; }
  const std::vector<workload::Plan>& plans() const { return plans_; }

  // Simulates the schedule with this index. Every trace row goes to all sinks in `rows`; an
  // exception from a sink ends the run. Throws schedules::Deadlock if devices wait for each other
  // forever.
  analysis::Summary run(std::size_t schedule, const std::vector<trace::Sink*>& rows);
  // Replicas that the last simulation of this schedule ran in place of all.
  const execution::Reduction& reduction(std::size_t schedule) const {
    return reductions_.at(schedule);
  }
  // Simulates without contention on the fast timing engine, whatever engine the scenario selects.
  // Throws schedules::Error for jobs whose times would not be exact then.
  analysis::Summary estimate(std::size_t schedule);
  // Simulates the schedule with a few microbatches, and extrapolates to those of the scenario,
  // which plans of this object must not have. Throws config::Error if the schedule does not repeat.
  analysis::Summary run_steadily(std::size_t schedule, const config::Scenario& whole);
  // Seconds of the whole run of the schedule with another random seed: the scenario's own plus
  // `seed_offset`.
  double makespan(std::size_t schedule, std::uint32_t seed_offset, trace::Sink& rows);

 private:
  const execution::Job& job(std::size_t schedule);
  analysis::Summary run_on(execution::EngineKind engine, std::size_t schedule,
                           const std::vector<trace::Sink*>& rows);
  analysis::Summary run_job(const execution::Job& job, const workload::Plan& plan,
                            execution::EngineKind engine, std::size_t schedule,
                            const std::vector<trace::Sink*>& rows);
  trace::RunInfo info(std::size_t schedule) const;

  config::Scenario scenario_;
  Hardware hardware_;
  std::vector<workload::Plan> plans_;
  analysis::JobInfo job_info_;
  std::vector<std::optional<execution::Job>> jobs_;  // by schedule, created on first use
  std::vector<execution::Reduction> reductions_;     // by schedule
};

// Description of a run for the header of outputs. `text` is the scenario to repeat this run.
trace::RunInfo run_info(const config::Scenario& scenario, std::string text,
                        const analysis::JobInfo& job);

// "1f1b", "interleaved-1f1b-x4"
std::string label(const schedules::Schedule& schedule);

// Versions of the simulator and of SimGrid: "pipewright 0.1.0, SimGrid 3.32"
std::string versions();

}  // namespace pipewright::evaluation
