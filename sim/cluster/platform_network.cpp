#include <utility>

#include <fmt/format.h>

#include "sim/cluster/network.hpp"
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
  } catch (const MemberFault& fault) {
    file.fail(platform.hosts[fault.member].offset,
              fmt::format("host '{}': {}", *members[fault.member].name, fault.what));
  }
}

class PlatformNetwork final : public Network {
 public:
  PlatformNetwork(const PlatformFile& file, Platform platform) : platform_(std::move(platform)) {
    auto* zone = new FlowZone(platform_.zones.front().name,
                              [this](auto source, auto destination, auto& found) {
                                Hole ignored;
                                append(ends_[source], ends_[destination], found, ignored);
                              });
    for (const Platform::Zone& one : platform_.zones) lines_.push_back(file.line_of(one.offset));
    is_gateway_.resize(platform_.vertices.size());
    for (const Platform::Zone& one : platform_.zones)
      for (const auto& [key, route] : one.routes)
        for (const Index gateway : {route.source_gateway, route.destination_gateway})
          if (gateway != nothing) is_gateway_[gateway] = true;
    make_top(engine(), *zone);
    add_links(*zone);
    add_hosts(*zone, roles_of(file, platform_));
    zone->seal();
  }

  bool find(const Host* source, const Host* destination, Route& route) const override {
    route.source = const_cast<Host*>(source);
    route.destination = const_cast<Host*>(destination);
    const End& from = end_of(source);
    const End& to = end_of(destination);
    if (from.node != to.node) route.latency = from.nic_latency + to.nic_latency;
    Hole ignored;
    return append(from, to, route.links, ignored);
  }

  // The hosts of a <cluster> around a switch differ in their own link alone, unless routes of other
  // hosts lead through them.
  Alike alike(const Host* gpu, bool across) const override {
    const Index vertex = end_of(gpu).port(across);
    const Index zone = platform_.vertices[vertex].zone;
    if (platform_.zones[zone].routing == Platform::Routing::star && !is_gateway_[vertex])
      return {platform_.vertices.size() + zone, true};
    return {vertex, false};
  }

  std::optional<Gap> gap(const Host* source, const Host* destination) const override {
    std::vector<const Link*> ignored;
    Hole hole;
    if (append(end_of(source), end_of(destination), ignored, hole)) return std::nullopt;
    const Platform::Zone& zone = platform_.zones[hole.zone];
    const auto name = [&](Index vertex) { return platform_.vertices[vertex].name; };
    const bool of_zones = platform_.vertices[hole.source].is_zone != nothing ||
                          platform_.vertices[hole.destination].is_zone != nothing;
    return Gap{
        lines_[hole.zone],
        fmt::format("zone '{}'{} has no <{}> from '{}' to '{}'", zone.name,
                    zone.routing == Platform::Routing::none ? ", of routing None," : "",
                    of_zones ? "zoneRoute" : "route", name(hole.source), name(hole.destination))};
  }

 private:
  // Where a host's flows begin and end.
  struct End {
    Index vertex = nothing;
    Index node = nothing;
    Index nic = nothing;  // the vertex of the port to other nodes
    double nic_latency = 0;

    Index port(bool across) const { return across && nic != nothing ? nic : vertex; }
  };

  const End& end_of(const Host* host) const { return ends_.at(host->get_netpoint()->id()); }

  void add_links(FlowZone& zone) {
    links.reserve(platform_.links.size());
    for (const Platform::Link& link : platform_.links) {
      sg4::Link* made = add_link(zone, link.name, link.bandwidth);
      if (link.fatpipe) made->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
      made->seal();
      links_.push_back(made);
      links.emplace(made, LinkInfo{.latency = link.latency, .link_class = link.link_class});
    }
  }
  // The ports of NICs need no hosts, since routes from GPU to GPU lead over them.
  void add_hosts(FlowZone& zone, const Roles& roles) {
    std::vector<bool> is_nic(platform_.hosts.size());
    for (const Role& role : roles.of)
      if (role.nic != nothing) is_nic[role.nic] = true;
    std::vector<Host*> made(platform_.hosts.size());
    for (std::size_t i = 0; i < platform_.hosts.size(); ++i) {
      const Platform::Host& host = platform_.hosts[i];
      const Role& role = roles.of[i];
      if (is_nic[i] && !role.is_gpu) continue;
      const auto& properties = platform_.properties[host.properties];
      made[i] = zone.add_host(platform_.vertices[host.vertex].name, host.speed, host.cores,
                              {properties.begin(), properties.end()});
      ends_.push_back({.vertex = host.vertex,
                       .node = role.node,
                       .nic = role.nic == nothing ? nothing : platform_.hosts[role.nic].vertex,
                       .nic_latency = role.latency});
      node_of.emplace(made[i], role.node);
    }
    for (const Index gpu : roles.gpus) gpus.push_back(made[gpu]);
  }

  template <class Links>
  bool append(const End& source, const End& destination, Links& found, Hole& hole) const {
    std::vector<Index> route;
    const bool across = source.node != destination.node;
    if (!append_route(platform_, source.port(across), destination.port(across), route, hole))
      return false;
    for (const Index link : route) found.push_back(links_[link]);
    return true;
  }

  Platform platform_;
  std::vector<sg4::Link*> links_;  // as the platform's
  std::vector<End> ends_;          // in the order of SimGrid's hosts
  std::vector<int> lines_;         // of the zones
  std::vector<bool> is_gateway_;   // of the vertices
};

}  // namespace

std::shared_ptr<Network> make_network(const PlatformFile& file, Platform platform) {
  return std::make_shared<PlatformNetwork>(file, std::move(platform));
}

}  // namespace pipewright::cluster
