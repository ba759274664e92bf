#include "sim/evaluation/scenario_run.hpp"

#include <utility>

#include <fmt/format.h>

#include "schedules/deadlock.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/job_info.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/evaluation/uneven_cost.hpp"
#include "sim/evaluation/work_and_memory.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::evaluation {
namespace {

// The scenario of one of its schedules alone, which runs the same again.
std::string text_of(const config::Scenario& scenario, std::size_t schedule) {
  if (scenario.schedules.size() == 1) return scenario.text;
  config::Value tree = scenario.tree;
  const config::Value one = config::find(tree, "schedule")->items.at(schedule);
  config::set_key(tree, "schedule", one);
  return config::to_yaml(tree);
}

}  // namespace

ScenarioRun::ScenarioRun(config::Scenario scenario)
    : scenario_(std::move(scenario)), hardware_(open_hardware(scenario_)) {
  for (const config::ScheduleSpec& spec : scenario_.schedules)
    plans_.push_back(plan_on(scenario_, spec, hardware_));
  job_info_ = job_info(scenario_, hardware_, plans_.front());
  jobs_.resize(plans_.size());
}

const execution::Job& ScenarioRun::job(std::size_t schedule) {
  std::optional<execution::Job>& job = jobs_.at(schedule);
  if (!job) job.emplace(make_job(scenario_, hardware_, plans_[schedule]));
  return *job;
}

trace::RunInfo ScenarioRun::info(std::size_t schedule) const {
  return run_info(scenario_, text_of(scenario_, schedule), job_info_);
}

analysis::Summary ScenarioRun::run(std::size_t schedule, const std::vector<trace::Sink*>& rows) {
  return run_on(engine_of(scenario_), schedule, rows);
}

analysis::Summary ScenarioRun::estimate(std::size_t schedule) {
  return run_on(execution::EngineKind::timing, schedule, {});
}

analysis::Summary ScenarioRun::run_on(execution::EngineKind engine, std::size_t schedule,
                                      const std::vector<trace::Sink*>& rows) {
  const execution::Job& made = job(schedule);
  analysis::SummarySink sink;
  std::vector<trace::Sink*> sinks = rows;
  sinks.push_back(&sink);
  trace::Tee tee(std::move(sinks));
  try {
    execution::run(made, engine, info(schedule), tee);
  } catch (const schedules::Deadlock& deadlock) {
    // Plans are called as their files, but without the extension.
    const std::string& name = scenario_.schedules[schedule].name;
    if (!config::is_file(config::schedule_source(name))) throw;
    schedules::Schedule of_file = plans_[schedule].schedule;
    of_file.name = name;
    throw schedules::Deadlock(of_file, deadlock.blocked());
  }
  analysis::Summary summary = sink.summary();
  summary.job = job_info_;
  summary.job->uneven = uneven_cost(scenario_, hardware_, plans_[schedule].schedule);
  for (analysis::DeviceSummary& device : summary.devices)
    device.memory_host = smallest_host(made, device.device);
  return summary;
}

double ScenarioRun::makespan(std::size_t schedule, std::uint32_t seeds_on, trace::Sink& rows) {
  execution::Job other = job(schedule);
  other.conditions.variation.seed += seeds_on;
  analysis::SummarySink sink;
  trace::Tee tee({&rows, &sink});
  execution::run(other, execution::EngineKind::simgrid, info(schedule), tee);
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
