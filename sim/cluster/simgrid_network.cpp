#include <map>
#include <string_view>

#include <fmt/format.h>
#include <pugixml.hpp>
#include <simgrid/Exception.hpp>

#include "sim/cluster/engine.hpp"
#include "sim/cluster/names.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/probe.hpp"
#include "sim/cluster/roles.hpp"

namespace pipewright::cluster {
namespace {

void load(const std::filesystem::path& path) {
  try {
    engine().load_platform(path.string());
    engine().get_netzone_root()->seal();
  } catch (const simgrid::ParseError& error) {
    // "Parse error at FILE:LINE: what"
    std::string_view what = error.what();
    constexpr std::string_view prefix = "Parse error at ";
    if (what.starts_with(prefix)) what.remove_prefix(prefix.size());
    throw Error(std::string(what));
  } catch (const std::exception& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
}

// The classes that the file gives, by the link's name or what a <cluster>'s links begin with.
class Classes final : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node& node) override {
    const std::string_view tag = node.name();
    if (tag != "link" && tag != "cluster") return true;
    for (const pugi::xml_node& child : node.children("prop"))
      if (std::string_view(child.attribute("id").value()) == "class")
        classes_[node.attribute("id").value() + std::string(tag == "cluster" ? "_link_" : "")] =
            child.attribute("value").value();
    return true;
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

class SimgridNetwork final : public Network {
 public:
  explicit SimgridNetwork(const PlatformFile& file) {
    probe(file.path());
    load(file.path());
    Classes classes;
    const_cast<pugi::xml_document&>(file.document()).traverse(classes);
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
      if (roles.of[i].node != nothing) node_of.emplace(hosts[i], roles.of[i].node);
      if (roles.of[i].nic != nothing)
        nic_of_.emplace(hosts[i], Nic{hosts[roles.of[i].nic], roles.of[i].latency});
    }
  }

  void find(const Host* source, const Host* destination, Route& route) const override {
    const bool across = node(source) != node(destination);
    const Nic from = across ? nic(source) : Nic{const_cast<Host*>(source)};
    const Nic to = across ? nic(destination) : Nic{const_cast<Host*>(destination)};
    route.source = from.port;
    route.destination = to.port;
    route.latency = from.latency + to.latency;
    std::vector<sg4::Link*> found;
    double ignored = 0;  // 0 by now, since the links' latencies are
    try {
      route.source->route_to(route.destination, found, &ignored);
    } catch (const std::exception&) {
      found.clear();  // some routings throw where others come back empty
    }
    route.links.assign(found.begin(), found.end());
  }

 private:
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
      throw Error(
          fmt::format("{}: host '{}': {}", file.path().string(), names[fault.member], fault.what));
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

  std::unordered_map<const Host*, Nic> nic_of_;
};

}  // namespace

std::shared_ptr<Network> load_with_simgrid(const PlatformFile& file) {
  return std::make_shared<SimgridNetwork>(file);
}

}  // namespace pipewright::cluster
