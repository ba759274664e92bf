#include "sim/execution/simgrid/mirror.hpp"

#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/cluster/network.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::execution {
namespace {

sg4::Host* lone_host() {
  sg4::Engine& engine = cluster::engine();
  if (cluster::begin_platform()) cluster::create_single_host(engine, "ideal");
  return engine.get_all_hosts().front();
}

std::string next_prefix() {
  static int count = 0;
  return cluster::has_platform() ? fmt::format("({}) ", ++count) : std::string();
}

}  // namespace

Mirror::Mirror(std::shared_ptr<cluster::Network> network) : network_(std::move(network)) {
  if (network_ == nullptr)
    objects_.hosts.push_back(lone_host());
  else if (network_->in_simgrid() != nullptr)
    objects_ = *network_->in_simgrid();
  else
    make();
  for (const sg4::Link* link : objects_.links) bandwidths_.push_back(link->get_bandwidth());
}

void Mirror::make() {
  prefix_ = next_prefix();
  const std::vector<cluster::Host>& hosts = network_->hosts;
  cluster::FlowZone& zone = cluster::make_zone(
      prefix_ + "(cluster)", [this, &hosts](auto source, auto destination, auto& between) {
        append_links(&hosts[source], &hosts[destination], between);
      });
  for (const cluster::Link& link : network_->links) {
    sg4::Link* const created =
        cluster::add_link(static_cast<simgrid::kernel::routing::NetZoneImpl&>(zone),
                          prefix_ + link.name, link.bandwidth);
    if (!link.is_shared) created->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
    created->seal();
    objects_.links.push_back(created);
  }
  for (const cluster::Host& host : hosts)
    objects_.hosts.push_back(zone.add_host(prefix_ + host.name, host.speed, host.cores));
  zone.seal();
}

void Mirror::update() {
  if (network_ == nullptr) return;
  for (const cluster::Link& link : network_->links) {
    double& bandwidth = bandwidths_[link.number];
    if (bandwidth == link.bandwidth) continue;
    bandwidth = link.bandwidth;
    objects_.links[link.number]->set_bandwidth(bandwidth);
  }
  const std::deque<cluster::Host>& ends = network_->ends();
  if (ends_zone_ == nullptr && !ends.empty())
    ends_zone_ = &cluster::make_zone(prefix_ + "(added routes)",
                                     [this, &ends](auto source, auto destination, auto& between) {
                                       append_links(&ends[source], &ends[destination], between);
                                     });
  for (std::size_t i = ends_.size(); i < ends.size(); ++i)
    ends_.push_back(ends_zone_->add_host(prefix_ + ends[i].name, 1, 1));
}

void Mirror::append_links(const cluster::Host* source, const cluster::Host* destination,
                          std::vector<const sg4::Link*>& into) {
  route_buffer_.clear();
  network_->append_links(source, destination, route_buffer_);
  for (const cluster::Link* link : route_buffer_) into.push_back(objects_.links[link->number]);
}

sg4::Host* Mirror::host(const cluster::Host* host) const {
  if (network_ == nullptr) return objects_.hosts.front();
  if (host->number < objects_.hosts.size()) return objects_.hosts[host->number];
  return ends_[host->number - objects_.hosts.size()];
}

Mirror& mirror_of(const cluster::Cluster& cluster) {
  static auto& mirrors =
      *new std::unordered_map<const cluster::Network*, std::unique_ptr<Mirror>>();
  std::unique_ptr<Mirror>& mirror = mirrors[cluster.network().get()];
  if (mirror == nullptr) mirror = std::make_unique<Mirror>(cluster.network());
  return *mirror;
}

Mirror& begin_mirror(const cluster::Cluster& cluster) {
  Mirror& mirror = mirror_of(cluster);
  mirror.update();
  return mirror;
}

void load_simulator() {}  // SimGrid is linked into this module

void get_ready(const cluster::Cluster& cluster) { begin_mirror(cluster); }

}  // namespace pipewright::execution
