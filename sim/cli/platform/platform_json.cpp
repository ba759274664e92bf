#include "sim/cli/platform/platform_json.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/export/chrome_events.hpp"

namespace pipewright::cli {
namespace {

using analysis::json_text;
using cluster::Cluster;

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

template <class Items, class Text>
std::string list(const Items& items, Text text) {
  std::vector<std::string> texts;
  for (const auto& item : items) texts.push_back(text(item));
  return fmt::format("[{}]", fmt::join(texts, ","));
}

std::string json_of(const cluster::Bisection& bisection, std::size_t half) {
  if (half == 0) return "null";
  const bool is_whole = bisection.missing == 0;
  return fmt::format(R"({{"bytes_per_s":{},"gpus_of_a_half":{},"routes_looked_at":{},"routes":{},)"
                     R"("missing_pairs":{},"missing_from":{},"missing_to":{}}})",
                     is_whole ? number(bisection.bandwidth) : "null", half, bisection.routes,
                     bisection.all_routes, bisection.missing,
                     is_whole ? "null" : json_text(bisection.missing_from),
                     is_whole ? "null" : json_text(bisection.missing_to));
}

std::string json_of(const Cluster& cluster, const ShownRoute& shown) {
  return fmt::format(
      R"({{"from":{},"to":{},"bandwidth_bytes_per_s":{},"latency_s":{},"links":{}}})",
      json_text(shown.from), json_text(shown.to), number(shown.route.bandwidth),
      number(shown.route.latency), list(shown.route.links, [&](const cluster::Link* link) {
        return fmt::format(R"({{"name":{},"class":{},"bandwidth_bytes_per_s":{},"latency_s":{}}})",
                           json_text(Cluster::link_name(link)), json_text(cluster.link_class(link)),
                           number(Cluster::bandwidth_of(link)), number(cluster.latency_of(link)));
      }));
}

}  // namespace

std::string show_json(const Cluster& cluster, const cluster::Description& description,
                      const std::vector<ShownParameter>& messages,
                      const std::optional<ShownRoute>& route) {
  const std::string gpus = list(description.gpus, [](const cluster::GpuKind& kind) {
    return fmt::format(R"({{"type":{},"gpus":{},"flops_per_s":{},"memory_bytes":{}}})",
                       json_text(kind.gpu), kind.count, number(kind.speed),
                       kind.memory > 0 ? fmt::format("{}", kind.memory) : "null");
  });
  const std::string links = list(description.links, [](const cluster::LinkKind& kind) {
    return fmt::format(R"({{"class":{},"links":{},"bandwidth_bytes_per_s":{},"latency_s":{}}})",
                       json_text(kind.link_class), kind.count, number(kind.bandwidth),
                       number(kind.latency));
  });
  std::vector<std::string> parameters;
  for (const ShownParameter& one : messages)
    parameters.push_back(fmt::format("{}:{}", json_text(one.name), number(one.value)));
  return fmt::format(
      R"({{"cluster":{},"nodes":{},"gpus":{},"gpu_types":{},"links":{},"messages":{{{}}},)"
      R"("bisection":{},"route":{}}})"
      "\n",
      json_text(cluster.name()), description.nodes, cluster.gpus().size(), gpus, links,
      fmt::join(parameters, ","), json_of(description.bisection, cluster.gpus().size() / 2),
      route ? json_of(cluster, *route) : "null");
}

std::string check_json(const Cluster& cluster, const cluster::FaultReport& report) {
  const std::string faults = list(report.faults, [](const cluster::Fault& fault) {
    return fmt::format(R"({{"line":{},"what":{}}})",
                       fault.line > 0 ? fmt::format("{}", fault.line) : "null",
                       json_text(fault.what));
  });
  return fmt::format(
      R"({{"cluster":{},"faults":{},"gpus":{},"links":{},"pairs_looked_at":{},"pairs":{},)"
      R"("sampled":{}}})"
      "\n",
      json_text(cluster.name()), faults, cluster.gpus().size(), cluster.links().size(),
      report.looked_at, report.pairs, report.is_sampled);
}

}  // namespace pipewright::cli
