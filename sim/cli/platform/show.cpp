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

// Row of a printed route between GPUs: a link, or latency in addition to that of the links.
struct ShownLink {
  std::string name;
  std::string link_class;
  std::optional<double> part;       // fraction of a flow on the link, if paths are divided
  std::optional<double> bandwidth;  // bytes/s
  double latency = 0;               // seconds
};
// Route between the two GPUs of --route, as it is printed.
struct ShownRoute {
  std::string from;
  std::string to;
  cluster::Route route;
  std::vector<ShownLink> links;
  double latency = 0;  // latency of the links of one path
};
// A parameter of the message model that the platform file sets, such as nvlink.latency.
struct ShownParameter {
  std::string name;
  double value = 0;
  cluster::ParameterUnit unit{};
};

po::options_description platform_show_options() {
  po::options_description options("options of 'show'", 100);
  auto add = options.add_options();
  add("route", several_words("A B"), "show the route from one GPU to another");
  add("json", "print the result as JSON and nothing else");
  add("help,h", "print this help");
  return options;
}

int print_platform_show_help() {
  fmt::print(
      "usage: pipewright platform show FILE.xml|NAME [--route A B] [--json]\n"
      "\n"
      "Describes a platform file: nodes, GPUs, links by class (a link's property 'class', or\n"
      "its name without numbers), message costs (the properties that platforms/README.md\n"
      "explains), and the bisection: the bandwidth at which the first half of the GPUs can send\n"
      "to the second half, in one direction, with each GPU sending to the GPUs with the same\n"
      "index in their nodes.\n"
      "\n"
      "  pipewright platform show dgx-a100\n"
      "  pipewright platform show mine.xml --route node-0-gpu-0 node-1-gpu-3\n"
      "\n"
      "{}",
      describe(platform_show_options()));
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

std::string gpu_kind_text(const cluster::GpuKind& kind) {
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

// Parameters of the message model that the platform file sets.
std::vector<ShownParameter> message_costs(const Cluster& cluster) {
  std::vector<std::string> owners = cluster.link_classes();
  owners.insert(owners.begin(), "collective");
  std::vector<ShownParameter> messages;
  for (const std::string& owner : owners)
    for (const cluster::ParameterInfo& info : cluster::parameter_list()) {
      if (info.is_per_class == (owner == "collective")) continue;
      const std::string name = fmt::format("{}.{}", owner, info.suffix);
      const auto value = cluster::parameter(cluster.model(), name);
      // Skips parameters that have no effect: an efficiency of 1, and any other value of 0.
      if (!value ||
          *value == (info.suffix == "efficiency" || info.suffix == "direct-efficiency" ? 1 : 0))
        continue;
      messages.push_back({name, *value, info.unit});
    }
  return messages;
}

std::string messages_text(const std::vector<ShownParameter>& messages) {
  if (messages.empty()) return "";
  std::vector<std::string> names, values;
  for (const ShownParameter& message : messages) {
    names.push_back(analysis::printable(message.name));
    values.push_back(value_text(message.value, message.unit));
  }
  analysis::TextTable table;
  table.add_names("message costs", std::move(names));
  table.add_names("", std::move(values));
  return fmt::format("\n{}", table.text());
}

analysis::ReportColumns<ShownLink> route_columns(const cluster::Route& route) {
  const auto or_blank = [](analysis::Quantity quantity) {
    quantity.unknown = "";
    return quantity;
  };
  analysis::ReportColumns<ShownLink> columns{
      {"name", {"link"}, analysis::Quantity::name(), &ShownLink::name},
      {"class", {"class"}, analysis::Quantity::name(), &ShownLink::link_class},
      {"bandwidth_bytes_per_s",
       {"bandwidth", "GB/s"},
       or_blank(in_gigabytes()),
       &ShownLink::bandwidth},
      {"latency_s", {"latency", "us"}, in_microseconds(), &ShownLink::latency}};
  if (route.divides())
    columns.push_back({"part_of_flow",
                       {"share of", "flow, %"},
                       or_blank(analysis::Quantity::percent()),
                       &ShownLink::part});
  return columns;
}

ShownRoute find_route(const Cluster& cluster, const std::vector<std::string>& ends) {
  if (ends.size() != 2)
    throw UsageError("--route takes two GPUs, such as node-0-gpu-0 node-1-gpu-0");
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
  for (const cluster::Link* link : shown.route.path()) shown.latency += cluster.latency_of(link);
  return shown;
}

std::string route_text(const ShownRoute& shown) {
  const cluster::Route& route = shown.route;
  std::vector<ShownLink> rows = shown.links;
  if (route.latency > shown.latency * (1 + 1e-9))
    rows.push_back({.name = rows.empty() ? "(no link)" : "(other latency)",
                    .link_class = "",
                    .part = {},
                    .bandwidth = {},
                    .latency = route.latency - shown.latency});
  return fmt::format(
      "\n{} to {}: {}, {} us\n\n{}", analysis::printable(shown.from), analysis::printable(shown.to),
      route.links.empty() ? "unlimited bandwidth" : gigabytes(route.bandwidth) + " GB/s",
      microseconds(route.latency), analysis::table_text(route_columns(route), rows));
}

std::string bisection_text(const cluster::Bisection& bisection, std::size_t half) {
  if (half == 0) return "";
  if (bisection.missing > 0)
    return fmt::format(
        "\nbisection none: no route leads from '{}' to '{}'{}\n",
        analysis::printable(bisection.missing_from), analysis::printable(bisection.missing_to),
        bisection.missing > 1 ? fmt::format(" (and {} more)", bisection.missing - 1) : "");
  if (std::isinf(bisection.bandwidth)) return "\nbisection unlimited: no link is shared\n";
  return fmt::format(
      "\nbisection {} GB/s, {} per GPU of the first half{}\n", gigabytes(bisection.bandwidth),
      gigabytes(bisection.bandwidth / static_cast<double>(half)),
      bisection.is_sampled() ? fmt::format(" (from {} of {} routes, drawn at random)",
                                           bisection.routes, bisection.total_routes)
                             : "");
}

std::string routing_text(std::string_view routing) {
  if (routing == "torus")
    return "one dimension of the torus after the other, the shorter way round";
  if (routing == "single") return "one route for each pair of GPUs";
  if (routing == "adaptive") return "adaptive, over all equally short routes by their rates";
  return std::string(routing);
}

Json shown_json(const cluster::Bisection& bisection, std::size_t half) {
  if (half == 0) return nullptr;
  Json json;
  const bool is_whole = bisection.missing == 0;
  json["bytes_per_s"] = is_whole ? Json(bisection.bandwidth) : Json();
  json["gpus_of_a_half"] = half;
  json["routes_looked_at"] = bisection.routes;
  json["routes"] = bisection.total_routes;
  json["missing_pairs"] = bisection.missing;
  json["missing_from"] = is_whole ? Json() : Json(bisection.missing_from);
  json["missing_to"] = is_whole ? Json() : Json(bisection.missing_to);
  return json;
}

Json shown_json(const ShownRoute& shown) {
  return {{"from", shown.from},
          {"to", shown.to},
          {"bandwidth_bytes_per_s", shown.route.bandwidth},
          {"latency_s", shown.route.latency},
          {"links", json_rows(route_columns(shown.route), shown.links)}};
}

// Numbers that are not finite become null in JSON.
std::string platform_json_text(const Cluster& cluster, const cluster::Description& description,
                               const std::vector<ShownParameter>& messages,
                               const std::optional<ShownRoute>& route) {
  Json parameters = Json::object();
  for (const ShownParameter& message : messages) parameters[message.name] = message.value;
  const Json json{{"cluster", cluster.name()},
                  {"nodes", description.nodes},
                  {"gpus", cluster.gpus().size()},
                  {"routing", description.routing},
                  {"gpu_types", json_rows(gpu_columns(), description.gpus)},
                  {"links", json_rows(link_columns(), description.links)},
                  {"messages", std::move(parameters)},
                  {"bisection", shown_json(description.bisection, cluster.gpus().size() / 2)},
                  {"route", route ? shown_json(*route) : Json()}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

int show_platform(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, platform_show_options(), "file");
  if (options.count("help") != 0) return print_platform_show_help();
  const Cluster cluster = Cluster::load(platform_file(options, "show"));
  std::optional<ShownRoute> route;
  if (options.count("route") != 0) route = find_route(cluster, values(options, "route"));
  const cluster::Description description = cluster::describe(cluster);
  const std::vector<ShownParameter> messages = message_costs(cluster);
  if (options.count("json") != 0) {
    fmt::print("{}", platform_json_text(cluster, description, messages, route));
    return exit_ok;
  }
  fmt::print("{}: {} {}, {} GPUs\n", analysis::printable(cluster.name()), description.nodes,
             description.nodes == 1 ? "node" : "nodes", cluster.gpus().size());
  for (const cluster::GpuKind& kind : description.gpus) fmt::print("  {}\n", gpu_kind_text(kind));
  if (const auto nccl = cluster.nccl())
    fmt::print("  NCCL 2.{} chooses algorithms and protocols\n", *nccl);
  fmt::print("  routing: {}\n", routing_text(description.routing));
  fmt::print("\n{}{}{}{}", analysis::table_text(link_columns(), description.links),
             messages_text(messages),
             bisection_text(description.bisection, cluster.gpus().size() / 2),
             route ? route_text(*route) : "");
  return exit_ok;
}

}  // namespace pipewright::cli
