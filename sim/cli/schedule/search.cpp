#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/summary_columns.hpp"
#include "analysis/report/summary_report.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/partial_file.hpp"
#include "schedules/text/torch_csv.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/schedule/catalog_table.hpp"
#include "sim/cli/schedule/search_options.hpp"
#include "sim/evaluation/uncontended.hpp"

namespace pipewright::cli {
namespace {

po::options_description schedule_search_options() {
  po::options_description options("options of 'search'", 100);
  add_search_options(options);
  options.add_options()("memory-limit", one_word("X"),
                        "memory limit of a device, in microbatches (8.5) or bytes (\"40 GiB\"); "
                        "default: that of 1F1B");
  return options;
}

struct SearchOutcome {
  schedules::SearchResult result;
  workload::Plan plan;
  analysis::Summary summary;
  double gap = 0;
};

schedules::SearchResult search_with_bar(const SearchSettings& settings,
                                        const config::Scenario& scenario,
                                        const WrittenLimit& limit) {
  ProgressBar bar("search", !settings.quiet && !settings.json);
  return search(settings, scenario, limit, [&](const schedules::SearchProgress& at) {
    if (bar.is_due())
      bar.draw(at.share, fmt::format("best {}, bound {}, gap {}", analysis::format_seconds(at.best),
                                     analysis::format_seconds(at.lower_bound),
                                     analysis::format_percent(gap(at.best, at.lower_bound))));
    return !interrupted();
  });
}

SearchOutcome search_for_schedule(const SearchSettings& settings,
                                  const evaluation::Uncontended& uncontended,
                                  const WrittenLimit& limit) {
  schedules::SearchResult result = search_with_bar(settings, uncontended.scenario(), limit);
  workload::Plan plan = workload::make_plan(uncontended.scenario(), result.schedule);
  analysis::Summary summary = uncontended.summary(plan);
  // Rounding in the simulation or in the search must not put the bound above the simulated time.
  result.lower_bound = std::min(result.lower_bound, summary.makespan_s);
  const double above = gap(value_of(result, settings.objective), result.lower_bound);
  return {std::move(result), std::move(plan), std::move(summary), above};
}

void write_search_outputs(const SearchSettings& settings,
                          const evaluation::Uncontended& uncontended,
                          const SearchOutcome& outcome) {
  const std::vector<Output> outputs = parse_outputs(settings.outputs);
  std::vector<trace::Trace> traces;
  if (needs_traces(outputs)) traces.push_back(uncontended.trace(outcome.plan));
  for (const Output& output : outputs) {
    if (output.kind == OutputKind::csv)
      trace::write_file(output.file, schedules::to_torch_csv(outcome.plan.schedule));
    else
      write_output(output, {&outcome.summary, 1}, traces);
  }
}

void print_search_text(const SearchSettings& settings, const evaluation::Uncontended& uncontended,
                       const WrittenLimit& limit, bool has_limit, const SearchOutcome& outcome) {
  const schedules::SearchResult& result = outcome.result;
  const analysis::Summary& summary = outcome.summary;
  const std::string seconds = analysis::format_seconds(value_of(result, settings.objective));
  fmt::print("goal     least {}, for {}\n", describe(settings.objective),
             sizes(uncontended.scenario()));
  fmt::print("within   {} on a device{}\n", to_string(limit),
             has_limit ? "" : ", as 1F1B needs (--memory-limit sets another limit)");
  fmt::print("found    {}: {}{}\n", seconds, result.origin,
             result.interrupted ? " (interrupted: the best so far)" : "");
  fmt::print("bound    {}: no order on the placements searched takes less; gap {:.2f} %\n",
             analysis::format_seconds(result.lower_bound), 100 * outcome.gap);
  const std::string held = analysis::in_flight_text(summary);
  fmt::print("holds    {} {} in flight", held, held == "1" ? "microbatch" : "microbatches");
  std::uint64_t peak = 0;
  for (const analysis::DeviceSummary& device : summary.devices)
    peak = std::max(peak, device.peak_memory_bytes);
  if (peak > 0) fmt::print(", {} at the peak", analysis::format_bytes(peak));
  fmt::print("\nfrom     {} initial orders\n\n", result.candidates);
}

// Prints items, separated by commas, in lines of at most 100 columns.
void print_items(const std::vector<std::string>& items) {
  std::string line = " ";
  for (const std::string& item : items) {
    if (line.size() + item.size() > 98) {
      fmt::print("{}\n", line);
      line.assign(1, ' ');
    }
    line += fmt::format(" {}{}", item, &item == &items.back() ? "" : ",");
  }
  fmt::print("{}\n", line);
}

void print_search_comparison(const SearchSettings& settings,
                             const evaluation::Uncontended& uncontended, const WrittenLimit& limit,
                             const SearchOutcome& outcome) {
  CatalogTable table(settings.objective);
  table.add("found", outcome.summary);
  std::vector<std::string> too_large;
  for (const evaluation::CatalogRun& run :
       evaluation::searchable(evaluation::run_catalog(uncontended))) {
    const WrittenLimit held = held_by(run.summary, limit);
    if (held.limit.value <= limit.limit.value * (1 + 1e-9))
      table.add(std::string(run.entry->name), run.summary);
    else
      too_large.push_back(fmt::format("{} {:.4g}", run.entry->name, held.value()));
  }
  fmt::print("{}", table.text());
  if (too_large.empty()) return;
  fmt::print("\nschedules that exceed the limit, with what they hold in {}:\n", limit.unit);
  print_items(too_large);
}

int print_search_help() {
  fmt::print(
      "usage: pipewright schedule search [SCENARIO] [OPTIONS]\n"
      "\n"
      "Searches for the best order of passes for given times, latency and memory, and proves a "
      "lower\n"
      "bound for the time of every order. The search starts from the catalog's schedules and from "
      "building\n"
      "blocks, in a V and looped, fills their idle times, and improves the best by local moves.\n"
      "\n"
      "  pipewright schedule search -s 8 -b 32 -f '18 ms' --input-grad-times '19 ms'\n"
      "      --weight-grad-times '12 ms' --p2p-time '0.5 ms' --memory-limit 6 -o best.csv "
      "best.png\n"
      "  pipewright schedule search gpt-6b-a100 --memory-limit '40 GiB'\n"
      "      -o best.csv\n"
      "  pipewright run gpt-6b-a100 --schedule best.csv\n"
      "\n"
      "-o FILE.csv writes the schedule for PyTorch and for 'pipewright run'; .html .svg .png .pdf "
      "draw\n"
      "it, .json is its summary. Ctrl-C prints the best so far.\n"
      "A limit in microbatches counts a microbatch from the start of its F to the end of its W; a "
      "chunk\n"
      "counts as its share. A limit in bytes is for activations and the scenario's state together; "
      "it\n"
      "needs activation.per_microbatch. There is no contention: a cluster is reduced to the time "
      "of "
      "a hop,\n"
      "which is that of the boundary tensor between the neighbours that are farthest apart.\n"
      "\n{}",
      describe(schedule_search_options()));
  return exit_ok;
}

}  // namespace

int search_schedule(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, schedule_search_options(), "scenario");
  if (options.count("help") != 0) return print_search_help();
  const SearchSettings settings = read_search_settings(options);
  parse_outputs(settings.outputs);
  check_files(settings.read, settings.outputs);
  const bool has_limit = options.count("memory-limit") != 0;
  const WrittenLimit limit =
      has_limit ? read_limit(options["memory-limit"].as<std::string>(), "--memory-limit")
                : WrittenLimit{}.with(settings.scenario.devices.value);

  const evaluation::Uncontended uncontended(settings.scenario);
  watch_for_interrupts();
  const SearchOutcome outcome = search_for_schedule(settings, uncontended, limit);
  write_search_outputs(settings, uncontended, outcome);
  const int status = outcome.result.interrupted ? exit_interrupted : exit_ok;
  if (settings.json) {
    const analysis::JsonFields fields =
        json_fields(outcome.result, limit, settings.objective, outcome.result.lower_bound);
    fmt::print("{}", analysis::json_summary({&outcome.summary, 1}, {&fields, 1}));
    return status;
  }
  print_search_text(settings, uncontended, limit, has_limit, outcome);
  print_search_comparison(settings, uncontended, limit, outcome);
  for (const auto& file : settings.outputs) fmt::print("wrote    {}\n", file.string());
  return status;
}

}  // namespace pipewright::cli
