#include <utility>

#include <fmt/format.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/text_table.hpp"
#include "sim/cli/options.hpp"
#include "sim/cluster/checks/faults.hpp"

namespace pipewright::cli {
namespace {

po::options_description platform_check_options() {
  po::options_description options("options of 'check'", 100);
  options.add_options()("json", "print the result as JSON and nothing else")("help,h",
                                                                             "print this help");
  return options;
}

int print_platform_check_help() {
  fmt::print(
      "usage: pipewright platform check FILE.xml|NAME [OPTIONS]\n"
      "\n"
      "Looks for probable mistakes in a platform file: GPUs without a route between them,\n"
      "routes without latency, half-duplex links, links that are more than twice as fast or\n"
      "slow as others of their class, or slower than most of them, as if a cable had trained to\n"
      "a lower rate, and GPUs without a known type, memory or a plausible speed. Prints the\n"
      "line of each fault, and exits with status 1 if there is any, or 2 if the file cannot be\n"
      "loaded. Equivalent GPUs are examined once; the last line names the number of examined\n"
      "pairs.\n"
      "\n"
      "  pipewright platform check mine.xml\n"
      "\n"
      "{}",
      describe(platform_check_options()));
  return exit_ok;
}

std::string fault_report_json(const cluster::Cluster& cluster, const cluster::FaultReport& report) {
  analysis::Json faults = analysis::Json::array();
  for (const cluster::Fault& fault : report.faults)
    faults.push_back({{"line", fault.line > 0 ? analysis::Json(fault.line) : analysis::Json()},
                      {"what", fault.message}});
  const analysis::Json json{{"cluster", cluster.name()},          {"faults", std::move(faults)},
                            {"gpus", cluster.gpus().size()},      {"links", cluster.links().size()},
                            {"pairs_looked_at", report.examined}, {"pairs", report.pairs},
                            {"sampled", report.is_sampled}};
  return json.dump(-1, ' ', false, analysis::Json::error_handler_t::replace) + '\n';
}

}  // namespace

int check_platform(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, platform_check_options(), "file");
  if (options.count("help") != 0) return print_platform_check_help();
  const cluster::Cluster cluster = cluster::Cluster::load(platform_file(options, "check"));
  const cluster::FaultReport report = cluster::find_faults(cluster);
  const std::vector<cluster::Fault>& faults = report.faults;
  if (options.count("json") != 0) {
    fmt::print("{}", fault_report_json(cluster, report));
    return faults.empty() ? exit_ok : exit_findings;
  }
  const std::string name = analysis::printable(cluster.name());
  for (const cluster::Fault& fault : faults)
    fmt::print("{}{}: {}\n", name, fault.line > 0 ? fmt::format(":{}", fault.line) : "",
               analysis::printable(fault.message));
  if (faults.empty())
    fmt::print("{}: no faults in {} GPUs and {} links\n", name, cluster.gpus().size(),
               cluster.links().size());
  if (report.pairs > 0)
    fmt::print("examined {} of {} pairs of GPUs{}\n", report.examined, report.pairs,
               report.examined == report.pairs ? ""
               : report.is_sampled             ? ", drawn at random"
                                               : "; the remaining pairs are equivalent");
  return faults.empty() ? exit_ok : exit_findings;
}

}  // namespace pipewright::cli
