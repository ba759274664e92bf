#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"
#include "sim/cli/options.hpp"
#include "sim/cluster/checks/describe.hpp"

namespace pipewright::cli {
namespace {

using analysis::Json;
using cluster::Cluster;

// A link on the way from one GPU to another, or what a message waits for beside links.
struct ShownLink {
  std::string name;
  std::string link_class;
  std::optional<double> part;       // of a flow, where several ways are equally short
  std::optional<double> bandwidth;  // bytes/s
  double latency = 0;               // seconds
};
// That way, if it was asked for.
struct ShownRoute {
  std::string from;
  std::string to;
  cluster::Route route;
  std::vector<ShownLink> links;
  double latency = 0;  // of the links of one way
};
// A number of the model of messages that the file says.
struct ShownParameter {
  std::string name;
  double value = 0;
  cluster::ParameterUnit unit{};
};

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

analysis::Quantity in_gigabytes() { return analysis::Quantity::each_as(gigabytes); }
analysis::Quantity in_microseconds() { return analysis::Quantity::each_as(microseconds); }

const analysis::ReportColumns<cluster::GpuKind>& gpu_columns() {
  static const analysis::ReportColumns<cluster::GpuKind> columns{
      {"type", &cluster::GpuKind::gpu},
      {"gpus", &cluster::GpuKind::count},
      {"flops_per_s", &cluster::GpuKind::speed},
      {"memory_bytes",
       [](const cluster::GpuKind& kind) { return kind.memory > 0 ? Json(kind.memory) : Json(); }}};
  return columns;
}

const analysis::ReportColumns<cluster::LinkKind>& link_columns() {
  using cluster::LinkKind;
  static const analysis::ReportColumns<LinkKind> columns{
      {"class", {"link class"}, analysis::Quantity::name(), &LinkKind::link_class},
      {"links", {"links"}, analysis::Quantity::count(), &LinkKind::count},
      {"bandwidth_bytes_per_s", {"bandwidth", "GB/s"}, in_gigabytes(), &LinkKind::bandwidth},
      {"latency_s", {"latency", "us"}, in_microseconds(), &LinkKind::latency}};
  return columns;
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

analysis::ReportColumns<ShownLink> route_columns(const cluster::Route& route) {
  const auto or_nothing = [](analysis::Quantity quantity) {
    quantity.unknown = "";
    return quantity;
  };
  analysis::ReportColumns<ShownLink> columns{
      {"name", {"link"}, analysis::Quantity::name(), &ShownLink::name},
      {"class", {"class"}, analysis::Quantity::name(), &ShownLink::link_class},
      {"bandwidth_bytes_per_s",
       {"bandwidth", "GB/s"},
       or_nothing(in_gigabytes()),
       &ShownLink::bandwidth},
      {"latency_s", {"latency", "us"}, in_microseconds(), &ShownLink::latency}};
  if (route.divides())
    columns.push_back({"part_of_flow",
                       {"part of", "a flow, %"},
                       or_nothing(analysis::Quantity::percent()),
                       &ShownLink::part});
  return columns;
}

ShownRoute find_route(const Cluster& cluster, const std::vector<std::string>& ends) {
  if (ends.size() != 2) throw UsageError("--route takes two GPUs, as in node-0-gpu-0 node-1-gpu-0");
  const std::vector<cluster::Host*> hosts = cluster.place(ends, 2);
  ShownRoute shown{ends[0], ends[1], cluster.route(hosts[0], hosts[1]), {}};
  const auto& links = shown.route.links;
  for (auto link = links.begin(); link != links.end(); ++link) {
    if (shown.route.divides() && link != links.begin() && *link == *(link - 1)) continue;
    const auto parts = shown.route.divides() ? std::count(link, links.end(), *link) : 1;
    shown.links.push_back({Cluster::link_name(*link), cluster.link_class(*link),
                           static_cast<double>(parts) / cluster.parts_of(*link),
                           cluster.bandwidth_of(*link), cluster.latency_of(*link)});
  }
  for (const cluster::Link* link : shown.route.way()) shown.latency += cluster.latency_of(link);
  return shown;
}

std::string route_text(const ShownRoute& shown) {
  const cluster::Route& route = shown.route;
  std::vector<ShownLink> rows = shown.links;
  if (route.latency > shown.latency * (1 + 1e-9))
    rows.push_back({.name = rows.empty() ? "(no link)" : "(beside links)",
                    .link_class = "",
                    .part = {},
                    .bandwidth = {},
                    .latency = route.latency - shown.latency});
  return fmt::format(
      "\n{} to {}: {}, {} us\n\n{}", analysis::printable(shown.from), analysis::printable(shown.to),
      route.links.empty() ? "no bandwidth that limits it" : gigabytes(route.bandwidth) + " GB/s",
      microseconds(route.latency), analysis::table_text(route_columns(route), rows));
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

Json json_of(const cluster::Bisection& bisection, std::size_t half) {
  if (half == 0) return nullptr;
  Json json;
  const bool is_whole = bisection.missing == 0;
  json["bytes_per_s"] = is_whole ? Json(bisection.bandwidth) : Json();
  json["gpus_of_a_half"] = half;
  json["routes_looked_at"] = bisection.routes;
  json["routes"] = bisection.all_routes;
  json["missing_pairs"] = bisection.missing;
  json["missing_from"] = is_whole ? Json() : Json(bisection.missing_from);
  json["missing_to"] = is_whole ? Json() : Json(bisection.missing_to);
  return json;
}

Json json_of(const ShownRoute& shown) {
  return {{"from", shown.from},
          {"to", shown.to},
          {"bandwidth_bytes_per_s", shown.route.bandwidth},
          {"latency_s", shown.route.latency},
          {"links", json_rows(route_columns(shown.route), shown.links)}};
}

// A number that is not finite becomes null.
std::string json_text(const Cluster& cluster, const cluster::Description& description,
                      const std::vector<ShownParameter>& messages,
                      const std::optional<ShownRoute>& route) {
  Json parameters = Json::object();
  for (const ShownParameter& one : messages) parameters[one.name] = one.value;
  const Json json{{"cluster", cluster.name()},
                  {"nodes", description.nodes},
                  {"gpus", cluster.gpus().size()},
                  {"gpu_types", json_rows(gpu_columns(), description.gpus)},
                  {"links", json_rows(link_columns(), description.links)},
                  {"messages", std::move(parameters)},
                  {"bisection", json_of(description.bisection, cluster.gpus().size() / 2)},
                  {"route", route ? json_of(*route) : Json()}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
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
    fmt::print("{}", json_text(cluster, description, messages, route));
    return exit_ok;
  }
  fmt::print("{}: {} {}, {} GPUs\n", analysis::printable(cluster.name()), description.nodes,
             description.nodes == 1 ? "node" : "nodes", cluster.gpus().size());
  for (const cluster::GpuKind& kind : description.gpus) fmt::print("  {}\n", gpu_text(kind));
  if (const auto nccl = cluster.nccl())
    fmt::print("  NCCL 2.{} chooses algorithms and protocols\n", *nccl);
  fmt::print("\n{}{}{}{}", analysis::table_text(link_columns(), description.links),
             messages_text(messages),
             bisection_text(description.bisection, cluster.gpus().size() / 2),
             route ? route_text(*route) : "");
  return exit_ok;
}

}  // namespace pipewright::cli
