#include "sim/cli/search/trials.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/report/report_table.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/progress.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/trial.hpp"
#include "sim/execution/run.hpp"
#include "sim/process/run.hpp"

namespace pipewright::cli {
namespace {

std::vector<search::Tried> simulate(const search::Space& space, std::size_t jobs, bool quiet,
                                    const std::vector<search::Trial>& trials) {
  execution::load_simulator();
  std::vector<process::Body> bodies;
  for (const search::Trial& trial : trials)
    bodies.emplace_back([&space, &trial] {
      return fmt::format("{}",
                         evaluation::seconds_under(space.candidate(trial.candidate), trial.draw));
    });
  ProgressBar bar("other conditions", !quiet);
  const std::vector<process::Result> results =
      process::run_all(bodies, jobs, [&](std::size_t done) {
        throw_if_interrupted();
        if (bar.is_due())
          bar.draw(static_cast<double>(done) / static_cast<double>(bodies.size()),
                   fmt::format("{} of {} simulations", done, bodies.size()));
      });
  std::vector<search::Tried> tried;
  for (const process::Result& one : results)
    tried.push_back(one.failed ? search::Tried{0, one.text.substr(0, one.text.find('\n'))}
                               : search::Tried{std::stod(one.text), {}});
  return tried;
}

search::LinkClasses link_classes(const config::Value& scenario) {
  const process::Result found = process::run([&] {
    analysis::Json classes = analysis::Json::array();
    for (const evaluation::LinkClass& one :
         evaluation::link_classes(evaluation::open_hardware(config::read_scenario(scenario))))
      classes.push_back({one.name, one.bandwidth});
    return analysis::json_line(classes);
  });
  if (found.failed) throw config::Error(found.text);
  return analysis::parse_json(found.text).get<search::LinkClasses>();
}

}  // namespace

search::Trials local_trials(const search::Space& space, std::size_t jobs, bool quiet) {
  return {
      .simulate =
          [&space, jobs, quiet](const std::vector<search::Trial>& trials) {
            return simulate(space, jobs, quiet, trials);
          },
      .link_classes =
          [&space](std::uint64_t candidate) { return link_classes(space.candidate(candidate)); }};
}

}  // namespace pipewright::cli
