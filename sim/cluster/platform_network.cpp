#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/cluster/network.hpp"
#include "sim/cluster/platform/flow_routes.hpp"
#include "sim/cluster/platform/links_at.hpp"
#include "sim/cluster/platform/roles.hpp"

namespace pipewright::cluster {
namespace {

const std::string* find_property(const Platform& platform, const Platform::Host& host,
                                 std::string_view name) {
  for (const auto& [key, value] : platform.properties[host.properties])
    if (key == name) return &value;
  return nullptr;
}

Roles roles_of(const PlatformFile& file, const Platform& platform) {
  std::vector<Member> members;
  for (const Platform::Host& host : platform.hosts)
    members.push_back({.name = &platform.vertices[host.vertex].name,
                       .zone = platform.vertices[host.vertex].zone,
                       .gpu = find_property(platform, host, "gpu"),
                       .node = find_property(platform, host, "node"),
                       .nics = find_property(platform, host, "nic"),
                       .latency = find_property(platform, host, "latency")});
  try {
    return assign_roles(members);
  } catch (const MemberError& error) {
    const std::string subject = fmt::format("host '{}'", *members[error.member].name);
    file.fail(platform.hosts[error.member].offset, error.fault.within({}, subject));
  }
}

class PlatformNetwork final : public Network {
 public:
  PlatformNetwork(const PlatformFile& file, Platform platform,
                  const config::Multipath& multipath_options)
      : platform_(std::move(platform)),
        flow_routes_(platform_, add_hosts(roles_of(file, platform_)), multipath_options) {
    multipath = multipath_options;
    for (const Platform::Zone& zone : platform_.zones) {
      if (zone.routing == Platform::Routing::torus)
        tori_.push_back(static_cast<Index>(lines_.size()));
      lines_.push_back(file.line_of(zone.offset));
    }
    is_gateway_.resize(platform_.vertices.size());
    for (const Platform::Zone& zone : platform_.zones)
      for (const auto& [key, route] : zone.routes)
        for (const Index gateway : {route.source_gateway, route.destination_gateway})
          if (gateway != nothing) is_gateway_[gateway] = true;
    links.reserve(platform_.links.size());
    for (const Platform::Link& link : platform_.links)
      links.push_back({.name = link.name,
                       .link_class = link.link_class,
                       .bandwidth = link.bandwidth,
                       .latency = link.latency,
                       .is_shared = !link.fatpipe,
                       .number = static_cast<Index>(links.size())});
    update_parts();
  }

  bool find(const Host* source, const Host* destination, Condition condition,
            Route& route) const override {
    route.source = const_cast<Host*>(source);
    route.destination = const_cast<Host*>(destination);
    if (source->node != destination->node)
      route.latency = nic_latency_[source->number] + nic_latency_[destination->number];
    const FlowRoutes& flow_routes =
        condition == Condition::as_built && as_built_ ? *as_built_ : flow_routes_;
    const FlowRoutes::Path* const path = flow_routes.find(source->number, destination->number);
    if (path == nullptr) return false;
    route.links.reserve(path->links.size());
    for (const Index link : path->links) route.links.push_back(&links[link]);
    for (const Index link : path->single_path) route.single_path.push_back(&links[link]);
    return true;
  }

  // Returns a group number that is equal for hosts with equal routes. The hosts of a <cluster>
  // around a switch differ only in their own link, unless routes of other hosts lead through them
  // or paths depend on the pair of GPUs.
  Equivalence equivalence(const Host* gpu, bool across) const override {
    const Endpoint& end = flow_routes_.end(gpu->number);
    const Index vertex = end.ports(across).front();
    const Index zone = platform_.vertices[vertex].zone;
    if (platform_.zones[zone].routing == Platform::Routing::star && !is_gateway_[vertex] &&
        (!across || !flow_routes_.has_relays()) && end.ports(across).size() == 1 &&
        !has_failed_links &&
        (!flow_routes_.has_divided_routes() || multipath.by != config::MultipathBy::hash))
      return {platform_.vertices.size() + zone, true};
    return {vertex, false};
  }

  std::optional<MissingRoute> explain_missing(const Host* source,
                                              const Host* destination) const override {
    const std::optional<MissingHop> missing =
        flow_routes_.missing_hop(source->number, destination->number);
    if (!missing) return std::nullopt;
    const Platform::Zone& zone = platform_.zones[missing->zone];
    const auto name = [&](Index vertex) { return platform_.vertices[vertex].name; };
    const bool joins_zones = platform_.vertices[missing->source].is_zone != nothing ||
                             platform_.vertices[missing->destination].is_zone != nothing;
    return MissingRoute{
        lines_[missing->zone],
        fmt::format("zone '{}'{} has no <{}> from '{}' to '{}'", zone.name,
                    zone.routing == Platform::Routing::none ? " (routing None)" : "",
                    joins_zones ? "zoneRoute" : "route", name(missing->source),
                    name(missing->destination))};
  }

  void faults_changed(const std::vector<Link*>& affected) override {
    Network::faults_changed(affected);
    // The rates of links matter only to adaptive routing.
    bool changes_routes = multipath.by == config::MultipathBy::adaptive;
    for (const Link* link : affected) {
      Platform::Link& of_file = platform_.links[link->number];
      changes_routes = changes_routes || of_file.failed != link->failed;
      of_file.failed = link->failed;
      of_file.rate_left = link->rate_left;
    }
    if (has_faults && !as_built_)
      as_built_.emplace(platform_, flow_routes_.ends(), multipath, Condition::as_built);
    if (!changes_routes) return;
    flow_routes_.invalidate();
    update_parts();
  }

  void set_multipath(const config::Multipath& options) override {
    multipath = options;
    flow_routes_.set_multipath(options);
    if (as_built_) as_built_->set_multipath(options);
    update_parts();
  }
  bool has_divided_routes() const override { return flow_routes_.has_divided_routes(); }

  std::optional<TorusPosition> torus_position(const Host* gpu) const override {
    const Endpoint& end = flow_routes_.end(gpu->number);
    if (const auto position = position_of(end.self.front())) return position;
    std::optional<TorusPosition> common;
    for (const Index nic : end.nics) {
      const std::optional<TorusPosition> position = position_of(nic);
      if (!position || (common && *common != *position)) return std::nullopt;
      common = position;
    }
    return common;
  }
  TorusGrid torus(std::uint32_t torus) const override { return torus_grid(platform_.zones[torus]); }

  // Returns the names of switches: vertices that have links and are neither hosts nor zones.
  std::vector<std::string> switches() const override {
    std::vector<std::string> names;
    for (Index i = 0; i < platform_.vertices.size(); ++i) {
      const Platform::Vertex& vertex = platform_.vertices[i];
      if (vertex.is_host == nothing && vertex.is_zone == nothing &&
          !cluster::links_at(platform_, i).empty())
        names.push_back(vertex.name);
    }
    return names;
  }

  std::vector<Link*> links_at(const std::string& name) override {
    std::vector<Link*> matches;
    const auto vertex = std::ranges::find(platform_.vertices, name, &Platform::Vertex::name);
    if (vertex == platform_.vertices.end()) return matches;
    for (const Index link :
         cluster::links_at(platform_, static_cast<Index>(vertex - platform_.vertices.begin())))
      matches.push_back(&links[link]);
    return matches;
  }

 private:
  // Adds a host for each host of the file except the ports of NICs, which are only points on the
  // routes between GPUs.
  std::vector<Endpoint> add_hosts(const Roles& roles) {
    std::vector<bool> is_nic(platform_.hosts.size());
    for (const Role& role : roles.by_member)
      for (const Index nic : role.nics) is_nic[nic] = true;
    std::vector<Index> number_of(platform_.hosts.size());
    std::vector<Endpoint> ends;
    for (std::size_t i = 0; i < platform_.hosts.size(); ++i) {
      const Platform::Host& host = platform_.hosts[i];
      const Role& role = roles.by_member[i];
      if (is_nic[i] && !role.is_gpu) continue;
      number_of[i] = static_cast<Index>(hosts.size());
      const std::string* const gpu = find_property(platform_, host, "gpu");
      const auto optional_property = [&](std::string_view name) {
        const std::string* const text = find_property(platform_, host, name);
        return text == nullptr ? std::nullopt : std::optional(*text);
      };
      hosts.push_back({.name = platform_.vertices[host.vertex].name,
                       .gpu = gpu == nullptr ? "" : *gpu,
                       .memory_text = optional_property("memory"),
                       .launch_factor_text = optional_property("launch_factor"),
                       .host_memory_text = optional_property("host_memory_bandwidth"),
                       .host_core_text = optional_property("host_core_bandwidth"),
                       .host_gpus_text = optional_property("host_gpus"),
                       .speed = host.speed,
                       .cores = host.cores,
                       .node = role.node,
                       .local_index = role.local_index,
                       .number = number_of[i]});
      nic_latency_.push_back(role.latency);
      ends.push_back(
          {.self = {host.vertex}, .node = role.node, .local_index = role.local_index, .nics = {}});
      for (const Index nic : role.nics) ends.back().nics.push_back(platform_.hosts[nic].vertex);
    }
    for (const Index gpu : roles.gpus) gpus.push_back(&hosts[number_of[gpu]]);
    return ends;
  }

  void append_platform_links(const Host* source, const Host* destination,
                             std::vector<const Link*>& between) const override {
    const FlowRoutes::Path* const path = flow_routes_.find(source->number, destination->number);
    if (path == nullptr) return;
    for (const Index link : path->links) between.push_back(&links[link]);
  }

  // Corner of a torus at a vertex: the vertex itself, or the corner to which a route connects one
  // of the zones that contain the vertex.
  std::optional<TorusPosition> position_of(Index vertex) const {
    const auto corner = [&](Index torus, Index gateway) {
      return TorusPosition{torus, gateway - platform_.zones[torus].first_vertex};
    };
    for (Index zone = platform_.vertices[vertex].zone; zone != nothing;
         vertex = platform_.zones[zone].vertex, zone = platform_.zones[zone].parent) {
      if (platform_.zones[zone].routing == Platform::Routing::torus) return corner(zone, vertex);
      for (const Index torus : tori_) {
        const auto& routes = platform_.zones[zone].routes;
        const auto route = routes.find(Platform::key(vertex, platform_.zones[torus].vertex));
        if (route != routes.end()) return corner(torus, route->second.destination_gateway);
      }
    }
    return std::nullopt;
  }

  void update_parts() {
    for (Link& link : links) {
      link.parts_as_built = (as_built_ ? *as_built_ : flow_routes_).parts()[link.number];
      const std::uint32_t parts = flow_routes_.parts()[link.number];
      if (parts == link.parts) continue;
      link.bandwidth = link.bandwidth * parts / link.parts;
      link.parts = parts;
    }
  }

  Platform platform_;
  std::vector<double> nic_latency_;  // by host: seconds in addition to the links
  FlowRoutes flow_routes_;
  // Routes without failed and slow links, once there have been any.
  std::optional<FlowRoutes> as_built_;
  std::vector<Index> tori_;       // zones
  std::vector<int> lines_;        // by zone
  std::vector<bool> is_gateway_;  // by vertex
};

}  // namespace

std::shared_ptr<Network> make_network(const PlatformFile& file, Platform platform,
                                      const config::Multipath& multipath) {
  return std::make_shared<PlatformNetwork>(file, std::move(platform), multipath);
}

}  // namespace pipewright::cluster
