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

// What `schedule search` and `schedule frontier` have in common.
namespace pipewright::cli {

// A limit in the unit in which the user thinks of it.
struct WrittenLimit {
  workload::MemoryLimit limit;
  std::string unit = "microbatches";  // or "GiB", "MB" ...
  double factor = 1;                  // bytes of that unit

  bool in_bytes() const { return limit.unit == workload::MemoryLimit::Unit::bytes; }
  double value() const { return limit.value / factor; }  // in that unit
  WrittenLimit with(double value) const;                 // another value in it
};

// "12", "8.5": microbatches; "40 GiB": bytes. Throws config::Error, which names the option.
WrittenLimit read_limit(const std::string& text, const std::string& option);

// "8.5 microbatches", "40 GiB"
std::string to_string(const WrittenLimit& limit);

// The least limit in a unit with which any schedule can run, rounded up to what people write.
WrittenLimit least_written(const config::Scenario& scenario, const WrittenLimit& unit);

// Throws config::Error, which says what the least is, if no schedule can run within it.
void check_limit(const config::Scenario& scenario, const WrittenLimit& limit);

// What a run's fullest device holds, in the limit's unit.
WrittenLimit held_by(const analysis::Summary& run, const WrittenLimit& unit);

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
