#include "sim/cluster/cluster.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <simgrid/Exception.hpp>
#include <strings.h>

#include "sim/cluster/engine.hpp"
#include "sim/cluster/platform_file.hpp"
#include "sim/cluster/probe.hpp"
#include "sim/config/units.hpp"

namespace pipewright::cluster {
namespace {

bool has_platform = false;  // SimGrid's engine takes one, and an ideal network takes any

// Natural order: runs of digits compare as numbers.
bool natural_less(std::string_view a, std::string_view b) {
  return strverscmp(std::string(a).c_str(), std::string(b).c_str()) < 0;
}

std::vector<Host*> hosts_in_natural_order() {
  std::vector<Host*> hosts = engine().get_all_hosts();
  std::sort(hosts.begin(), hosts.end(), [](const Host* a, const Host* b) {
    return natural_less(a->get_cname(), b->get_cname());
  });
  return hosts;
}

}  // namespace

Cluster Cluster::ideal(double latency) {
  if (!has_platform) create_single_host(engine(), "ideal");
  has_platform = true;
  Cluster cluster;
  cluster.ideal_latency_ = latency;
  cluster.name_ = fmt::format("ideal network, {:g} ms a hop", latency * 1e3);
  return cluster;
}

Cluster Cluster::load(const std::filesystem::path& file) {
  Cluster cluster;
  cluster.ideal_ = false;
  cluster.name_ = file.string();
  cluster.text_ = read_platform_file(file);
  if (has_platform) throw std::logic_error("a second platform in one process: " + cluster.name_);
  probe(file);
  has_platform = true;
  try {
    engine().load_platform(file.string());
    engine().get_netzone_root()->seal();
  } catch (const simgrid::ParseError& error) {
    // "Parse error at FILE:LINE: what"
    std::string_view what = error.what();
    constexpr std::string_view prefix = "Parse error at ";
    if (what.starts_with(prefix)) what.remove_prefix(prefix.size());
    throw Error(std::string(what));
  } catch (const std::exception& error) {
    throw Error(fmt::format("{}: {}", file.string(), error.what()));
  }
  if (engine().get_host_count() == 0)
    throw Error(fmt::format("{}: has no hosts; each GPU is a host", file.string()));
  for (sg4::Link* link : engine().get_all_links()) {
    cluster.latencies_.emplace(link, link->get_latency());
    link->set_latency(0);
  }
  return cluster;
}

std::vector<Host*> Cluster::place(const std::vector<std::string>& names,
                                  std::uint32_t devices) const {
  std::vector<Host*> hosts = hosts_in_natural_order();
  if (ideal_) return std::vector<Host*>(devices, hosts.front());
  if (names.empty()) {
    if (hosts.size() < devices)
      throw Error(fmt::format("{}: has {} hosts, but the pipeline has {} devices", name_,
                              hosts.size(), devices));
    hosts.resize(devices);
    return hosts;
  }
  if (names.size() != devices)
    throw Error(fmt::format("placement names {} hosts, but the pipeline has {} devices",
                            names.size(), devices));
  std::vector<Host*> placed;
  std::set<std::string> taken;
  for (const std::string& name : names) {
    Host* host = engine().host_by_name_or_null(name);
    if (host == nullptr)
      throw Error(fmt::format("placement: {} has no host '{}'; its first is '{}'", name_, name,
                              name_of(hosts.front())));
    if (!taken.insert(name).second)
      throw Error(
          fmt::format("placement: host '{}' is named twice; each device needs its own", name));
    placed.push_back(host);
  }
  return placed;
}

Route Cluster::route(const Host* source, const Host* destination) const {
  if (ideal_) return {.latency = ideal_latency_};
  std::vector<sg4::Link*> links;
  double ignored = 0;  // 0 by now, since the links' latencies are
  try {
    source->route_to(destination, links, &ignored);
  } catch (const std::exception&) {
    links.clear();  // some routings throw where others come back empty
  }
  if (links.empty())
    throw Error(fmt::format("{}: no route leads from '{}' to '{}'", name_, name_of(source),
                            name_of(destination)));
  Route route;
  for (const sg4::Link* link : links) {
    route.latency += latencies_.at(link);
    route.bandwidth = std::min(route.bandwidth, link->get_bandwidth());
  }
  return route;
}

std::string name_of(const Host* host) { return host->get_cname(); }

std::uint64_t memory_of(const Host* host) {
  const char* text = host->get_property("memory");
  if (text == nullptr) return 0;
  return config::parse_size(text, fmt::format("host '{}': property memory", name_of(host)),
                            "a GPU's memory");
}

}  // namespace pipewright::cluster
