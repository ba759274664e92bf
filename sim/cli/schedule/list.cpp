#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/summary_columns.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/schedule/catalog_table.hpp"
#include "sim/evaluation/uncontended.hpp"

namespace pipewright::cli {
namespace {

po::options_description list_options() {
  po::options_description options("options of 'list'", 100);
  add_scenario_options(options, split_pass_keys);
  options.add_options()("markdown", "print the table as Markdown")("json", "print only JSON");
  return options;
}

std::string options_taken_by(const schedules::Entry& entry) {
  std::vector<std::string_view> options;
  for (const schedules::ChoiceInfo& info : schedules::choices)
    if (entry.takes(info.choice)) options.push_back(info.flag);
  return fmt::format("{}", fmt::join(options, ", "));
}

void print_names() {
  std::size_t width = 0;
  for (const schedules::Entry& entry : schedules::catalog())
    width = std::max(width, entry.name.size());
  for (const schedules::Entry& entry : schedules::catalog()) {
    fmt::print("{:<{}}  {}\n", entry.name, width, entry.help);
    if (const std::string options = options_taken_by(entry); !options.empty())
      fmt::print("{:<{}}    takes {}\n", "", width, options);
  }
}

// The scenario, with a time of 1 s for each pass whose time is not set.
config::Value tree_with_times(const po::variables_map& options) {
  return scenario_tree(options, [](config::Value& tree) {
    const auto set = [&](const char* key) {
      if (config::find(tree, key) == nullptr)
        config::set_key(tree, key, config::make_text("1", {}));
    };
    set("forward_times");
    if (config::find(tree, "backward_times") != nullptr) return;
    set("input_grad_times");
    set("weight_grad_times");
  });
}

struct ListColumns {
  std::vector<std::string> names, ratios, bubbles, in_flight, sources;
};

ListColumns list_columns(const std::vector<evaluation::CatalogRun>& runs,
                         const analysis::ColumnScale& bubble) {
  ListColumns columns;
  for (const evaluation::CatalogRun& run : runs) {
    const bool is_possible = run.why_not.empty();
    columns.names.emplace_back(run.entry->name);
    columns.ratios.push_back(
        is_possible ? fmt::format("{:.1f}", 100 * std::max(0.0, run.summary.bubble_ratio)) : "-");
    columns.bubbles.push_back(is_possible ? bubble(run.summary.span_bubble_s) : "-");
    columns.in_flight.push_back(is_possible ? analysis::in_flight_text(run.summary) : "-");
    columns.sources.emplace_back(run.entry->source);
  }
  return columns;
}

void print_list_markdown(const ListColumns& columns, const std::string& unit) {
  fmt::print("| schedule | bubble ratio (%) | span bubble ({}) | in flight | source |\n", unit);
  fmt::print("|---|---:|---:|---:|---|\n");
  for (std::size_t row = 0; row < columns.names.size(); ++row)
    fmt::print("| {} | {} | {} | {} | {} |\n", columns.names[row], columns.ratios[row],
               columns.bubbles[row], columns.in_flight[row], columns.sources[row]);
}

void print_list_table(ListColumns columns, const std::string& unit) {
  analysis::TextTable table;
  table.add_names("schedule", std::move(columns.names));
  table.add_numbers({"bubble", "ratio", "%"}, std::move(columns.ratios));
  table.add_numbers({"span", "bubble", unit}, std::move(columns.bubbles));
  table.add_numbers({"in", "flight"}, std::move(columns.in_flight));
  table.add_names("source", std::move(columns.sources));
  fmt::print("{}", table.text());
}

void print_runs(const po::variables_map& options) {
  const evaluation::Uncontended uncontended(config::read_scenario(tree_with_times(options)));
  watch_for_interrupts();
  const std::vector<evaluation::CatalogRun> runs = evaluation::run_catalog(uncontended);
  double longest = 0;
  for (const evaluation::CatalogRun& run : runs)
    longest = std::max(longest, run.summary.span_bubble_s);
  const analysis::ColumnScale bubble = analysis::time_scale(longest, 3);
  const bool markdown = options.count("markdown") != 0;
  const bool unit_times = options.count("forward-times") == 0 && !scenario_file(options);
  fmt::print("{}{}\n\n", sizes(uncontended.scenario()), unit_times ? ", F = I = W = 1 s" : "");
  if (markdown)
    print_list_markdown(list_columns(runs, bubble), bubble.unit);
  else
    print_list_table(list_columns(runs, bubble), bubble.unit);
  bool first = true;
  for (const evaluation::CatalogRun& run : runs) {
    if (run.why_not.empty()) continue;
    fmt::print("{}{}{}\n", first ? "\n" : "", markdown ? "- " : "", run.why_not);
    first = false;
  }
}

analysis::Json entry_json(const schedules::Entry& entry) {
  analysis::Json options = analysis::Json::array();
  for (const schedules::ChoiceInfo& info : schedules::choices)
    if (entry.takes(info.choice)) options.push_back(info.key);
  return {
      {"schedule", entry.name}, {"help", entry.help}, {"source", entry.source}, {"takes", options}};
}

double max_in_flight(const analysis::Summary& run) {
  double peak = 0;
  for (const analysis::DeviceSummary& device : run.devices)
    peak = std::max(peak, device.peak_in_flight);
  return peak;
}

// Prints the catalog of schedules as JSON. With further options, such as sizes, also simulates each
// schedule and prints its figures, or why it is impossible.
void print_list_json(const po::variables_map& options) {
  analysis::Json list = analysis::Json::array();
  if (options.size() == 1) {
    for (const schedules::Entry& entry : schedules::catalog()) list.push_back(entry_json(entry));
  } else {
    const evaluation::Uncontended uncontended(config::read_scenario(tree_with_times(options)));
    watch_for_interrupts();
    for (const evaluation::CatalogRun& run : evaluation::run_catalog(uncontended)) {
      analysis::Json json = entry_json(*run.entry);
      const bool is_possible = run.why_not.empty();
      const auto figure = [&](const char* name, double value) {
        json[name] = is_possible ? analysis::Json(value) : analysis::Json(nullptr);
      };
      figure("makespan_s", run.summary.makespan_s);
      figure("bubble_ratio", std::max(0.0, run.summary.bubble_ratio));
      figure("span_bubble_s", run.summary.span_bubble_s);
      figure("in_flight", max_in_flight(run.summary));
      json["why_not"] = is_possible ? analysis::Json(nullptr) : analysis::Json(run.why_not);
      list.push_back(std::move(json));
    }
  }
  fmt::print("{}\n", analysis::json_line(list));
}

int print_list_help() {
  fmt::print(
      "usage: pipewright schedule list [[SCENARIO] -s P -b M [OPTIONS]]\n"
      "\n"
      "Lists the schedules of the catalog. With sizes, compares them at these sizes without "
      "contention and\n"
      "with the default of every option; F = I = W = 1 s unless times are set.\n"
      "\n"
      "  pipewright schedule list\n"
      "  pipewright schedule list -s 8 -b 32\n"
      "  pipewright schedule list gpt-6b-a100 --markdown\n"
      "\n{}",
      describe(list_options()));
  return exit_ok;
}

}  // namespace

int list_schedules(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, list_options(), "scenario");
  if (options.count("help") != 0) return print_list_help();
  if (options.count("json") != 0)
    print_list_json(options);
  else if (options.empty())
    print_names();
  else
    print_runs(options);
  return exit_ok;
}

}  // namespace pipewright::cli
