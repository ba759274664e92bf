#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/assumed.hpp"
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
#include "sim/cli/schedule/search_options.hpp"
#include "sim/cli/schedule/uncontended.hpp"

namespace pipewright::cli {
namespace {

po::options_description search_options() {
  po::options_description options("options of 'search'", 100);
  add_search_options(options);
  options.add_options()(
      "memory-limit", one_word("X"),
      "of a device: microbatches (8.5) or bytes (\"40 GiB\"); 1F1B's if not given");
  return options;
}

struct Found {
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

Found find(const SearchSettings& settings, const Uncontended& uncontended,
           const WrittenLimit& limit) {
  schedules::SearchResult result = search_with_bar(settings, uncontended.scenario(), limit);
  workload::Plan plan = workload::make_plan(uncontended.scenario(), result.schedule);
  analysis::Summary summary = uncontended.summary(plan);
  // The engine's sums may round otherwise than the search's.
  result.lower_bound = std::min(result.lower_bound, summary.makespan_s);
  const double above = gap(value_of(result, settings.objective), result.lower_bound);
  return {std::move(result), std::move(plan), std::move(summary), above};
}

void write_outputs(const SearchSettings& settings, const Uncontended& uncontended,
                   const Found& found) {
  const std::vector<Output> outputs = parse_outputs(settings.outputs);
  std::vector<trace::Trace> traces;
  if (needs_traces(outputs)) traces.push_back(uncontended.trace(found.plan));
  for (const Output& output : outputs) {
    if (output.kind == OutputKind::csv)
      trace::write_file(output.file, schedules::to_torch_csv(found.plan.schedule));
    else
      write_output(output, {&found.summary, 1}, traces);
  }
}

void print_text(const SearchSettings& settings, const Uncontended& uncontended,
                const WrittenLimit& limit, bool limit_given, const Found& found) {
  const schedules::SearchResult& result = found.result;
  const analysis::Summary& summary = found.summary;
  const std::string seconds = analysis::format_seconds(value_of(result, settings.objective));
  fmt::print("goal     the least {}, for {}\n", describe(settings.objective),
             sizes(uncontended.scenario()));
  fmt::print("within   {} on a device{}\n", to_string(limit),
             limit_given ? "" : ", as 1F1B takes (--memory-limit sets another)");
  const std::string_view mark = analysis::time_mark(summary.run.assumed);
  fmt::print("found    {}{}: {}{}\n", mark, seconds, result.origin,
             result.interrupted ? " (interrupted: the best so far)" : "");
  fmt::print("bound    {}{}: no order on the placements tried can take less; gap {:.2f} %\n", mark,
             analysis::format_seconds(result.lower_bound), 100 * found.gap);
  const std::string held = analysis::in_flight_text(summary);
  fmt::print("holds    {} {} in flight", held, held == "1" ? "microbatch" : "microbatches");
  std::uint64_t peak = 0;
  for (const analysis::DeviceSummary& device : summary.devices)
    peak = std::max(peak, device.peak_memory_bytes);
  if (peak > 0) fmt::print(", {} at the peak", analysis::format_bytes(peak));
  fmt::print("\nfrom     {} orders to start with\n\n", result.candidates);
}

// In lines of 100 columns.
void print_list(const std::vector<std::string>& items) {
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

void print_comparison(const SearchSettings& settings, const Uncontended& uncontended,
                      const WrittenLimit& limit, const Found& found) {
  CatalogTable table(settings.objective);
  table.add("found", found.summary);
  std::vector<std::string> too_large;
  for (const CatalogRun& run : searchable(run_catalog(uncontended))) {
    const WrittenLimit held = held_by(run.summary, limit);
    if (held.limit.value <= limit.limit.value * (1 + 1e-9))
      table.add(std::string(run.entry->name), run.summary);
    else
      too_large.push_back(fmt::format("{} {:.4g}", run.entry->name, held.value()));
  }
  fmt::print("{}", table.text());
  if (too_large.empty()) return;
  fmt::print("\nthese do not fit; they hold, in {}:\n", limit.unit);
  print_list(too_large);
}

int print_help() {
  fmt::print(
      "usage: pipewright schedule search [SCENARIO] [OPTIONS]\n"
      "\n"
      "Looks for the best order of passes for given times, latency and memory, and proves a time "
      "that\n"
      "no order can beat. It starts from the catalog's schedules and from building blocks, in a V "
      "and\n"
      "looped, fills what they leave idle, and improves the best by local moves.\n"
      "\n"
      "  pipewright schedule search -s 8 -b 32 -f '18 ms' --input-grad-times '19 ms'\n"
      "      --weight-grad-times '12 ms' --p2p-time '0.5 ms' --memory-limit 6 -o best.csv "
      "best.png\n"
      "  pipewright schedule search platforms/scenarios/gpt-6b-a100.yaml --memory-limit '40 GiB'\n"
      "      -o best.csv\n"
      "  pipewright run platforms/scenarios/gpt-6b-a100.yaml --schedule best.csv\n"
      "\n"
      "-o FILE.csv writes the schedule for PyTorch and for 'pipewright run'; .html .svg .png .pdf "
      "draw\n"
      "it, .json is its summary. Ctrl-C prints the best so far.\n"
      "A limit in microbatches counts each from the start of its F to the end of its W, a chunk as "
      "its\n"
      "part. One in bytes is for activations and what the scenario's state always takes together; "
      "it\n"
      "needs activation.per_microbatch. Nothing contends: a cluster counts as the time of a hop, "
      "that of\n"
      "the boundary tensor between the neighbours that are farthest apart.\n"
      "\n{}",
      describe(search_options()));
  return exit_ok;
}

}  // namespace

int search_schedule(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, search_options(), "scenario");
  if (given.count("help") != 0) return print_help();
  const SearchSettings settings = read_search_settings(given);
  parse_outputs(settings.outputs);
  check_files(settings.read, settings.outputs);
  const bool limit_given = given.count("memory-limit") != 0;
  const WrittenLimit limit =
      limit_given ? read_limit(given["memory-limit"].as<std::string>(), "--memory-limit")
                  : WrittenLimit{}.with(settings.scenario.devices.value);

  const Uncontended uncontended(settings.scenario);
  const Found found = find(settings, uncontended, limit);
  write_outputs(settings, uncontended, found);
  const int status = found.result.interrupted ? exit_interrupted : exit_ok;
  if (settings.json) {
    const analysis::JsonFields fields =
        json_fields(found.result, limit, settings.objective, found.result.lower_bound);
    fmt::print("{}", analysis::json_summary({&found.summary, 1}, {&fields, 1}));
    return status;
  }
  print_text(settings, uncontended, limit, limit_given, found);
  print_comparison(settings, uncontended, limit, found);
  for (const auto& file : settings.outputs) fmt::print("wrote    {}\n", file.string());
  return status;
}

}  // namespace pipewright::cli
