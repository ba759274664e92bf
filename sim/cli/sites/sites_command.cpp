#include <fmt/format.h>

#include "analysis/report/sites/sites_report.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/schedule_options.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/sites.hpp"
#include "sim/sites/study.hpp"

namespace pipewright::cli {
namespace {

po::options_description sites_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("json", "print the result as JSON and nothing else");
  add("quiet,q", "no notes");
  add_scenario_options(options);
  add_schedule_options(options);
  add("help,h", "print this help");
  return options;
}

int print_sites_help() {
  fmt::print(
      "usage: pipewright sites SCENARIO [OPTIONS]\n"
      "\n"
      "Simulates training over several sites with slow connections. Each site trains as the\n"
      "scenario says, and the sites average their weights every few iterations (DiLoCo). Prints\n"
      "the share of the time in which sites train, and the bandwidth for given shares.\n"
      "\n"
      "  pipewright sites llama.yaml --set sites.count=4 sites.bandwidth='10 Gbit/s'\n"
      "  pipewright sites llama.yaml --set sites.every=50 sites.fragments=5 sites.overlap=5\n"
      "      sites.precision=fp4\n"
      "\n{}\n{}",
      describe(sites_options()), describe_section("sites", config::sites_keys()));
  return exit_ok;
}

}  // namespace

int sites_command(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, sites_options(), "scenario");
  if (options.count("help") != 0) return print_sites_help();
  const bool is_json = options.count("json") != 0;
  const config::Scenario scenario = config::read_scenario(scheduled_tree(options));
  watch_for_interrupts(interrupt_grace);
  const analysis::SitesReport report = sites::study(scenario, sites::sites_of(scenario));
  if (!is_json && options.count("quiet") == 0) print_notes(report.notes);
  fmt::print("{}", is_json ? analysis::sites_json(report) : analysis::sites_text(report));
  return exit_ok;
}

}  // namespace pipewright::cli
