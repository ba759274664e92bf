#include <utility>

#include <fmt/format.h>

#include "sim/cluster/network.hpp"
#include "sim/cluster/platform/links_at.hpp"
#include "sim/cluster/platform/roles.hpp"
#include "sim/cluster/platform/ways.hpp"

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
  PlatformNetwork(const PlatformFile& file, Platform platform, const config::Multipath& now)
      : platform_(std::move(platform)),
        ways_(platform_, add_hosts(roles_of(file, platform_)), now) {
    multipath = now;
    for (const Platform::Zone& one : platform_.zones) lines_.push_back(file.line_of(one.offset));
    is_gateway_.resize(platform_.vertices.size());
    for (const Platform::Zone& one : platform_.zones)
      for (const auto& [key, route] : one.routes)
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
    take_parts();
  }

  bool find(const Host* source, const Host* destination, Route& route) const override {
    route.source = const_cast<Host*>(source);
    route.destination = const_cast<Host*>(destination);
    if (source->node != destination->node)
      route.latency = nic_latency_[source->number] + nic_latency_[destination->number];
    const Ways::Way* const way = ways_.find(source->number, destination->number);
    if (way == nullptr) return false;
    for (const Index link : way->links) route.links.push_back(&links[link]);
    for (const Index link : way->one) route.one_way.push_back(&links[link]);
    return true;
  }

  // The hosts of a <cluster> around a switch differ in their own link alone, unless routes of other
  // hosts lead through them, or ways depend on who goes them.
  Alike alike(const Host* gpu, bool across) const override {
    const End& end = ways_.end(gpu->number);
    const Index vertex = end.ports(across).front();
    const Index zone = platform_.vertices[vertex].zone;
    if (platform_.zones[zone].routing == Platform::Routing::star && !is_gateway_[vertex] &&
        (!across || !ways_.have_relays()) && end.ports(across).size() == 1 && !has_failed_links &&
        (!ways_.divide() || multipath.by != config::MultipathBy::hash))
      return {platform_.vertices.size() + zone, true};
    return {vertex, false};
  }

  std::optional<Gap> gap(const Host* source, const Host* destination) const override {
    const std::optional<Hole> hole = ways_.hole(source->number, destination->number);
    if (!hole) return std::nullopt;
    const Platform::Zone& zone = platform_.zones[hole->zone];
    const auto name = [&](Index vertex) { return platform_.vertices[vertex].name; };
    const bool of_zones = platform_.vertices[hole->source].is_zone != nothing ||
                          platform_.vertices[hole->destination].is_zone != nothing;
    return Gap{
        lines_[hole->zone],
        fmt::format("zone '{}'{} has no <{}> from '{}' to '{}'", zone.name,
                    zone.routing == Platform::Routing::none ? ", of routing None," : "",
                    of_zones ? "zoneRoute" : "route", name(hole->source), name(hole->destination))};
  }

  void fail(const std::vector<Link*>& which, bool failed) override {
    Network::fail(which, failed);
    for (const Link* link : which) platform_.links[link->number].failed = failed;
    ways_.forget();
    take_parts();
  }

  void set_multipath(const config::Multipath& now) override {
    multipath = now;
    ways_.set_multipath(now);
    take_parts();
  }
  bool has_divided_ways() const override { return ways_.divide(); }

  // The vertices that are no hosts, and have links.
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
    std::vector<Link*> found;
    const auto vertex = std::ranges::find(platform_.vertices, name, &Platform::Vertex::name);
    if (vertex == platform_.vertices.end()) return found;
    for (const Index link :
         cluster::links_at(platform_, static_cast<Index>(vertex - platform_.vertices.begin())))
      found.push_back(&links[link]);
    return found;
  }

 private:
  // The ports of NICs need no hosts, since routes from GPU to GPU lead over them.
  std::vector<End> add_hosts(const Roles& roles) {
    std::vector<bool> is_nic(platform_.hosts.size());
    for (const Role& role : roles.of)
      for (const Index nic : role.nics) is_nic[nic] = true;
    std::vector<Index> number_of(platform_.hosts.size());
    std::vector<End> ends;
    for (std::size_t i = 0; i < platform_.hosts.size(); ++i) {
      const Platform::Host& host = platform_.hosts[i];
      const Role& role = roles.of[i];
      if (is_nic[i] && !role.is_gpu) continue;
      number_of[i] = static_cast<Index>(hosts.size());
      const std::string* const gpu = find_property(platform_, host, "gpu");
      const std::string* const memory = find_property(platform_, host, "memory");
      hosts.push_back({.name = platform_.vertices[host.vertex].name,
                       .gpu = gpu == nullptr ? "" : *gpu,
                       .memory_text = memory == nullptr ? std::nullopt : std::optional(*memory),
                       .speed = host.speed,
                       .cores = host.cores,
                       .node = role.node,
                       .place = role.place,
                       .number = number_of[i]});
      nic_latency_.push_back(role.latency);
      ends.push_back({.self = {host.vertex}, .node = role.node, .place = role.place, .nics = {}});
      for (const Index nic : role.nics) ends.back().nics.push_back(platform_.hosts[nic].vertex);
    }
    for (const Index gpu : roles.gpus) gpus.push_back(&hosts[number_of[gpu]]);
    return ends;
  }

  void append_own_links(const Host* source, const Host* destination,
                        std::vector<const Link*>& between) const override {
    const Ways::Way* const way = ways_.find(source->number, destination->number);
    if (way == nullptr) return;
    for (const Index link : way->links) between.push_back(&links[link]);
  }

  void take_parts() {
    for (Link& link : links) {
      const std::uint32_t parts = ways_.parts()[link.number];
      if (parts == link.parts) continue;
      link.bandwidth = link.bandwidth * parts / link.parts;
      link.parts = parts;
    }
  }

  Platform platform_;
  std::vector<double> nic_latency_;  // of hosts: seconds beside that of links
  Ways ways_;
  std::vector<int> lines_;        // of the zones
  std::vector<bool> is_gateway_;  // of the vertices
};

}  // namespace

std::shared_ptr<Network> make_network(const PlatformFile& file, Platform platform,
                                      const config::Multipath& multipath) {
  return std::make_shared<PlatformNetwork>(file, std::move(platform), multipath);
}

}  // namespace pipewright::cluster
