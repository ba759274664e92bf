#include "sim/execution/simgrid/mirror.hpp"

#include <bit>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/cluster/network.hpp"
#include "sim/execution/flows/limiting_links.hpp"
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
  divisors_.assign(objects_.links.size(), 1);
  is_idle_.assign(objects_.links.size(), false);
  crossings_.assign(objects_.links.size(), 0);
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
  is_idle_.assign(is_idle_.size(), false);
  for (const cluster::Link& link : network_->links) {
    const std::uint32_t divisor = std::exchange(divisors_[link.number], 1);
    if (bandwidths_[link.number] != link.bandwidth || divisor > 1) set_bandwidth(link);
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

void Mirror::set_bandwidth(const cluster::Link& link) {
  bandwidths_[link.number] = link.bandwidth;
  objects_.links[link.number]->set_bandwidth(link.bandwidth / divisors_[link.number]);
}

void Mirror::prepare(std::span<const Transfer> transfers) {
  if (network_ == nullptr) return;
  LimitingLinks limiting_links;
  // The lowest bit that is set in the number of crossings of any transfer is the largest power of
  // two that divides all of these numbers.
  std::vector<std::uint32_t> bits(divisors_.size());
  for (const Transfer& transfer : transfers) {
    route_buffer_.clear();
    network_->append_links(transfer.source, transfer.destination, route_buffer_);
    limiting_links.add(route_buffer_);
    for (const cluster::Link* link : route_buffer_) ++crossings_[link->number];
    for (const cluster::Link* link : route_buffer_)
      bits[link->number] |= std::exchange(crossings_[link->number], 0);
  }
  for (const cluster::Link& link : network_->links) {
    if (!link.is_shared || bits[link.number] == 0) continue;
    is_idle_[link.number] = !limiting_links.may_limit(&link);
    divisors_[link.number] = 1U << static_cast<unsigned>(std::countr_zero(bits[link.number]));
    if (divisors_[link.number] > 1) set_bandwidth(link);
  }
}

void Mirror::append_links(const cluster::Host* source, const cluster::Host* destination,
                          std::vector<const sg4::Link*>& into) {
  route_buffer_.clear();
  network_->append_links(source, destination, route_buffer_);
  for (const cluster::Link* link : route_buffer_)
    if (crossings_[link->number]++ % divisors_[link->number] == 0 && !is_idle_[link->number])
      into.push_back(objects_.links[link->number]);
  for (const cluster::Link* link : route_buffer_) crossings_[link->number] = 0;
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
