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
#include "sim/cli/schedule/catalog_table.hpp"
#include "sim/cli/schedule/frontier_report.hpp"
#include "sim/cli/schedule/search_options.hpp"
#include "sim/config/text/value.hpp"
#include "sim/evaluation/uncontended.hpp"

namespace pipewright::cli {
namespace {

using analysis::Summary;
using schedules::Objective;

constexpr std::size_t max_points = 40;  // without a step in --memory-limits
constexpr std::size_t max_requested_points = 1000;

po::options_description frontier_options() {
  po::options_description options("options of 'frontier'", 100);
  add_search_options(options);
  options.add_options()("memory-limits", one_word("A:B[:STEP]"),
                        "range in microbatches or bytes (\"20 GiB:40 GiB:1 GiB\"); default: the "
                        "least limit to twice 1F1B's");
  return options;
}

std::vector<std::string> split_at_colons(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ':')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

// Default distance between memory limits: half a microbatch of the device with the largest
// activations, or a multiple of that which gives at most `max_points` limits.
double default_step(const config::Scenario& scenario, const WrittenLimit& unit, double span) {
  double step = 0.5;
  if (unit.in_bytes()) {
    std::uint64_t largest = 1;
    for (const std::uint64_t bytes : scenario.activation.per_microbatch.values)
      largest = std::max(largest, bytes);
    step = static_cast<double>(largest) / 2 / unit.factor;
  }
  const auto steps = span / step;
  return step * std::max(1.0, std::ceil(steps / static_cast<double>(max_points - 1) - 1e-9));
}

// Memory limits to search within. Without a step in --memory-limits they include the peaks of the
// catalog's schedules, so that no schedule lies below the frontier.
std::vector<WrittenLimit> limits_of(const po::variables_map& options,
                                    const config::Scenario& scenario,
                                    const std::vector<evaluation::CatalogRun>& catalog) {
  constexpr const char* option = "--memory-limits";
  WrittenLimit from = least_written(scenario, {});
  WrittenLimit to = from.with(2.0 * scenario.devices.value);
  std::optional<double> step;
  if (options.count("memory-limits") != 0) {
    const std::vector<std::string> parts =
        split_at_colons(options["memory-limits"].as<std::string>());
    if (parts.size() != 2 && parts.size() != 3)
      throw UsageError(fmt::format("{} takes A:B or A:B:STEP, such as 2:16 or 2:16:0.5", option));
    from = read_limit(parts[0], option);
    to = read_limit(parts[1], option);
    if (to.in_bytes() != from.in_bytes())
      throw UsageError(fmt::format("{}: {} and {} have different units", option, to_string(from),
                                   to_string(to)));
    if (to.limit.value < from.limit.value)
      throw UsageError(fmt::format("{}: the end {} is below the start {}", option, to_string(to),
                                   to_string(from)));
    if (parts.size() == 3) {
      const WrittenLimit step_limit = read_limit(parts[2], option);
      if (step_limit.in_bytes() != from.in_bytes())
        throw UsageError(fmt::format("{}: the step {} has another unit than the limits", option,
                                     to_string(step_limit)));
      step = step_limit.limit.value / from.factor;
    }
  }
  check_limit(scenario, from);
  const double span = to.limit.value / from.factor - from.value();
  const double spacing = step ? *step : default_step(scenario, from, span);
  const double count = std::floor(span / spacing + 1e-9) + 1;
  if (count > static_cast<double>(max_requested_points))
    throw UsageError(fmt::format("{}: {:.0f} limits; at most {} are supported", option, count,
                                 max_requested_points));
  std::vector<WrittenLimit> limits;
  for (double i = 0; i < count; ++i) limits.push_back(from.with(from.value() + i * spacing));
  if (step) return limits;
  const auto value = [](const WrittenLimit& limit) { return limit.limit.value; };
  for (const evaluation::CatalogRun& run : catalog) {
    const WrittenLimit peak = held_by(run.summary, from);
    if (value(peak) <= value(from) || value(peak) >= value(to)) continue;
    // The peak of a schedule replaces memory limits close to it.
    std::erase_if(limits, [&](const WrittenLimit& limit) {
      return std::abs(limit.value() - peak.value()) < spacing / 4 && value(limit) > value(from);
    });
    limits.push_back(peak);
  }
  std::ranges::sort(limits, {}, value);
  return limits;
}

std::vector<FrontierStep> trace_frontier(const SearchSettings& settings,
                                         const evaluation::Uncontended& uncontended,
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
      throw UsageError(
          fmt::format("{}: cannot write a frontier in this format", output.file.string()))
          .allow(".csv (table), .svg, .png, .pdf");
  return outputs;
}

int print_frontier_help() {
  fmt::print(
      "usage: pipewright schedule frontier [SCENARIO] [OPTIONS]\n"
      "\n"
      "Trades memory for time: searches as 'pipewright schedule search' does, within one memory "
      "limit\n"
      "after another. A schedule found within a limit also counts for higher limits.\n"
      "\n"
      "  pipewright schedule frontier -s 8 -b 64 -f 1 --input-grad-times 1 --weight-grad-times 1\n"
      "      --memory-limits 4:16 -o frontier.svg\n"
      "  pipewright schedule frontier gpt-6b-a100\n"
      "      --memory-limits '24 GiB:60 GiB' -o gpt.png gpt.csv\n"
      "\n"
      "The picture (.svg .png .pdf) and the table (.csv) include the catalog's schedules, each at "
      "its own\n"
      "peak. Ctrl-C stops the search and prints the limits so far.\n"
      "\n{}",
      describe(frontier_options()));
  return exit_ok;
}

}  // namespace

int frontier_schedule(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, frontier_options(), "scenario");
  if (options.count("help") != 0) return print_frontier_help();
  const SearchSettings settings = read_search_settings(options);
  const std::vector<Output> outputs = frontier_outputs(settings);
  check_files(settings.read, settings.outputs);
  const evaluation::Uncontended uncontended(settings.scenario);
  watch_for_interrupts();
  std::vector<evaluation::CatalogRun> catalog =
      evaluation::searchable(evaluation::run_catalog(uncontended));
  const std::vector<WrittenLimit> limits = limits_of(options, uncontended.scenario(), catalog);

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
  fmt::print("least {} for {} within each memory limit{}\n\n{}", describe(settings.objective),
             sizes(uncontended.scenario()),
             interrupted() ? " (interrupted: the limits so far)" : "", table(frontier));
  CatalogTable named(settings.objective);
  for (const evaluation::CatalogRun& run : frontier.catalog)
    named.add(std::string(run.entry->name), run.summary);
  fmt::print("\nschedules of the catalog, each at its own peak:\n\n{}", named.text());
  for (const auto& file : settings.outputs) fmt::print("wrote {}\n", file.string());
  return status;
}

}  // namespace pipewright::cli
