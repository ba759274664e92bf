#pragma once

#include <string>
#include <vector>

#include "sim/cli/output.hpp"
#include "sim/cli/schedule/search_options.hpp"
#include "sim/cli/schedule/uncontended.hpp"

namespace pipewright::cli {

// The best that is known within one memory limit.
struct FrontierStep {
  WrittenLimit limit;
  schedules::SearchResult result;  // perhaps of a lower limit
  analysis::Summary summary;
  double lower_bound = 0;  // of this limit, in seconds

  double gap_for(schedules::Objective objective) const {
    return gap(value_of(result, objective), lower_bound);
  }
};

struct Frontier {
  schedules::Objective objective = schedules::Objective::makespan;
  std::vector<FrontierStep> steps;  // at least one; limits ascend
  std::vector<CatalogRun> catalog;  // schedules of the kind that the search looks at
};

std::string table(const Frontier& frontier);  // of the steps, for a terminal
std::string csv(const Frontier& frontier);    // a row a step, and then one a schedule
std::string json(const Frontier& frontier);   // the steps' runs
// As .svg, .png or .pdf.
void draw(const Frontier& frontier, const config::Scenario& scenario, const Output& output);

}  // namespace pipewright::cli
