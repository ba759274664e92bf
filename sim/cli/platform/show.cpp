#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/platform/platform_json.hpp"
#include "sim/cluster/checks/describe.hpp"

namespace pipewright::cli {
namespace {

using cluster::Cluster;

po::options_description show_options() {
  po::options_description options("options of 'show'", 100);
  auto add = options.add_options();
  add("route", several_words("A B"), "the way from one GPU to another");
  add("json", "print all that as JSON and nothing else");
  add("help,h", "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright platform show FILE.xml|NAME [--route A B] [--json]\n"
      "\n"
      "What a platform file holds: nodes, GPUs, links by class (a link's property 'class', or its\n"
      "name without numbers), and the bisection: what the first half of the GPUs can send to the\n"
      "second at once, in one direction, all alike, each spreading it over the GPUs of its place "
      "in\n"
      "their nodes. Between them, what messages cost beside: the properties that\n"
      "platforms/README.md explains.\n"
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
std::string microseconds(double seconds) {
  const double value = seconds * 1e6;
  return value < 1000 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

std::string gpu_text(const cluster::GpuKind& kind) {
  std::string text =
      fmt::format("{} x {}", kind.count, kind.gpu.empty() ? "GPU" : analysis::printable(kind.gpu));
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
std::vector<ShownParameter> messages_of(const Cluster& cluster) {
  std::vector<std::string> owners = cluster.link_classes();
  owners.insert(owners.begin(), "collective");
  std::vector<ShownParameter> messages;
  for (const std::string& owner : owners)
    for (const cluster::ParameterInfo& info : cluster::parameter_list()) {
      if (info.of_class == (owner == "collective")) continue;
      const std::string name = fmt::format("{}.{}", owner, info.suffix);
      const auto value = cluster::parameter(cluster.model(), name);
      // A number that changes nothing is as good as none.
      if (!value || *value == (info.suffix == "efficiency" ? 1 : 0)) continue;
      messages.push_back({name, *value, info.unit});
    }
  return messages;
}

std::string messages_text(const std::vector<ShownParameter>& messages) {
  if (messages.empty()) return "";
  std::vector<std::string> names, values;
  for (const ShownParameter& one : messages) {
    names.push_back(analysis::printable(one.name));
    values.push_back(value_text(one.value, one.unit));
  }
  analysis::TextTable table;
  table.add_names("of messages", std::move(names));
  table.add_names("", std::move(values));
  return fmt::format("\n{}", table.text());
}

ShownRoute find_route(const Cluster& cluster, const std::vector<std::string>& ends) {
  if (ends.size() != 2) throw UsageError("--route takes two GPUs, as in node-0-gpu-0 node-1-gpu-0");
  const std::vector<cluster::Host*> hosts = cluster.place(ends, 2);
  return {ends[0], ends[1], cluster.route(hosts[0], hosts[1])};
}

std::string route_text(const Cluster& cluster, const ShownRoute& shown) {
  const cluster::Route& route = shown.route;
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
    names.emplace_back(route.links.empty() ? "(no link)" : "(beside links)");
    classes.emplace_back("");
    bandwidths.emplace_back("");
    latencies.push_back(microseconds(route.latency - links));
  }
  analysis::TextTable table;
  table.add_names("link", std::move(names));
  table.add_names("class", std::move(classes));
  table.add_numbers({"bandwidth", "GB/s"}, std::move(bandwidths));
  table.add_numbers({"latency", "us"}, std::move(latencies));
  return fmt::format(
      "\n{} to {}: {}, {} us\n\n{}", analysis::printable(shown.from), analysis::printable(shown.to),
      route.links.empty() ? "no bandwidth that limits it" : gigabytes(route.bandwidth) + " GB/s",
      microseconds(route.latency), table.text());
}

std::string bisection_text(const cluster::Bisection& found, std::size_t half) {
  if (half == 0) return "";
  if (found.missing > 0)
    return fmt::format("\nbisection none: no route leads from '{}' to '{}'{}\n",
                       analysis::printable(found.missing_from),
                       analysis::printable(found.missing_to),
                       found.missing > 1 ? fmt::format(" (and {} more)", found.missing - 1) : "");
  if (std::isinf(found.bandwidth)) return "\nbisection without limit: no link is shared\n";
  return fmt::format(
      "\nbisection {} GB/s, {} a GPU of its first half{}\n", gigabytes(found.bandwidth),
      gigabytes(found.bandwidth / static_cast<double>(half)),
      found.is_sampled()
          ? fmt::format(" (from {} of {} routes, drawn at random)", found.routes, found.all_routes)
          : "");
}

}  // namespace

int show_platform(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, show_options(), "file");
  if (given.count("help") != 0) return print_help();
  const Cluster cluster = Cluster::load(platform_file(given, "show"));
  std::optional<ShownRoute> route;
  if (given.count("route") != 0) route = find_route(cluster, values(given, "route"));
  const cluster::Description description = cluster::describe(cluster);
  const std::vector<ShownParameter> messages = messages_of(cluster);
  if (given.count("json") != 0) {
    fmt::print("{}", show_json(cluster, description, messages, route));
    return exit_ok;
  }
  fmt::print("{}: {} {}, {} GPUs\n", analysis::printable(cluster.name()), description.nodes,
             description.nodes == 1 ? "node" : "nodes", cluster.gpus().size());
  for (const cluster::GpuKind& kind : description.gpus) fmt::print("  {}\n", gpu_text(kind));
  fmt::print("\n{}{}{}{}", links_text(description.links), messages_text(messages),
             bisection_text(description.bisection, cluster.gpus().size() / 2),
             route ? route_text(cluster, *route) : "");
  return exit_ok;
}

}  // namespace pipewright::cli
