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

// Exception that ends a set of runs early.
struct Stopped {};

search::Attempt attempt_of(const process::Result& result) {
  if (result.failed)
    return {.why_not = result.text.substr(0, result.text.find('\n')), .is_missing = false};
  return {.seconds = std::stod(result.text), .why_not = {}, .is_missing = false};
}

std::vector<search::Attempt> simulate_runs(const search::Space& space, std::size_t jobs,
                                           const MakeWatchRuns& make_watch,
                                           const std::vector<search::WhatIfRun>& runs,
                                           const std::function<bool()>& stop) {
  execution::load_simulator();
  std::vector<process::Body> bodies;
  for (const search::WhatIfRun& run : runs)
    bodies.emplace_back([&space, &run] {
      return fmt::format("{}", evaluation::seconds_under(space.candidate(run.candidate), run.draw));
    });
  const WatchRuns watch = make_watch();
  std::vector<search::Attempt> attempts(runs.size());
  const auto show_progress = [&](std::size_t finished) {
    if (finished < bodies.size() && stop()) throw Stopped();
    watch(finished, bodies.size());
  };
  const auto on_end = [&](std::size_t number, const process::Result& result) {
    attempts[number] = attempt_of(result);
  };
  try {
    process::run_all(bodies, jobs, show_progress, on_end);
  } catch (const Stopped&) {
    // The attempts that have not ended are missing.
  }
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
              [&space, jobs, make_watch](const std::vector<search::WhatIfRun>& runs,
                                         const std::function<bool()>& stop) {
                return simulate_runs(space, jobs, make_watch, runs, stop);
              },
          .link_classes =
              [&space](std::uint64_t candidate) {
                return link_classes_of_candidate(space.candidate(candidate));
              }};
}

}  // namespace pipewright::worker
