#include <fmt/format.h>

#include "analysis/text_table.hpp"
#include "sim/cli/platform_verbs.hpp"
#include "sim/cluster/faults.hpp"

namespace pipewright::cli {
namespace {

int print_help() {
  fmt::print(
      "usage: pipewright platform check FILE.xml|NAME\n"
      "\n"
      "Looks for what a file says but hardly means: GPUs that no route joins, routes without\n"
      "latency, links that are half duplex, GPUs without type, memory or a credible speed. Tells\n"
      "the line of each and exits 1 if there is any; a file that does not load exits 2.\n"
      "\n"
      "  pipewright platform check mine.xml\n");
  return exit_ok;
}

}  // namespace

int check_platform(const Arguments& arguments) {
  po::options_description all("options of 'check'");
  all.add_options()("help,h", "")("file", po::value<std::vector<std::string>>());
  const po::variables_map given = parse(arguments, all, "file");
  if (given.count("help") != 0) return print_help();
  const cluster::Cluster cluster = cluster::Cluster::load(platform_path(given, "check"));
  const std::vector<cluster::Fault> faults = cluster::find_faults(cluster);
  const std::string name = analysis::printable(cluster.name());
  for (const cluster::Fault& fault : faults)
    fmt::print("{}{}: {}\n", name, fault.line > 0 ? fmt::format(":{}", fault.line) : "",
               analysis::printable(fault.what));
  if (!faults.empty()) return exit_findings;
  fmt::print("{}: nothing wrong with {} GPUs and {} links\n", name, cluster.gpus().size(),
             cluster.links().size());
  return exit_ok;
}

}  // namespace pipewright::cli
