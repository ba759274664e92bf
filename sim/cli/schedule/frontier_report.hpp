#pragma once

#include <string>
#include <vector>

#include "sim/cli/output.hpp"
#include "sim/cli/schedule/search_options.hpp"
#include "sim/evaluation/uncontended.hpp"

namespace pipewright::cli {

// Best schedule found within one memory limit.
struct FrontierStep {
  WrittenLimit limit;
  schedules::SearchResult result;  // may come from a lower limit
  analysis::Summary summary;
  double lower_bound = 0;  // bound for this limit, in seconds

  double gap_for(schedules::Objective objective) const {
    return gap(value_of(result, objective), lower_bound);
  }
};

struct Frontier {
  schedules::Objective objective = schedules::Objective::makespan;
  std::vector<FrontierStep> steps;              // at least one; limits ascend
  std::vector<evaluation::CatalogRun> catalog;  // schedules of the kind that a search finds
};

std::string table(const Frontier& frontier);  // table of the steps, for a terminal
std::string csv(const Frontier& frontier);    // one row per step, then one per schedule
std::string json(const Frontier& frontier);   // runs of the steps
// Draws the frontier as .svg, .png or .pdf.
void draw(const Frontier& frontier, const config::Scenario& scenario, const Output& output);

}  // namespace pipewright::cli
