#include "sim/cli/platform/platform_json.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace pipewright::cli {
namespace {

using cluster::Cluster;
using Json = nlohmann::ordered_json;

// A number that is not finite becomes null.
std::string line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
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

Json json_of(const Cluster& cluster, const ShownRoute& shown) {
  Json links = Json::array();
  for (const cluster::Link* link : shown.route.links)
    links.push_back({{"name", Cluster::link_name(link)},
                     {"class", cluster.link_class(link)},
                     {"bandwidth_bytes_per_s", Cluster::bandwidth_of(link)},
                     {"latency_s", cluster.latency_of(link)}});
  return {{"from", shown.from},
          {"to", shown.to},
          {"bandwidth_bytes_per_s", shown.route.bandwidth},
          {"latency_s", shown.route.latency},
          {"links", std::move(links)}};
}

}  // namespace

std::string show_json(const Cluster& cluster, const cluster::Description& description,
                      const std::vector<ShownParameter>& messages,
                      const std::optional<ShownRoute>& route) {
  Json gpus = Json::array();
  for (const cluster::GpuKind& kind : description.gpus)
    gpus.push_back({{"type", kind.gpu},
                    {"gpus", kind.count},
                    {"flops_per_s", kind.speed},
                    {"memory_bytes", kind.memory > 0 ? Json(kind.memory) : Json()}});
  Json links = Json::array();
  for (const cluster::LinkKind& kind : description.links)
    links.push_back({{"class", kind.link_class},
                     {"links", kind.count},
                     {"bandwidth_bytes_per_s", kind.bandwidth},
                     {"latency_s", kind.latency}});
  Json parameters = Json::object();
  for (const ShownParameter& one : messages) parameters[one.name] = one.value;
  return line({{"cluster", cluster.name()},
               {"nodes", description.nodes},
               {"gpus", cluster.gpus().size()},
               {"gpu_types", std::move(gpus)},
               {"links", std::move(links)},
               {"messages", std::move(parameters)},
               {"bisection", json_of(description.bisection, cluster.gpus().size() / 2)},
               {"route", route ? json_of(cluster, *route) : Json()}});
}

std::string check_json(const Cluster& cluster, const cluster::FaultReport& report) {
  Json faults = Json::array();
  for (const cluster::Fault& fault : report.faults)
    faults.push_back({{"line", fault.line > 0 ? Json(fault.line) : Json()}, {"what", fault.what}});
  return line({{"cluster", cluster.name()},
               {"faults", std::move(faults)},
               {"gpus", cluster.gpus().size()},
               {"links", cluster.links().size()},
               {"pairs_looked_at", report.looked_at},
               {"pairs", report.pairs},
               {"sampled", report.is_sampled}});
}

}  // namespace pipewright::cli
