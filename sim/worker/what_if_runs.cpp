#include "sim/worker/what_if_runs.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/report/report_table.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/trial.hpp"
#include "sim/execution/run.hpp"
#include "sim/process/run.hpp"

namespace pipewright::worker {
namespace {

std::vector<search::Attempt> simulate_runs(const search::Space& space, std::size_t jobs,
                                           const MakeWatchRuns& make_watch,
                                           const std::vector<search::WhatIfRun>& runs) {
  execution::load_simulator();
  std::vector<process::Body> bodies;
  for (const search::WhatIfRun& run : runs)
    bodies.emplace_back([&space, &run] {
      return fmt::format("{}", evaluation::seconds_under(space.candidate(run.candidate), run.draw));
    });
  const WatchRuns watch = make_watch();
  const std::vector<process::Result> results =
      process::run_all(bodies, jobs, [&](std::size_t finished) { watch(finished, bodies.size()); });
  std::vector<search::Attempt> attempts;
  for (const process::Result& result : results)
    attempts.push_back(result.failed
                           ? search::Attempt{0, result.text.substr(0, result.text.find('\n'))}
                           : search::Attempt{std::stod(result.text), {}});
  return attempts;
}

search::LinkClasses link_classes_of_candidate(const config::Value& scenario) {
  const process::Result result = process::run([&] {
    analysis::Json classes = analysis::Json::array();
    for (const evaluation::LinkClass& link_class :
         evaluation::link_classes(evaluation::open_hardware(config::read_scenario(scenario))))
      classes.push_back({link_class.name, link_class.bandwidth});
    return analysis::json_line(classes);
  });
  if (result.failed) throw config::Error(result.text);
  return analysis::parse_json(result.text).get<search::LinkClasses>();
}

}  // namespace

search::WhatIfRuns make_what_if_runs(const search::Space& space, std::size_t jobs,
                                     const MakeWatchRuns& make_watch) {
  return {.simulate =
              [&space, jobs, make_watch](const std::vector<search::WhatIfRun>& runs) {
                return simulate_runs(space, jobs, make_watch, runs);
              },
          .link_classes =
              [&space](std::uint64_t candidate) {
                return link_classes_of_candidate(space.candidate(candidate));
              }};
}

}  // namespace pipewright::worker
