#include <utility>

#include <fmt/format.h>

#include "sim/cluster/engine.hpp"
#include "sim/cluster/flow_zone.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/roles.hpp"

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
                                append(ends_[source], ends_[destination], found);
                              });
    make_top(engine(), *zone);
    add_links(*zone);
    add_hosts(*zone, roles_of(file, platform_));
    zone->seal();
  }

  void find(const Host* source, const Host* destination, Route& route) const override {
    route.source = const_cast<Host*>(source);
    route.destination = const_cast<Host*>(destination);
    const End& from = end_of(source);
    const End& to = end_of(destination);
    if (from.node != to.node) route.latency = from.nic_latency + to.nic_latency;
    append(from, to, route.links);
  }

 private:
  // Where a host's flows begin and end.
  struct End {
    Index vertex = nothing;
    Index node = nothing;
    Index nic = nothing;  // the vertex of the port to other nodes
    double nic_latency = 0;
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
  void append(const End& source, const End& destination, Links& found) const {
    std::vector<Index> route;
    const bool across = source.node != destination.node;
    const auto vertex = [&](const End& end) {
      return across && end.nic != nothing ? end.nic : end.vertex;
    };
    if (!append_route(platform_, vertex(source), vertex(destination), route)) return;
    for (const Index link : route) found.push_back(links_[link]);
  }

  Platform platform_;
  std::vector<sg4::Link*> links_;  // as the platform's
  std::vector<End> ends_;          // in the order of SimGrid's hosts
};

}  // namespace

std::shared_ptr<Network> make_network(const PlatformFile& file, Platform platform) {
  return std::make_shared<PlatformNetwork>(file, std::move(platform));
}

}  // namespace pipewright::cluster
