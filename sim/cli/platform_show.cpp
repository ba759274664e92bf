#include <algorithm>

#include <fmt/format.h>

#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"
#include "sim/cli/platform_verbs.hpp"
#include "sim/cluster/describe.hpp"

namespace pipewright::cli {
namespace {

using cluster::Cluster;

po::options_description show_options() {
  po::options_description options("options of 'show'", 100);
  auto add = options.add_options();
  add("route", po::value<std::vector<std::string>>()->multitoken()->value_name("A B"),
      "the way from one GPU to another");
  add("help,h", "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright platform show FILE.xml|NAME [--route A B]\n"
      "\n"
      "What a platform file holds: nodes, GPUs, links by class (a link's property 'class', or its\n"
      "name without numbers), and the bisection: what the first half of the GPUs can send to the\n"
      "second at once, in one direction, all alike. Between them, what messages cost beside: the\n"
      "properties that platforms/README.md explains.\n"
      "\n"
      "  pipewright platform show dgx-a100\n"
      "  pipewright platform show mine.xml --route node-0-gpu-0 node-1-gpu-3\n"
      "\n{}",
      describe(show_options()));
  return exit_ok;
}

std::string gigabytes(double bytes_per_second) {
  const double value = bytes_per_second / 1e9;
  return value < 1000 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}
std::string microseconds(double seconds) { return fmt::format("{:.3g}", seconds * 1e6); }

std::string gpu_text(const cluster::GpuKind& kind) {
  std::string text = fmt::format("{} x {}", kind.count, kind.gpu.empty() ? "GPU" : kind.gpu);
  text += fmt::format(", {:.4g} TFLOP/s", kind.speed / 1e12);
  if (kind.memory != 0) text += ", " + analysis::format_bytes(kind.memory);
  return text;
}

std::string links_text(const std::vector<cluster::LinkKind>& kinds) {
  std::vector<std::string> names, counts, bandwidths, latencies;
  for (const cluster::LinkKind& kind : kinds) {
    names.push_back(analysis::printable(kind.link_class));
    counts.push_back(std::to_string(kind.count));
    bandwidths.push_back(gigabytes(kind.bandwidth));
    latencies.push_back(microseconds(kind.latency));
  }
  analysis::TextTable table;
  table.add_names("link class", std::move(names));
  table.add_numbers({"links"}, std::move(counts));
  table.add_numbers({"bandwidth", "GB/s"}, std::move(bandwidths));
  table.add_numbers({"latency", "us"}, std::move(latencies));
  return table.text();
}

std::string value_text(double value, cluster::ParameterUnit unit) {
  switch (unit) {
    case cluster::ParameterUnit::seconds:
      return microseconds(value) + " us";
    case cluster::ParameterUnit::steps:
      return fmt::format("{:.3g} steps", value);
    case cluster::ParameterUnit::ratio:
      break;
  }
  return fmt::format("{:.3g}", value);
}

// What messages cost beside links: the numbers that the file has of it.
std::string model_text(const Cluster& cluster) {
  std::vector<std::string> owners = cluster.link_classes();
  owners.insert(owners.begin(), "collective");
  std::vector<std::string> names, values;
  for (const std::string& owner : owners)
    for (const cluster::ParameterInfo& info : cluster::parameter_list()) {
      if (info.of_class == (owner == "collective")) continue;
      const std::string name = fmt::format("{}.{}", owner, info.suffix);
      const auto value = cluster::parameter(cluster.model(), name);
      // A number that changes nothing is as good as none.
      if (!value || *value == (info.suffix == "efficiency" ? 1 : 0)) continue;
      names.push_back(analysis::printable(name));
      values.push_back(value_text(*value, info.unit));
    }
  if (names.empty()) return "";
  analysis::TextTable table;
  table.add_names("of messages", std::move(names));
  table.add_names("", std::move(values));
  return fmt::format("\n{}", table.text());
}

std::string route_text(const Cluster& cluster, const std::vector<std::string>& ends) {
  if (ends.size() != 2) throw UsageError("--route takes two GPUs, as in node-0-gpu-0 node-1-gpu-0");
  const std::vector<cluster::Host*> hosts = cluster.place(ends, 2);
  const cluster::Route route = cluster.route(hosts[0], hosts[1]);
  std::vector<std::string> names, classes, bandwidths, latencies;
  double links = 0;
  for (const cluster::Link* link : route.links) {
    names.push_back(analysis::printable(Cluster::link_name(link)));
    classes.push_back(analysis::printable(cluster.link_class(link)));
    bandwidths.push_back(gigabytes(Cluster::bandwidth_of(link)));
    latencies.push_back(microseconds(cluster.latency_of(link)));
    links += cluster.latency_of(link);
  }
  if (route.latency > links * (1 + 1e-9)) {
    names.emplace_back("(both NICs)");
    classes.emplace_back("");
    bandwidths.emplace_back("");
    latencies.push_back(microseconds(route.latency - links));
  }
  analysis::TextTable table;
  table.add_names("link", std::move(names));
  table.add_names("class", std::move(classes));
  table.add_numbers({"bandwidth", "GB/s"}, std::move(bandwidths));
  table.add_numbers({"latency", "us"}, std::move(latencies));
  return fmt::format("\n{} to {}: {} GB/s, {} us\n\n{}", ends[0], ends[1],
                     gigabytes(route.bandwidth), microseconds(route.latency), table.text());
}

}  // namespace

int show_platform(const Arguments& arguments) {
  po::options_description all = show_options();
  all.add_options()("file", po::value<std::vector<std::string>>());
  const po::variables_map given = parse(arguments, all, "file");
  if (given.count("help") != 0) return print_help();
  const Cluster cluster = Cluster::load(platform_path(given, "show"));
  const std::string route =
      given.count("route") != 0 ? route_text(cluster, values(given, "route")) : "";
  const cluster::Description description = cluster::describe(cluster);
  fmt::print("{}: {} {}, {} GPUs\n", cluster.name(), description.nodes,
             description.nodes == 1 ? "node" : "nodes", cluster.gpus().size());
  for (const cluster::GpuKind& kind : description.gpus) fmt::print("  {}\n", gpu_text(kind));
  fmt::print("\n{}{}", links_text(description.links), model_text(cluster));
  const std::size_t half = cluster.gpus().size() / 2;
  if (half > 0)
    fmt::print("\nbisection {} GB/s, {} a GPU of its first half\n",
               gigabytes(description.bisection),
               gigabytes(description.bisection / static_cast<double>(half)));
  fmt::print("{}", route);
  return exit_ok;
}

}  // namespace pipewright::cli
