#include <utility>

#include <fmt/format.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/text_table.hpp"
#include "sim/cli/options.hpp"
#include "sim/cluster/checks/faults.hpp"

namespace pipewright::cli {
namespace {

po::options_description check_options() {
  po::options_description options("options of 'check'", 100);
  options.add_options()("json", "print what was found as JSON and nothing else")("help,h",
                                                                                 "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright platform check FILE.xml|NAME [OPTIONS]\n"
      "\n"
      "Looks for what a file says but hardly means: GPUs that no route joins, routes without\n"
      "latency, links that are half duplex, or more than twice as fast or slow as others of their\n"
      "class, GPUs without a known type, memory or a credible speed. Tells the line of each and\n"
      "exits 1 if there is any; a file that does not load exits 2. Of GPUs whose routes are alike\n"
      "it looks at one, and says at how many pairs it looked.\n"
      "\n"
      "  pipewright platform check mine.xml\n"
      "\n{}",
      describe(check_options()));
  return exit_ok;
}

std::string json_text(const cluster::Cluster& cluster, const cluster::FaultReport& report) {
  analysis::Json faults = analysis::Json::array();
  for (const cluster::Fault& fault : report.faults)
    faults.push_back({{"line", fault.line > 0 ? analysis::Json(fault.line) : analysis::Json()},
                      {"what", fault.what}});
  const analysis::Json json{
      {"cluster", cluster.name()},           {"faults", std::move(faults)},
      {"gpus", cluster.gpus().size()},       {"links", cluster.links().size()},
      {"pairs_looked_at", report.looked_at}, {"pairs", report.pairs},
      {"sampled", report.is_sampled}};
  return json.dump(-1, ' ', false, analysis::Json::error_handler_t::replace) + '\n';
}

}  // namespace

int check_platform(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, check_options(), "file");
  if (given.count("help") != 0) return print_help();
  const cluster::Cluster cluster = cluster::Cluster::load(platform_file(given, "check"));
  const cluster::FaultReport report = cluster::find_faults(cluster);
  const std::vector<cluster::Fault>& faults = report.faults;
  if (given.count("json") != 0) {
    fmt::print("{}", json_text(cluster, report));
    return faults.empty() ? exit_ok : exit_findings;
  }
  const std::string name = analysis::printable(cluster.name());
  for (const cluster::Fault& fault : faults)
    fmt::print("{}{}: {}\n", name, fault.line > 0 ? fmt::format(":{}", fault.line) : "",
               analysis::printable(fault.what));
  if (faults.empty())
    fmt::print("{}: nothing wrong with {} GPUs and {} links\n", name, cluster.gpus().size(),
               cluster.links().size());
  if (report.pairs > 0)
    fmt::print("looked at {} of {} pairs of GPUs{}\n", report.looked_at, report.pairs,
               report.looked_at == report.pairs ? ""
               : report.is_sampled              ? ", drawn at random"
                                                : "; the others are like them");
  return faults.empty() ? exit_ok : exit_findings;
}

}  // namespace pipewright::cli
