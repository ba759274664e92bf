#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "sim/cluster/network.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/cluster/platform/names.hpp"
#include "sim/cluster/platform/roles.hpp"
#include "sim/cluster/simgrid/flow_zone.hpp"
#include "sim/cluster/simgrid/probe.hpp"

namespace pipewright::cluster {
namespace {

void load_into_simgrid(const std::filesystem::path& path) {
  try {
    begin_platform();
    engine().load_platform(path.string());
    engine().get_netzone_root()->seal();
  } catch (const std::exception& error) {
    throw Error(path, 0, error.what());
  }
}

// Classes of links that the platform file states (property `class`), by link name or by the prefix
// of a <cluster>'s link names.
class LinkClasses {
 public:
  explicit LinkClasses(const PlatformFile& file) {
    file.for_each_element([&](const pugi::xml_node& node, int /*depth*/) {
      const std::string_view tag = node.name();
      if (tag != "link" && tag != "cluster") return;
      for (const pugi::xml_node& child : node.children("prop"))
        if (std::string_view(child.attribute("id").value()) == "class")
          classes_[node.attribute("id").value() + std::string(tag == "cluster" ? "_link_" : "")] =
              child.attribute("value").value();
    });
  }
  std::string class_of(const std::string& link) const {
    const std::string cable = without_direction(link);
    const std::string_view name = cable;
    const std::size_t mark = name.find("_link_");
    for (const std::string_view key : {name, name.substr(0, mark + 6)})
      if (const auto it = classes_.find(std::string(key)); it != classes_.end()) return it->second;
    return without_numbers(mark == std::string_view::npos ? name : name.substr(0, mark + 5));
  }

 private:
  std::map<std::string, std::string> classes_;
};

// Returns whether routes have latencies in addition to those of their links, as in zones with
// Vivaldi coordinates.
bool has_own_latencies(const PlatformFile& file) {
  bool has_coordinates = false;
  file.for_each_element([&](const pugi::xml_node& node, int /*depth*/) {
    has_coordinates =
        has_coordinates || std::string_view(node.attribute("routing").value()) == "Vivaldi";
  });
  return has_coordinates;
}

class SimgridNetwork final : public Network {
 public:
  explicit SimgridNetwork(const PlatformFile& file) : empty_zones_(file) {
    probe(file);
    load_into_simgrid(file.path());
    const LinkClasses classes(file);
    for (sg4::Link* link : engine().get_all_links()) {
      if (link->get_name() == "__loopback__") continue;  // SimGrid's loopback link
      number_of_link_.emplace(link, static_cast<Index>(links.size()));
      simgrids_.links.push_back(link);
      links.push_back({.name = link->get_name(),
                       .link_class = classes.class_of(link->get_name()),
                       .bandwidth = link->get_bandwidth(),
                       .latency = link->get_latency(),
                       .is_shared = link->get_sharing_policy() != sg4::Link::SharingPolicy::FATPIPE,
                       .number = static_cast<Index>(links.size())});
      link->set_latency(0);
    }
    all_hosts_ = engine().get_all_hosts();
    add_hosts(roles_of(file, all_hosts_));
    simgrids_.hosts = all_hosts_;
    if (has_own_latencies(file)) make_flow_ends();
  }

  const InSimgrid* in_simgrid() const override { return &simgrids_; }

  Equivalence equivalence(const Host* gpu, bool across) const override {
    return {across ? nics_[gpu->number].port : gpu->number, false};
  }

  bool find(const Host* source, const Host* destination, Condition /*condition*/,
            Route& route) const override {
    const bool across = source->node != destination->node;
    const Nic from = across ? nics_[source->number] : Nic{source->number};
    const Nic to = across ? nics_[destination->number] : Nic{destination->number};
    route.source = const_cast<Host*>(&hosts[from.port]);
    route.destination = const_cast<Host*>(&hosts[to.port]);
    double zone_latency = 0;  // latency of zones; that of links has been set to 0
    if (!find_route(from.port, to.port, route.links, zone_latency)) return false;
    route.latency = from.latency + to.latency + zone_latency;
    return !route.links.empty() || zone_latency > 0;
  }

 private:
  struct Nic {
    Index port = nothing;
    double latency = 0;  // in addition to that of links
  };

  void add_hosts(const Roles& roles) {
    for (std::size_t i = 0; i < all_hosts_.size(); ++i) {
      const sg4::Host* const host = all_hosts_[i];
      const Role& role = roles.by_member[i];
      const char* const gpu = host->get_property("gpu");
      const auto optional_property = [&](const char* name) {
        const char* const text = host->get_property(name);
        return text == nullptr ? std::nullopt : std::optional<std::string>(text);
      };
      const auto number = static_cast<Index>(i);
      hosts.push_back({.name = host->get_name(),
                       .gpu = gpu == nullptr ? "" : gpu,
                       .memory_text = optional_property("memory"),
                       .launch_factor_text = optional_property("launch_factor"),
                       .host_memory_text = optional_property("host_memory_bandwidth"),
                       .host_core_text = optional_property("host_core_bandwidth"),
                       .host_gpus_text = optional_property("host_gpus"),
                       .speed = host->get_speed(),
                       .cores = host->get_core_count(),
                       .node = role.node,
                       .local_index = role.local_index,
                       .number = number});
      nics_.push_back(role.nics.empty() ? Nic{number} : Nic{role.nics.front(), role.latency});
    }
    for (const Index gpu : roles.gpus) gpus.push_back(&hosts[gpu]);
  }

  // Creates a second zone without latency, whose hosts use the same links, and runs all flows
  // there. In the loaded zones, SimGrid would add the latency a second time and share links by it.
  void make_flow_ends() {
    FlowZone& zone = make_zone("(flow ends)", [this](auto source, auto destination, auto& between) {
      std::vector<sg4::Link*> route_links;
      double ignored = 0;
      all_hosts_.at(source)->route_to(all_hosts_.at(destination), route_links, &ignored);
      between.assign(route_links.begin(), route_links.end());
    });
    for (sg4::Host*& host : simgrids_.hosts)
      host = zone.add_host(fmt::format("(flow end of {})", host->get_name()), 1, 1);
  }

  // Asks SimGrid for the links and the latency of a route. Returns false if there is no route.
  bool find_route(Index source, Index destination, std::vector<const Link*>& between,
                  double& latency) const {
    const sg4::Host* const from = all_hosts_[source];
    const sg4::Host* const to = all_hosts_[destination];
    if (empty_zones_.are_between(from, to)) return false;
    std::vector<sg4::Link*> route_links;
    try {
      from->route_to(to, route_links, &latency);
    } catch (const std::exception&) {
      return false;  // some routings throw, others return no links
    }
    for (const sg4::Link* link : route_links) between.push_back(&links[number_of_link_.at(link)]);
    return true;
  }

  void append_platform_links(const Host* source, const Host* destination,
                             std::vector<const Link*>& between) const override {
    double ignored = 0;
    find_route(source->number, destination->number, between, ignored);
  }

  static Roles roles_of(const PlatformFile& file, const std::vector<sg4::Host*>& hosts) {
    std::vector<std::string> names;
    std::map<const void*, Index> zones;
    std::vector<Member> members;
    std::vector<std::unordered_map<std::string, std::string>> properties;
    for (const sg4::Host* host : hosts) {
      names.emplace_back(host->get_cname());
      properties.push_back(*host->get_properties());
    }
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const auto value = [&](const char* key) {
        const auto it = properties[i].find(key);
        return it == properties[i].end() ? nullptr : &it->second;
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
    } catch (const MemberError& error) {
      const std::string& name = names[error.member];
      throw error.fault.within(
          {.source = file.path().string(), .line = SourceLines(file).line_of_host(name)},
          fmt::format("host '{}'", name));
    }
  }

  EmptyZones empty_zones_;
  std::vector<sg4::Host*> all_hosts_;  // hosts of the file
  InSimgrid simgrids_;                 // hosts and links for flows
  std::unordered_map<const sg4::Link*, Index> number_of_link_;
  std::vector<Nic> nics_;  // by host: first port to other nodes, or the host itself if it has none
};

}  // namespace

std::shared_ptr<Network> load_with_simgrid(const PlatformFile& file) {
  if (has_platform())
    throw std::logic_error("SimGrid already has a platform in this process, so it cannot load " +
                           file.path().string());
  return std::make_shared<SimgridNetwork>(file);
}

}  // namespace pipewright::cluster
