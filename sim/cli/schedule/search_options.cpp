#include "sim/cli/schedule/search_options.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "sim/cli/guard.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::cli {
namespace {

using schedules::Objective;
using Unit = workload::MemoryLimit::Unit;

// The search places input-gradient (I) and weight-gradient (W) passes separately, so both need a
// time.
void check_times(const config::Value& tree) {
  const bool has_halves = config::find(tree, "input_grad_times") != nullptr &&
                          config::find(tree, "weight_grad_times") != nullptr;
  const bool is_set = has_halves || config::find(tree, "backward_times") != nullptr ||
                      config::find(tree, "model") != nullptr;
  if (!is_set)
    throw UsageError("the backward pass has no time")
        .suggest(
            "give both --input-grad-times and --weight-grad-times (or input_grad_times and "
            "weight_grad_times in a scenario)");
}

// The longest list has one value per stage, for the two chunks per device of most placements.
void check_counts(const config::Scenario& scenario) {
  const std::uint32_t devices = scenario.devices.value;
  const auto check = [&](const config::PassTimes& times, const char* name) {
    const std::size_t count = times.value.size();
    if (count != 1 && count != devices && count != std::size_t{2} * devices)
      throw config::Error(config::locate(
          times.origin, fmt::format("{} has {} values; a search takes 1, {} (one per device) or {} "
                                    "(one per stage of 2 chunks a device)",
                                    name, count, devices, 2ULL * devices)));
  };
  check(scenario.forward_times, "forward_times");
  if (scenario.input_grad_times) check(*scenario.input_grad_times, "input_grad_times");
  if (scenario.weight_grad_times) check(*scenario.weight_grad_times, "weight_grad_times");
}

void check_sizes(const config::Scenario& scenario) {
  constexpr std::uint32_t max_devices = 16384;
  constexpr double max_product = 4e6;  // orders of a few GB
  const std::uint32_t devices = scenario.devices.value;
  const std::uint32_t microbatches = scenario.microbatches.value;
  if (devices > max_devices || static_cast<double>(devices) * microbatches > max_product)
    throw UsageError(
        fmt::format("a search for {} devices x {} microbatches: at most {} devices, and a product "
                    "of {:.0f}, are supported; a good schedule with fewer microbatches shows the "
                    "effect of more",
                    devices, microbatches, max_devices, max_product));
}

}  // namespace

WrittenLimit WrittenLimit::with(double value) const {
  WrittenLimit result = *this;
  result.limit.value = value * factor;
  return result;
}

WrittenLimit read_limit(const std::string& text, const std::string& option) {
  constexpr const char* noun = "a memory limit, in microbatches (8.5) or bytes (40 GiB),";
  std::size_t unit = text.size();
  while (unit > 0 && std::isalpha(static_cast<unsigned char>(text[unit - 1])) != 0) --unit;
  if (unit == text.size())
    return {.limit = {Unit::microbatches, config::parse_positive_number(text, option, noun)}};
  const auto bytes = static_cast<double>(config::parse_size(text, option, noun));
  const std::string word = text.substr(unit);
  return {.limit = {Unit::bytes, bytes},
          .unit = word,
          .factor = static_cast<double>(config::parse_size("1 " + word, option, noun))};
}

std::string to_string(const WrittenLimit& limit) {
  const bool is_singular = !limit.in_bytes() && limit.limit.value == 1;
  return fmt::format("{:.10g} {}", limit.value(), is_singular ? "microbatch" : limit.unit);
}

WrittenLimit least_written(const config::Scenario& scenario, const WrittenLimit& unit) {
  const double minimum = workload::least_limit(scenario, unit.limit.unit) / unit.factor;
  constexpr double places = 1000;
  const double rounded = std::ceil(minimum * places * (1 - 1e-12)) / places;
  return unit.with(unit.factor == 1 ? std::ceil(minimum) : rounded);
}

void check_limit(const config::Scenario& scenario, const WrittenLimit& limit) {
  if (limit.limit.value >= workload::least_limit(scenario, limit.limit.unit)) return;
  throw config::Error(fmt::format(
      "a memory limit of {} is below the least that any schedule needs, {}: {}", to_string(limit),
      to_string(least_written(scenario, limit)),
      limit.in_bytes()
          ? "the permanent memory of the fullest device, and the activations of one microbatch"
          : "the activations of one microbatch on every device"));
}

WrittenLimit held_by(const analysis::Summary& run, const WrittenLimit& unit) {
  double largest = 0;
  for (const analysis::DeviceSummary& device : run.devices)
    largest = std::max(largest, unit.in_bytes() ? static_cast<double>(device.peak_memory_bytes)
                                                : device.peak_in_flight);
  return unit.with(largest / unit.factor);
}

void add_search_options(po::options_description& options) {
  add_scenario_options(options, split_pass_keys);
  auto add = options.add_options();
  add("objective", po::value<std::string>()->default_value("makespan")->value_name("makespan|span"),
      "quantity to minimize: the time of an iteration, or the longest span of a device");
  add("effort", po::value<std::string>()->default_value("1")->value_name("E"),
      "effort of the search, as a multiple of the default");
  add("output,o", several_words("FILE..")->composing(),
      "write files, in the format of their extensions");
  add("json", "print only JSON");
  add("quiet", "hide the progress bar");
}

SearchSettings read_search_settings(const po::variables_map& options) {
  const config::Value tree = scenario_tree(options);
  check_times(tree);
  SearchSettings settings{.scenario = config::read_scenario(tree), .read = {}, .outputs = {}};
  check_sizes(settings.scenario);
  check_counts(settings.scenario);
  if (const auto file = scenario_file(options)) settings.read.push_back(*file);
  if (settings.scenario.cluster) settings.read.push_back(settings.scenario.cluster->value);
  for (const std::string& file : values(options, "output")) settings.outputs.emplace_back(file);
  const std::string objective = options["objective"].as<std::string>();
  if (objective != "makespan" && objective != "span")
    throw UsageError(fmt::format("--objective is '{}'", objective)).allow("makespan, span");
  settings.objective = objective == "span" ? Objective::span : Objective::makespan;
  settings.effort =
      config::parse_positive_number(options["effort"].as<std::string>(), "--effort", "an effort");
  settings.json = options.count("json") != 0;
  settings.quiet = options.count("quiet") != 0;
  return settings;
}

const char* describe(Objective objective) {
  return objective == Objective::span ? "longest span of a device" : "time of an iteration";
}

const char* name_of(Objective objective) {
  return objective == Objective::span ? "span" : "makespan";
}

schedules::SearchResult search(const SearchSettings& settings, const config::Scenario& scenario,
                               const WrittenLimit& limit, const GoOn& go_on) {
  check_limit(scenario, limit);
  const auto pipeline = [&](const schedules::Routes& routes) {
    return workload::make_pipeline(scenario, routes, limit.limit, scenario.p2p_time);
  };
  try {
    return schedules::search({.devices = scenario.devices.value,
                              .microbatches = scenario.microbatches.value,
                              .pipeline = pipeline,
                              .objective = settings.objective,
                              .effort = settings.effort},
                             go_on);
  } catch (const schedules::Error&) {
    throw_if_interrupted();  // interrupted before the first schedule
    throw;
  }
}

double value_of(const schedules::SearchResult& result, Objective objective) {
  return objective == Objective::span ? result.span : result.makespan;
}

double gap(double value, double lower_bound) {
  return lower_bound > 0 && value > lower_bound ? value / lower_bound - 1 : 0;
}

analysis::JsonFields json_fields(const schedules::SearchResult& result, const WrittenLimit& limit,
                                 Objective objective, double lower_bound) {
  return {{"objective", std::string(name_of(objective))},
          {"lower_bound_s", lower_bound},
          {"gap", gap(value_of(result, objective), lower_bound)},
          {"memory_limit", limit.limit.value},
          {"memory_limit_unit", std::string(limit.in_bytes() ? "bytes" : "microbatches")},
          {"origin", result.origin},
          {"interrupted", result.interrupted}};
}

}  // namespace pipewright::cli
