#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "analysis/summary_report.hpp"
#include "schedules/search/search.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/schedule/memory_limit.hpp"
#include "sim/config/scenario.hpp"

// What `schedule search` and `schedule frontier` have in common.
namespace pipewright::cli {

struct SearchSettings {
  config::Scenario scenario;
  std::vector<std::filesystem::path> read;     // files
  std::vector<std::filesystem::path> outputs;  // likewise
  schedules::Objective objective = schedules::Objective::makespan;
  double effort = 1;
  bool json = false;
  bool quiet = false;
};

void add_search_options(po::options_description& options);
SearchSettings read_search_settings(const po::variables_map& given);

// "time of an iteration" and "makespan", or what the span is called.
const char* describe(schedules::Objective objective);
const char* name_of(schedules::Objective objective);

// The search within a limit, for a scenario on the ideal network.
using GoOn = std::function<bool(const schedules::SearchProgress&)>;
schedules::SearchResult search(const SearchSettings& settings, const config::Scenario& scenario,
                               const WrittenLimit& limit, const GoOn& go_on);

// What the objective comes to, in seconds, and by which part that is above the bound.
double value_of(const schedules::SearchResult& result, schedules::Objective objective);
double gap(double value, double lower_bound);

// What the JSON of a found schedule has beside what that of a run has.
analysis::JsonFields json_fields(const schedules::SearchResult& result, const WrittenLimit& limit,
                                 schedules::Objective objective, double lower_bound);

}  // namespace pipewright::cli
