#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "analysis/report/summary_report.hpp"
#include "schedules/search/search.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/pipeline.hpp"

// Options and helpers of `schedule search` and `schedule frontier`.
namespace pipewright::cli {

// Memory limit, with the unit in which it is written.
struct WrittenLimit {
  workload::MemoryLimit limit;
  std::string unit = "microbatches";  // or "GiB", "MB" ...
  double factor = 1;                  // bytes per unit

  bool in_bytes() const { return limit.unit == workload::MemoryLimit::Unit::bytes; }
  double value() const { return limit.value / factor; }  // limit in that unit
  WrittenLimit with(double value) const;                 // limit of another value, same unit
};

// Reads a limit: "12" and "8.5" are microbatches, "40 GiB" is bytes. Throws config::Error, which
// names the option.
WrittenLimit read_limit(const std::string& text, const std::string& option);

// Text of a memory limit: "8.5 microbatches", "40 GiB"
std::string to_string(const WrittenLimit& limit);

// Least memory limit with which any schedule of the scenario can run, in the unit of `unit`,
// rounded up to few digits.
WrittenLimit least_written(const config::Scenario& scenario, const WrittenLimit& unit);

// Throws config::Error, with the least limit, if no schedule can run within the limit.
void check_limit(const config::Scenario& scenario, const WrittenLimit& limit);

// Peak memory of a run's fullest device, in the unit of `unit`.
WrittenLimit held_by(const analysis::Summary& run, const WrittenLimit& unit);

struct SearchSettings {
  config::Scenario scenario;
  std::vector<std::filesystem::path> read;     // input files
  std::vector<std::filesystem::path> outputs;  // output files
  schedules::Objective objective = schedules::Objective::makespan;
  double effort = 1;
  bool json = false;
  bool quiet = false;
};

void add_search_options(po::options_description& options);
SearchSettings read_search_settings(const po::variables_map& options);

// Names of an objective: "time of an iteration" for texts, and "makespan" as --objective takes it.
// The other objective is the span.
const char* describe(schedules::Objective objective);
const char* name_of(schedules::Objective objective);

// Searches for the best schedule within a memory limit, on the ideal network.
using GoOn = std::function<bool(const schedules::SearchProgress&)>;
schedules::SearchResult search(const SearchSettings& settings, const config::Scenario& scenario,
                               const WrittenLimit& limit, const GoOn& go_on);

// Value of the objective in a search result, in seconds, and the relative distance of a value from
// its lower bound.
double value_of(const schedules::SearchResult& result, schedules::Objective objective);
double gap(double value, double lower_bound);

// Fields that the JSON of a searched schedule has in addition to those of a run.
analysis::JsonFields json_fields(const schedules::SearchResult& result, const WrittenLimit& limit,
                                 schedules::Objective objective, double lower_bound);

}  // namespace pipewright::cli
