#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/summary_columns.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/schedule/uncontended.hpp"

namespace pipewright::cli {
namespace {

po::options_description list_options() {
  po::options_description options("options of 'list'", 100);
  add_scenario_options(options, split_pass_keys);
  options.add_options()("markdown", "the table as Markdown")(
      "json", "print all of it as JSON and nothing else");
  return options;
}

std::string options_of(const schedules::Entry& entry) {
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
    if (const std::string options = options_of(entry); !options.empty())
      fmt::print("{:<{}}    takes {}\n", "", width, options);
  }
}

// One pass of unit time each, unless other times are given.
config::Value tree_with_times(const po::variables_map& given) {
  return scenario_tree(given, [](config::Value& tree) {
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

struct Columns {
  std::vector<std::string> names, ratios, bubbles, in_flight, sources;
};

Columns columns_of(const std::vector<CatalogRun>& runs, const analysis::ColumnScale& bubble) {
  Columns columns;
  for (const CatalogRun& run : runs) {
    const bool can = run.why_not.empty();
    columns.names.emplace_back(run.entry->name);
    columns.ratios.push_back(
        can ? fmt::format("{:.1f}", 100 * std::max(0.0, run.summary.bubble_ratio)) : "-");
    columns.bubbles.push_back(can ? bubble(run.summary.span_bubble_s) : "-");
    columns.in_flight.push_back(can ? analysis::in_flight_text(run.summary) : "-");
    columns.sources.emplace_back(run.entry->source);
  }
  return columns;
}

void print_markdown(const Columns& columns, const std::string& unit) {
  fmt::print("| schedule | bubble ratio (%) | span bubble ({}) | in flight | source |\n", unit);
  fmt::print("|---|---:|---:|---:|---|\n");
  for (std::size_t row = 0; row < columns.names.size(); ++row)
    fmt::print("| {} | {} | {} | {} | {} |\n", columns.names[row], columns.ratios[row],
               columns.bubbles[row], columns.in_flight[row], columns.sources[row]);
}

void print_table(Columns columns, const std::string& unit) {
  analysis::TextTable table;
  table.add_names("schedule", std::move(columns.names));
  table.add_numbers({"bubble", "ratio", "%"}, std::move(columns.ratios));
  table.add_numbers({"span", "bubble", unit}, std::move(columns.bubbles));
  table.add_numbers({"in", "flight"}, std::move(columns.in_flight));
  table.add_names("source", std::move(columns.sources));
  fmt::print("{}", table.text());
}

void print_runs(const po::variables_map& given) {
  const Uncontended uncontended(config::read_scenario(tree_with_times(given)));
  const std::vector<CatalogRun> runs = run_catalog(uncontended);
  double longest = 0;
  for (const CatalogRun& run : runs) longest = std::max(longest, run.summary.span_bubble_s);
  const analysis::ColumnScale bubble = analysis::time_scale(longest, 3);
  const bool markdown = given.count("markdown") != 0;
  const bool unit_times = given.count("forward-times") == 0 && !scenario_file(given);
  fmt::print("{}{}\n\n", sizes(uncontended.scenario()), unit_times ? ", F = I = W = 1 s" : "");
  if (markdown)
    print_markdown(columns_of(runs, bubble), bubble.unit);
  else
    print_table(columns_of(runs, bubble), bubble.unit);
  bool first = true;
  for (const CatalogRun& run : runs) {
    if (run.why_not.empty()) continue;
    fmt::print("{}{}{}\n", first ? "\n" : "", markdown ? "- " : "", run.why_not);
    first = false;
  }
}

analysis::Json json_of(const schedules::Entry& entry) {
  analysis::Json options = analysis::Json::array();
  for (const schedules::ChoiceInfo& info : schedules::choices)
    if (entry.takes(info.choice)) options.push_back(info.key);
  return {
      {"schedule", entry.name}, {"help", entry.help}, {"source", entry.source}, {"takes", options}};
}

double most_in_flight(const analysis::Summary& run) {
  double most = 0;
  for (const analysis::DeviceSummary& device : run.devices)
    most = std::max(most, device.peak_in_flight);
  return most;
}

// With sizes, also what each comes to, or why it cannot be.
void print_json(const po::variables_map& given) {
  analysis::Json list = analysis::Json::array();
  if (given.size() == 1) {
    for (const schedules::Entry& entry : schedules::catalog()) list.push_back(json_of(entry));
  } else {
    for (const CatalogRun& run :
         run_catalog(Uncontended(config::read_scenario(tree_with_times(given))))) {
      analysis::Json json = json_of(*run.entry);
      const bool can = run.why_not.empty();
      const auto figure = [&](const char* name, double value) {
        json[name] = can ? analysis::Json(value) : analysis::Json(nullptr);
      };
      figure("makespan_s", run.summary.makespan_s);
      figure("bubble_ratio", std::max(0.0, run.summary.bubble_ratio));
      figure("span_bubble_s", run.summary.span_bubble_s);
      figure("in_flight", most_in_flight(run.summary));
      json["why_not"] = can ? analysis::Json(nullptr) : analysis::Json(run.why_not);
      list.push_back(std::move(json));
    }
  }
  fmt::print("{}\n", analysis::json_line(list));
}

int print_help() {
  fmt::print(
      "usage: pipewright schedule list [[SCENARIO] -s P -b M [OPTIONS]]\n"
      "\n"
      "Names the schedules of the catalog; with sizes, what each comes to at these, without "
      "contention\n"
      "and with the default of every option. F = I = W = 1 s unless times are given.\n"
      "\n"
      "  pipewright schedule list\n"
      "  pipewright schedule list -s 8 -b 32\n"
      "  pipewright schedule list platforms/scenarios/gpt-6b-a100.yaml --markdown\n"
      "\n{}",
      describe(list_options()));
  return exit_ok;
}

}  // namespace

int list_schedules(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, list_options(), "scenario");
  if (given.count("help") != 0) return print_help();
  if (given.count("json") != 0)
    print_json(given);
  else if (given.empty())
    print_names();
  else
    print_runs(given);
  return exit_ok;
}

}  // namespace pipewright::cli
