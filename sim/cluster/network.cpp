#include "sim/cluster/network.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "sim/cluster/platform/error.hpp"
#include "sim/cluster/simgrid.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::cluster {

FlowZone::FlowZone(const std::string& name, Finder finder)
    : NetZoneImpl(name), finder_(std::move(finder)) {}

FlowZone::FlowZone(const std::string& name, const NetZoneImpl& models, Finder finder)
    : FlowZone(name, std::move(finder)) {
  set_network_model(models.get_network_model());
  set_cpu_pm_model(models.get_cpu_pm_model());
  set_cpu_vm_model(models.get_cpu_vm_model());
  set_disk_model(models.get_disk_model());
  set_host_model(models.get_host_model());
}

sg4::Host* FlowZone::add_host(const std::string& name, double speed, int cores,
                              const std::unordered_map<std::string, std::string>& properties) {
  return cluster::add_host(static_cast<NetZoneImpl&>(*this), name, speed)
      ->set_core_count(cores)
      ->set_properties(properties)
      ->seal();
}

void FlowZone::get_local_route(const NetPoint* source, const NetPoint* destination, Route* into,
                               double* latency) {
  links_.clear();
  finder_(source->id(), destination->id(), links_);
  for (const sg4::Link* link : links_) {
    into->link_list_.push_back(link->get_impl());
    if (latency != nullptr) *latency += link->get_latency();
  }
}

void read_model(const PlatformFile& file, Network& network) {
  std::set<std::string> names;
  for (const auto& [link, info] : network.links) names.insert(info.link_class);
  constexpr std::string_view prefix = "expected.";
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<std::pair<std::string, std::string>> expected;
  const std::vector<std::string> classes(names.begin(), names.end());
  for (const pugi::xml_node& zone : file.document().child("platform").children())
    for (const pugi::xml_node& node : zone.children("prop")) {
      std::string id = node.attribute("id").value();
      const bool is_expected = id.starts_with(prefix);
      if (is_expected) id.erase(0, prefix.size());
      (is_expected ? expected : properties).emplace_back(id, node.attribute("value").value());
      try {
        // All so far, so that the one that is wrong is the one that is looked at.
        network.model = read_message_model(properties, classes);
        read_message_model(expected, classes);
      } catch (const std::runtime_error& error) {
        file.fail(node.offset_debug(), error.what());
      }
    }
  // What is not said otherwise is expected as it is.
  properties.insert(properties.end(), expected.begin(), expected.end());
  network.expected = read_message_model(properties, classes);
  network.says_expected = network.has_tuning_model = !expected.empty();
  network.find_models();
  for (auto& [link, info] : network.links)
    if (const double efficiency = info.model(Numbers::actual).efficiency; efficiency != 1)
      const_cast<Link*>(link)->set_bandwidth(link->get_bandwidth() * efficiency);
}

void check_memory(const PlatformFile& file, const Network& network) {
  for (const Host* gpu : network.gpus) {
    try {
      memory_of(gpu);
    } catch (const config::Error& error) {
      throw Error(fmt::format("{}:{}: {}", file.path().string(),
                              SourceLines(file).line_of_host(name_of(gpu)), error.what()));
    }
  }
}

}  // namespace pipewright::cluster
