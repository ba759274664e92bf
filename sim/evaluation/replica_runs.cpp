#include "sim/evaluation/replica_runs.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/why/trace_index.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/reader.hpp"
#include "analysis/trace/writer.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/execution/run.hpp"
#include "sim/process/run.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {
namespace {

// True if the run deviates from its plan.
bool deviates(const config::Scenario& scenario) {
  const config::Variation& variation = scenario.variation;
  return variation.is_random() || !variation.stragglers.empty() || !variation.links.empty();
}

config::Scenario ideal_of(config::Scenario scenario) {
  scenario.variation.jitter = 0;
  scenario.variation.stragglers.clear();
  scenario.variation.links.clear();
  return scenario;
}

// Writes the trace of a simulation to a file. Loads the cluster, so it must be called in a process
// of its own.
void write_run(const config::Scenario& scenario, std::uint32_t replica,
               const std::filesystem::path& file) {
  Hardware hardware = open_hardware(scenario);
  workload::Plan plan = plan_on(scenario, scenario.schedules.front(), hardware);
  execution::Job job = make_job(scenario, hardware, plan);
  job.reported_replica = replica;
  trace::TraceWriter writer(file);
  execution::run(job, engine_of(scenario), {}, writer);
}

}  // namespace

ReplicaRuns::ReplicaRuns(const trace::Trace& trace, std::string file)
    : trace_(trace), file_(std::move(file)) {
  try {
    stored_.emplace(trace, file_);
    if (stored_->scenario().engine == config::Engine::simgrid) execution::load_simulator();
  } catch (const trace::TraceError&) {
    stored_.reset();  // a measured trace, for example, has no scenario to simulate
  }
}

analysis::Reruns ReplicaRuns::reruns() {
  if (!stored_) return {};
  analysis::Reruns reruns{.replicas =
                              [this](std::uint32_t replica) {
                                return find({replica, false});
                              },
                          .ideal = {}};
  if (deviates(stored_->scenario()))
    reruns.ideal = [this](std::uint32_t replica) { return find({replica, true}); };
  return reruns;
}

const trace::Trace* ReplicaRuns::find(const Key& key) {
  const auto [it, is_new] = traces_.try_emplace(key);
  if (is_new) it->second = simulate(key);
  return it->second.get();
}

std::unique_ptr<trace::Trace> ReplicaRuns::simulate(const Key& key) {
  const std::filesystem::path file =
      stored_->folder() / fmt::format("replica-{}-{}.h5", key.replica, key.is_ideal ? "i" : "r");
  const process::Result result = process::run([&] {
    config::Scenario scenario = stored_->read(stored_->tree());
    if (key.is_ideal) scenario = ideal_of(std::move(scenario));
    write_run(scenario, key.replica, file);
    return std::string();
  });
  if (result.failed) return nullptr;
  auto trace = std::make_unique<trace::Trace>(trace::read_trace(file));
  if (key.is_ideal) return trace;
  const double before = analysis::TraceIndex(trace_).makespan();
  const double again = analysis::TraceIndex(*trace).makespan();
  return std::abs(again - before) <= 1e-9 * before ? std::move(trace) : nullptr;
}

}  // namespace pipewright::evaluation
