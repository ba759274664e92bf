#include "sim/cli/uncontended.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analysis/trace/collector.hpp"
#include "schedules/search/search.hpp"
#include "sim/cli/hosts.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/version.hpp"
#include "sim/config/error.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::cli {
namespace {

config::Scenario without_cluster(config::Scenario scenario) {
  if (scenario.cluster) {
    const Hardware hardware = open_hardware(scenario);
    for (std::size_t device = 0; device + 1 < hardware.hosts.size(); ++device)
      scenario.p2p_time =
          std::max(scenario.p2p_time,
                   hardware.cluster.route(hardware.hosts[device], hardware.hosts[device + 1])
                       .seconds(scenario.boundary_tensor));
  }
  scenario.cluster.reset();
  scenario.placement.clear();
  scenario.iterations.value = 1;
  return scenario;
}

}  // namespace

Uncontended::Uncontended(config::Scenario scenario)
    : scenario_(without_cluster(std::move(scenario))),
      network_(cluster::Cluster::ideal(scenario_.p2p_time)),
      hosts_(network_.place({}, scenario_.devices.value)) {
  watch_for_interrupts();  // after SimGrid's engine has set a handler of its own
}

void Uncontended::run(const workload::Plan& plan, trace::Sink& sink) const {
  const execution::Job job{
      .schedule = plan.schedule, .costs = plan.costs, .cluster = network_, .hosts = hosts_};
  execution::run(job, execution::EngineKind::timing,
                 {.scenario = scenario_.text,
                  .versions = versions(),
                  .samples_per_microbatch = scenario_.samples_per_microbatch.value_or(0),
                  .tokens_per_microbatch = scenario_.tokens_per_microbatch.value_or(0)},
                 sink);
}

analysis::Summary Uncontended::summary(const workload::Plan& plan) const {
  analysis::SummarySink sink;
  run(plan, sink);
  return sink.summary();
}

trace::Trace Uncontended::trace(const workload::Plan& plan) const {
  trace::TraceCollector collector;
  run(plan, collector);
  return std::move(collector.trace);
}

std::string sizes(const config::Scenario& scenario) {
  const std::uint32_t devices = scenario.devices.value;
  const std::uint32_t microbatches = scenario.microbatches.value;
  return fmt::format("{} device{} x {} microbatch{}", devices, devices == 1 ? "" : "s",
                     microbatches, microbatches == 1 ? "" : "es");
}

std::vector<CatalogRun> run_catalog(const Uncontended& uncontended) {
  std::vector<CatalogRun> runs;
  for (const schedules::Entry& entry : schedules::catalog()) {
    CatalogRun run{.entry = &entry, .why_not = {}, .summary = {}};
    try {
      const workload::Plan plan =
          workload::make_plan(uncontended.scenario(), {.name = std::string(entry.name)});
      run.is_searched = schedules::is_searched(plan.schedule);
      run.summary = uncontended.summary(plan);
    } catch (const config::Error& error) {
      run.why_not = error.what();
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<CatalogRun> searched(std::vector<CatalogRun> runs) {
  std::erase_if(runs,
                [](const CatalogRun& run) { return !run.why_not.empty() || !run.is_searched; });
  return runs;
}

}  // namespace pipewright::cli
