#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/units_text.hpp"
#include "analysis/trace/partial_file.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/schedule/frontier_report.hpp"
#include "sim/cli/schedule/search_options.hpp"
#include "sim/cli/schedule/uncontended.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::cli {
namespace {

using analysis::Summary;
using schedules::Objective;

constexpr std::size_t most_points = 40;  // unless the user names a step
constexpr std::size_t most_named_points = 1000;

po::options_description frontier_options() {
  po::options_description options("options of 'frontier'", 100);
  add_search_options(options);
  options.add_options()(
      "memory-limits", one_word("A:B[:STEP]"),
      "in microbatches or bytes (\"20 GiB:40 GiB:1 GiB\"); from the least to twice 1F1B's");
  return options;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ':')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

// Half a microbatch of the device where that is most, or as many of those as leave few points.
double default_step(const config::Scenario& scenario, const WrittenLimit& unit, double span) {
  double step = 0.5;
  if (unit.in_bytes()) {
    std::uint64_t most = 1;
    for (const std::uint64_t bytes : scenario.activation.per_microbatch.values)
      most = std::max(most, bytes);
    step = static_cast<double>(most) / 2 / unit.factor;
  }
  const auto steps = span / step;
  return step * std::max(1.0, std::ceil(steps / static_cast<double>(most_points - 1) - 1e-9));
}

// Without a step also where the catalog's schedules have their peaks, so that none of them lies
// below the line.
std::vector<WrittenLimit> limits_of(const po::variables_map& given,
                                    const config::Scenario& scenario,
                                    const std::vector<CatalogRun>& catalog) {
  constexpr const char* option = "--memory-limits";
  WrittenLimit from = least_written(scenario, {});
  WrittenLimit to = from.with(2.0 * scenario.devices.value);
  std::optional<double> step;
  if (given.count("memory-limits") != 0) {
    const std::vector<std::string> parts = split(given["memory-limits"].as<std::string>());
    if (parts.size() != 2 && parts.size() != 3)
      throw UsageError(fmt::format("{} takes A:B or A:B:STEP, such as 2:16 or 2:16:0.5", option));
    from = read_limit(parts[0], option);
    to = read_limit(parts[1], option);
    if (to.in_bytes() != from.in_bytes() || to.limit.value < from.limit.value)
      throw UsageError(
          fmt::format("{}: {} is not above {}", option, to_string(to), to_string(from)));
    if (parts.size() == 3) {
      const WrittenLimit by = read_limit(parts[2], option);
      if (by.in_bytes() != from.in_bytes())
        throw UsageError(fmt::format("{}: the step is {}, and the limits are not in that unit",
                                     option, to_string(by)));
      step = by.limit.value / from.factor;
    }
  }
  check_limit(scenario, from);
  const double span = to.limit.value / from.factor - from.value();
  const double by = step ? *step : default_step(scenario, from, span);
  const double count = std::floor(span / by + 1e-9) + 1;
  if (count > static_cast<double>(most_named_points))
    throw UsageError(fmt::format("{}: {:.0f} limits are more than the {} that are supported",
                                 option, count, most_named_points));
  std::vector<WrittenLimit> limits;
  for (double i = 0; i < count; ++i) limits.push_back(from.with(from.value() + i * by));
  if (step) return limits;
  const auto value = [](const WrittenLimit& limit) { return limit.limit.value; };
  for (const CatalogRun& run : catalog) {
    const WrittenLimit peak = held_by(run.summary, from);
    if (value(peak) <= value(from) || value(peak) >= value(to)) continue;
    // Instead of one that is next to it.
    std::erase_if(limits, [&](const WrittenLimit& other) {
      return std::abs(other.value() - peak.value()) < by / 4 && value(other) > value(from);
    });
    limits.push_back(peak);
  }
  std::ranges::sort(limits, {}, value);
  return limits;
}

std::vector<FrontierStep> trace_frontier(const SearchSettings& settings,
                                         const Uncontended& uncontended,
                                         const std::vector<WrittenLimit>& limits) {
  const config::Scenario& scenario = uncontended.scenario();
  ProgressBar bar("frontier", !settings.quiet && !settings.json);
  std::vector<FrontierStep> points;
  for (const WrittenLimit& limit : limits) {
    if (interrupted()) break;
    schedules::SearchResult result =
        search(settings, scenario, limit, [&](const schedules::SearchProgress& at) {
          if (bar.is_due())
            bar.draw((static_cast<double>(points.size()) + at.share) /
                         static_cast<double>(limits.size()),
                     fmt::format("{}: best {}, gap {}", to_string(limit),
                                 analysis::format_seconds(at.best),
                                 analysis::format_percent(gap(at.best, at.lower_bound))));
          return !interrupted();
        });
    const double bound = result.lower_bound;
    const bool is_better =
        points.empty() || value_of(result, settings.objective) <
                              value_of(points.back().result, settings.objective) * (1 - 1e-12);
    if (is_better) {
      const Summary summary = uncontended.summary(workload::make_plan(scenario, result.schedule));
      points.push_back({limit, std::move(result), summary, std::min(bound, summary.makespan_s)});
    } else {
      points.push_back({limit, points.back().result, points.back().summary, bound});
    }
  }
  if (points.empty()) throw_if_interrupted();
  return points;
}

std::vector<Output> frontier_outputs(const SearchSettings& settings) {
  std::vector<Output> outputs = parse_outputs(settings.outputs);
  for (const Output& output : outputs)
    if (output.kind == OutputKind::html || output.kind == OutputKind::json)
      throw UsageError(fmt::format("{}: a frontier is written as .csv (table), .svg, .png or .pdf",
                                   output.file.string()));
  return outputs;
}

int print_help() {
  fmt::print(
      "usage: pipewright schedule frontier [SCENARIO] [OPTIONS]\n"
      "\n"
      "What giving up memory costs: searches within one memory limit after the other, as "
      "'pipewright\n"
      "schedule search' does. What was found within a limit stands for all above it.\n"
      "\n"
      "  pipewright schedule frontier -s 8 -b 64 -f 1 --input-grad-times 1 --weight-grad-times 1\n"
      "      --memory-limits 4:16 -o frontier.svg\n"
      "  pipewright schedule frontier platforms/scenarios/gpt-6b-a100.yaml\n"
      "      --memory-limits '24 GiB:60 GiB' -o gpt.png gpt.csv\n"
      "\n"
      "The picture (.svg .png .pdf) and the table (.csv) have the catalog's schedules too, each at "
      "its\n"
      "own peak. Ctrl-C gives the limits so far.\n"
      "\n{}",
      describe(frontier_options()));
  return exit_ok;
}

}  // namespace

int frontier_schedule(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, frontier_options(), "scenario");
  if (given.count("help") != 0) return print_help();
  const SearchSettings settings = read_search_settings(given);
  const std::vector<Output> outputs = frontier_outputs(settings);
  check_files(settings.read, settings.outputs);
  const Uncontended uncontended(settings.scenario);
  std::vector<CatalogRun> catalog = searchable(run_catalog(uncontended));
  const std::vector<WrittenLimit> limits = limits_of(given, uncontended.scenario(), catalog);

  const Frontier frontier{settings.objective, trace_frontier(settings, uncontended, limits),
                          std::move(catalog)};
  for (const Output& output : outputs) {
    if (output.kind == OutputKind::csv)
      trace::write_file(output.file, csv(frontier));
    else
      draw(frontier, uncontended.scenario(), output);
  }
  const int status = interrupted() ? exit_interrupted : exit_ok;
  if (settings.json) {
    fmt::print("{}", json(frontier));
    return status;
  }
  fmt::print("the least {} for {} within each memory limit{}\n\n{}", describe(settings.objective),
             sizes(uncontended.scenario()),
             interrupted() ? " (interrupted: the limits so far)" : "", table(frontier));
  CatalogTable named(settings.objective);
  for (const CatalogRun& run : frontier.catalog)
    named.add(std::string(run.entry->name), run.summary);
  fmt::print("\nthe catalog's schedules, each at its own peak:\n\n{}", named.text());
  for (const auto& file : settings.outputs) fmt::print("wrote {}\n", file.string());
  return status;
}

}  // namespace pipewright::cli
