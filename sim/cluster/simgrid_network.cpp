#include <map>
#include <string_view>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "sim/cluster/network.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/cluster/platform/names.hpp"
#include "sim/cluster/platform/roles.hpp"
#include "sim/cluster/probe.hpp"

namespace pipewright::cluster {
namespace {

void load(const std::filesystem::path& path) {
  try {
    engine().load_platform(path.string());
    engine().get_netzone_root()->seal();
  } catch (const std::exception& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
}

// The classes that the file gives, by the link's name or what a <cluster>'s links begin with.
class Classes {
 public:
  explicit Classes(const PlatformFile& file) {
    file.for_each_element([&](const pugi::xml_node& node, int /*depth*/) {
      const std::string_view tag = node.name();
      if (tag != "link" && tag != "cluster") return;
      for (const pugi::xml_node& child : node.children("prop"))
        if (std::string_view(child.attribute("id").value()) == "class")
          classes_[node.attribute("id").value() + std::string(tag == "cluster" ? "_link_" : "")] =
              child.attribute("value").value();
    });
  }
  std::string of(const std::string& link) const {
    const std::string cable = without_direction(link);
    const std::string_view name = cable;
    const std::size_t made = name.find("_link_");
    for (const std::string_view key : {name, name.substr(0, made + 6)})
      if (const auto found = classes_.find(std::string(key)); found != classes_.end())
        return found->second;
    return without_numbers(made == std::string_view::npos ? name : name.substr(0, made + 5));
  }

 private:
  std::map<std::string, std::string> classes_;
};

// Whether zones have latencies of their own, beside those of links: those between coordinates.
bool has_own_latencies(const PlatformFile& file) {
  bool found = false;
  file.for_each_element([&](const pugi::xml_node& node, int /*depth*/) {
    found = found || std::string_view(node.attribute("routing").value()) == "Vivaldi";
  });
  return found;
}

class SimgridNetwork final : public Network {
 public:
  explicit SimgridNetwork(const PlatformFile& file) : empty_zones_(file) {
    probe(file);
    load(file.path());
    const Classes classes(file);
    for (sg4::Link* link : engine().get_all_links()) {
      if (link->get_name() == "__loopback__") continue;  // SimGrid's own
      links.emplace(link, LinkInfo{.latency = link->get_latency(),
                                   .link_class = classes.of(link->get_name())});
      link->set_latency(0);
    }
    const std::vector<Host*> hosts = engine().get_all_hosts();
    const Roles roles = roles_of(file, hosts);
    for (const Index gpu : roles.gpus) gpus.push_back(hosts[gpu]);
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      number_of_.emplace(hosts[i], i);
      if (roles.of[i].node != nothing) node_of.emplace(hosts[i], roles.of[i].node);
      if (!roles.of[i].nics.empty())
        nic_of_.emplace(hosts[i], Nic{hosts[roles.of[i].nics.front()], roles.of[i].latency});
    }
    if (has_own_latencies(file)) add_flow_ends(hosts);
  }

  Alike alike(const Host* gpu, bool across) const override {
    return {number_of_.at(across ? nic(gpu).port : gpu), false};
  }

  bool find(const Host* source, const Host* destination, Route& route) const override {
    const bool across = node(source) != node(destination);
    const Nic from = across ? nic(source) : Nic{const_cast<Host*>(source)};
    const Nic to = across ? nic(destination) : Nic{const_cast<Host*>(destination)};
    if (empty_zones_.are_between(from.port, to.port)) return false;
    route.source = flow_end(from.port);
    route.destination = flow_end(to.port);
    std::vector<sg4::Link*> found;
    double of_zones = 0;  // the links' are 0 by now
    try {
      from.port->route_to(to.port, found, &of_zones);
    } catch (const std::exception&) {
      return false;  // some routings throw where others come back empty
    }
    route.latency = from.latency + to.latency + of_zones;
    route.links.assign(found.begin(), found.end());
    return !found.empty() || of_zones > 0;
  }

 private:
  // SimGrid would have a flow wait for the zones' latency once more, and share links by it. So
  // flows lead over the same links between hosts of a zone that has none.
  void add_flow_ends(const std::vector<Host*>& hosts) {
    auto* zone = new FlowZone("flow-ends", *engine().get_netzone_root()->get_impl(),
                              [hosts](auto source, auto destination, auto& links_between) {
                                std::vector<sg4::Link*> found;
                                double ignored = 0;
                                hosts.at(source)->route_to(hosts.at(destination), found, &ignored);
                                links_between.assign(found.begin(), found.end());
                              });
    for (Host* host : hosts)
      flow_ends_.emplace(host, zone->add_host("flow-end-" + name_of(host), 1, 1, {}));
  }
  Host* flow_end(Host* host) const {
    const auto found = flow_ends_.find(host);
    return found == flow_ends_.end() ? host : found->second;
  }

  static Roles roles_of(const PlatformFile& file, const std::vector<Host*>& hosts) {
    std::vector<std::string> names;
    std::map<const void*, Index> zones;
    std::vector<Member> members;
    std::vector<std::unordered_map<std::string, std::string>> properties;
    for (const Host* host : hosts) {
      names.emplace_back(host->get_cname());
      properties.push_back(*host->get_properties());
    }
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const auto value = [&](const char* key) {
        const auto found = properties[i].find(key);
        return found == properties[i].end() ? nullptr : &found->second;
      };
      const void* zone = hosts[i]->get_englobing_zone();
      members.push_back(
          {.name = &names[i],
           .zone = zones.try_emplace(zone, static_cast<Index>(zones.size())).first->second,
           .gpu = value("gpu"),
           .node = value("node"),
           .nics = value("nic"),
           .latency = value("latency")});
    }
    try {
      return assign_roles(members);
    } catch (const MemberFault& fault) {
      throw Error(fmt::format("{}:{}: host '{}': {}", file.path().string(),
                              SourceLines(file).line_of_host(names[fault.member]),
                              names[fault.member], fault.what));
    }
  }

  Index node(const Host* host) const {
    const auto found = node_of.find(host);
    return found == node_of.end() ? nothing : found->second;
  }
  struct Nic {
    Host* port = nullptr;
    double latency = 0;  // beside that of links
  };
  Nic nic(const Host* host) const {
    const auto found = nic_of_.find(host);
    return found == nic_of_.end() ? Nic{const_cast<Host*>(host)} : found->second;
  }

  EmptyZones empty_zones_;
  std::unordered_map<const Host*, std::uint64_t> number_of_;
  std::unordered_map<const Host*, Nic> nic_of_;
  std::unordered_map<const Host*, Host*> flow_ends_;  // if not the hosts themselves
};

}  // namespace

std::shared_ptr<Network> load_with_simgrid(const PlatformFile& file) {
  return std::make_shared<SimgridNetwork>(file);
}

}  // namespace pipewright::cluster
