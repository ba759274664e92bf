#include "sim/sites/study.hpp"

#include <array>
#include <string>

#include "sim/base/enum_names.hpp"
#include "sim/config/command_sections.hpp"
#include "sim/goodput/iteration.hpp"
#include "sim/sites/outer_loop.hpp"
#include "sim/workload/model/state.hpp"
#include "sim/workload/shape/shape.hpp"

namespace pipewright::sites {
namespace {

constexpr double gigabit = 1e9 / 8;  // bytes

// Ways of training over the same sites, as in analysis::SitesUtilisation.
struct Ways {
  OuterLoop every_iteration;
  OuterLoop whole;
  OuterLoop loop;

  void set_bandwidth(double bandwidth) {
    for (OuterLoop* way : {&every_iteration, &whole, &loop}) way->bandwidth = bandwidth;
  }
};

Ways ways_of(const OuterLoop& loop) {
  Ways ways{.every_iteration = loop, .whole = loop, .loop = loop};
  for (OuterLoop* way : {&ways.every_iteration, &ways.whole}) {
    way->fragments = 1;
    way->overlap = 0;
  }
  ways.every_iteration.every = 1;
  return ways;
}

double trained_parameters(const config::Scenario& scenario) {
  const config::Model& model = scenario.model->value;
  if (scenario.training.trains_all()) return static_cast<double>(workload::parameter_count(model));
  return static_cast<double>(
      workload::whole_parameters(model, scenario.training).trained().total());
}

}  // namespace

config::Sites sites_of(const config::Scenario& scenario) {
  return config::read_sites(config::section_of(
      scenario, "sites",
      "describe the sites, such as sites: {count: 4, bandwidth: 10 Gbit/s, every: 100}"));
}

analysis::SitesReport study(const config::Scenario& scenario, const config::Sites& sites) {
  config::check_single_run(scenario, "training over sites");
  const goodput::Iteration iteration = goodput::simulate_iteration(scenario);
  const OuterLoop loop{.iteration = iteration.seconds,
                       .bytes = trained_parameters(scenario) * sites.element_bytes(),
                       .sites = sites.count.value,
                       .bandwidth = sites.bandwidth,
                       .latency = sites.latency,
                       .every = sites.every,
                       .fragments = sites.fragments,
                       .overlap = sites.overlap};
  const OuterOutcome outcome = simulate(loop);
  analysis::SitesReport report{
      .subject = iteration.subject,
      .sites = sites.count.value,
      .gpus = iteration.gpus,
      .bandwidth = sites.bandwidth,
      .latency_s = sites.latency,
      .every = sites.every,
      .fragments = sites.fragments,
      .overlap = sites.overlap,
      .precision = std::string(base::name_of(config::site_precisions, sites.precision)),
      .iteration_s = iteration.seconds,
      .fragment_bytes = loop.bytes / sites.fragments,
      .exchange_s = loop.exchange(),
      .round_s = outcome.round,
      .utilisation = outcome.utilisation,
      .longest_wait_s = outcome.longest_wait,
      .connection_busy = outcome.connection_busy,
      .notes = iteration.notes};
  if (iteration.tokens)
    report.tokens_per_s = *iteration.tokens * sites.every * sites.count.value / outcome.round;
  Ways ways = ways_of(loop);
  for (const double rate : std::to_array({0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0})) {
    ways.set_bandwidth(rate * gigabit);
    report.by_bandwidth.push_back({.bandwidth = rate * gigabit,
                                   .every_iteration = simulate(ways.every_iteration).utilisation,
                                   .whole = simulate(ways.whole).utilisation,
                                   .loop = simulate(ways.loop).utilisation});
  }
  for (const double target : std::to_array({0.5, 0.8, 0.9, 0.95, 0.99}))
    report.needed.push_back({.utilisation = target,
                             .every_iteration = bandwidth_for(ways.every_iteration, target),
                             .whole = bandwidth_for(ways.whole, target),
                             .loop = bandwidth_for(ways.loop, target)});
  return report;
}

}  // namespace pipewright::sites
