#include "sim/cluster/simgrid/flow_zone.hpp"

#include <utility>

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

sg4::Host* FlowZone::add_host(const std::string& name, double speed, int cores) {
  return cluster::add_host(static_cast<NetZoneImpl&>(*this), name, speed)
      ->set_core_count(cores)
      ->seal();
}

FlowZone::RecentRoute FlowZone::make_route(const NetPoint* source, const NetPoint* destination) {
  links_.clear();
  finder_(source->id(), destination->id(), links_);
  RecentRoute route;
  for (const sg4::Link* link : links_) {
    route.links.push_back(link->get_impl());
    route.latency += link->get_latency();
  }
  return route;
}

void FlowZone::get_local_route(const NetPoint* source, const NetPoint* destination, Route* route,
                               double* latency) {
  constexpr std::size_t most_routes = 1U << 16U;  // limits the memory
  if (routes_.size() == most_routes) routes_.clear();
  const auto [it, is_new] =
      routes_.try_emplace(std::uint64_t{source->id()} << 32U | destination->id());
  RecentRoute& recent = it->second;
  if (is_new) recent = make_route(source, destination);
  route->link_list_.insert(route->link_list_.end(), recent.links.begin(), recent.links.end());
  if (latency != nullptr) *latency += recent.latency;
}

FlowZone& make_zone(const std::string& name, FlowZone::Finder finder) {
  sg4::Engine& running = engine();
  if (!begin_platform())
    return *new FlowZone(name, *running.get_netzone_root()->get_impl(), std::move(finder));
  auto* zone = new FlowZone(name, std::move(finder));
  make_top(running, *zone);
  return *zone;
}

}  // namespace pipewright::cluster
