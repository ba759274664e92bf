#include "sim/evaluation/scenario_run.hpp"

#include <utility>

#include <fmt/format.h>

#include "schedules/deadlock.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/job_info.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/evaluation/steady_state.hpp"
#include "sim/evaluation/uneven_cost.hpp"
#include "sim/evaluation/work_and_memory.hpp"

namespace pipewright::evaluation {
namespace {

// Text of the scenario with only this schedule, for reproducing its run.
std::string single_schedule_text(const config::Scenario& scenario, std::size_t schedule) {
  if (scenario.schedules.size() == 1) return scenario.text;
  config::Value tree = scenario.tree;
  const config::Value spec = config::find(tree, "schedule")->items.at(schedule);
  config::set_key(tree, "schedule", spec);
  return config::to_yaml(tree);
}

}  // namespace

ScenarioRun::ScenarioRun(config::Scenario scenario)
    : scenario_(std::move(scenario)), hardware_(open_hardware(scenario_)) {
  for (const config::ScheduleSpec& spec : scenario_.schedules)
    plans_.push_back(plan_on(scenario_, spec, hardware_));
  job_info_ = job_info(scenario_, hardware_, plans_.front());
  jobs_.resize(plans_.size());
  reductions_.resize(plans_.size());
}

const execution::Job& ScenarioRun::job(std::size_t schedule) {
  std::optional<execution::Job>& job = jobs_.at(schedule);
  if (!job) job.emplace(make_job(scenario_, hardware_, plans_[schedule]));
  return *job;
}

trace::RunInfo ScenarioRun::info(std::size_t schedule) const {
  return run_info(scenario_, single_schedule_text(scenario_, schedule), job_info_);
}

analysis::Summary ScenarioRun::run(std::size_t schedule, const std::vector<trace::Sink*>& rows) {
  return run_on(engine_of(scenario_), schedule, rows);
}

analysis::Summary ScenarioRun::estimate(std::size_t schedule) {
  return run_on(execution::EngineKind::timing, schedule, {});
}

analysis::Summary ScenarioRun::run_on(execution::EngineKind engine, std::size_t schedule,
                                      const std::vector<trace::Sink*>& rows) {
  return run_job(job(schedule), plans_[schedule], engine, schedule, rows);
}

analysis::Summary ScenarioRun::run_job(const execution::Job& run_job, const workload::Plan& plan,
                                       execution::EngineKind engine, std::size_t schedule,
                                       const std::vector<trace::Sink*>& rows) {
  analysis::SummarySink sink;
  std::vector<trace::Sink*> sinks = rows;
  sinks.push_back(&sink);
  trace::Tee tee(std::move(sinks));
  try {
    reductions_.at(schedule) = execution::run(run_job, engine, info(schedule), tee);
  } catch (const schedules::Deadlock& deadlock) {
    // A plan from a file is named by the file name without its extension; errors name the whole
    // file.
    const std::string& name = scenario_.schedules[schedule].name;
    if (!config::is_file(config::schedule_source(name))) throw;
    schedules::Schedule named_schedule = plan.schedule;
    named_schedule.name = name;
    throw schedules::Deadlock(named_schedule, deadlock.blocked());
  }
  analysis::Summary summary = sink.summary();
  summary.job = job_info_;
  summary.job->uneven = uneven_cost(scenario_, hardware_, plan.schedule);
  for (analysis::DeviceSummary& device : summary.devices)
    device.memory_host = smallest_host(run_job, device.device);
  return summary;
}

analysis::Summary ScenarioRun::run_steadily(std::size_t schedule, const config::Scenario& whole) {
  const config::ScheduleSpec& spec = scenario_.schedules.at(schedule);
  if (job(schedule).microbatches_vary())
    throw config::Error(spec.origin,
                        "microbatches differ, so that no period of the schedule is like another")
        .suggest("leave out --steady-state");
  analysis::Summary summary = steady_run(whole, spec, [&](std::uint32_t microbatches) {
    config::Scenario shorter = scenario_;
    shorter.microbatches.value = microbatches;
    workload::Plan plan = plan_on(shorter, spec, hardware_);
    const execution::Job short_job = make_job(shorter, hardware_, plan);
    return run_job(short_job, plan, engine_of(scenario_), schedule, {});
  });
  summary.job = job_info(whole, hardware_, plans_[schedule]);
  return summary;
}

double ScenarioRun::makespan(std::size_t schedule, std::uint32_t seed_offset, trace::Sink& rows) {
  execution::Job seeded_job = job(schedule);
  seeded_job.conditions.variation.seed += seed_offset;
  analysis::SummarySink sink;
  trace::Tee tee({&rows, &sink});
  execution::run(seeded_job, execution::EngineKind::simgrid, info(schedule), tee);
  return sink.summary().makespan_s;
}

trace::RunInfo run_info(const config::Scenario& scenario, std::string text,
                        const analysis::JobInfo& job) {
  return {.scenario = std::move(text),
          .versions = versions(),
          .samples_per_microbatch = samples_per_microbatch(scenario),
          .tokens_per_microbatch = tokens_per_microbatch(scenario),
          .job = analysis::describe(job)};
}

std::string label(const schedules::Schedule& schedule) {
  return schedule.chunks > 1 ? fmt::format("{}-x{}", schedule.name, schedule.chunks)
                             : schedule.name;
}

std::string versions() {
  return "pipewright " PIPEWRIGHT_VERSION ", " + cluster::simgrid_version();
}

}  // namespace pipewright::evaluation
