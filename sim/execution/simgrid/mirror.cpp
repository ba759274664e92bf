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

// The first platform of a process must be complete when a simulation starts. It has one host.
void make_first_platform() {
  if (cluster::begin_platform()) cluster::create_single_host(cluster::engine(), "ideal");
}

std::string next_prefix() {
  static int count = 0;
  return fmt::format("({}) ", ++count);
}

}  // namespace

Mirror::Mirror(std::shared_ptr<cluster::Network> network)
    : network_(std::move(network)), prefix_(next_prefix()) {
  cluster::engine();
  make_first_platform();
  if (network_ == nullptr) {
    hosts_.push_back(cluster::engine().get_all_hosts().front());
    return;
  }
  if (const cluster::InSimgrid* const loaded = network_->in_simgrid()) {
    hosts_ = loaded->hosts;
    links_ = loaded->links;
    for (const sg4::Link* link : links_) bandwidths_.push_back(link->get_bandwidth());
  }
  hosts_.resize(network_->hosts.size());
  links_.resize(network_->links.size());
  bandwidths_.resize(links_.size());
  divisors_.assign(links_.size(), 1);
  is_idle_.assign(links_.size(), false);
  crossings_.assign(links_.size(), 0);
}

void Mirror::make_zone() {
  zone_ = &cluster::make_zone(
      prefix_ + "(cluster)", [this](auto source, auto destination, auto& between) {
        append_links(&host_at(zone_hosts_[source]), &host_at(zone_hosts_[destination]), between);
      });
}

const cluster::Host& Mirror::host_at(std::uint32_t number) const {
  const std::size_t hosts = network_->hosts.size();
  return number < hosts ? network_->hosts[number] : network_->ends()[number - hosts];
}

void Mirror::update() {
  if (network_ == nullptr) return;
  if (zone_ != nullptr) zone_->forget_routes();
  is_idle_.assign(is_idle_.size(), false);
  for (const cluster::Link& link : network_->links) {
    const std::uint32_t divisor = std::exchange(divisors_[link.number], 1);
    if (links_[link.number] == nullptr) continue;
    if (bandwidths_[link.number] != link.bandwidth || divisor > 1) set_bandwidth(link);
  }
}

void Mirror::set_bandwidth(const cluster::Link& link) {
  bandwidths_[link.number] = link.bandwidth;
  links_[link.number]->set_bandwidth(link.bandwidth / divisors_[link.number]);
}

void Mirror::prepare(std::span<const Transfer> transfers, FoldedLinks links) {
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
    is_idle_[link.number] = links == FoldedLinks::limiting && !limiting_links.may_limit(&link);
    divisors_[link.number] = 1U << static_cast<unsigned>(std::countr_zero(bits[link.number]));
    if (divisors_[link.number] > 1 && links_[link.number] != nullptr) set_bandwidth(link);
  }
}

void Mirror::append_links(const cluster::Host* source, const cluster::Host* destination,
                          std::vector<const sg4::Link*>& into) {
  route_buffer_.clear();
  network_->append_links(source, destination, route_buffer_);
  for (const cluster::Link* between : route_buffer_)
    if (crossings_[between->number]++ % divisors_[between->number] == 0 &&
        !is_idle_[between->number])
      into.push_back(link(between));
  for (const cluster::Link* between : route_buffer_) crossings_[between->number] = 0;
}

void Mirror::create_host(const cluster::Host& host) {
  if (hosts_[host.number] != nullptr) return;
  if (zone_ == nullptr) make_zone();
  hosts_[host.number] = zone_->add_host(prefix_ + host.name, host.speed, host.cores);
  zone_hosts_.push_back(host.number);
}

sg4::Host* Mirror::host(const cluster::Host* host) {
  if (network_ == nullptr) return hosts_.front();
  if (host->number >= hosts_.size()) hosts_.resize(host->number + std::size_t{1});
  // Actors may ask for the same host at the same time.
  if (hosts_[host->number] == nullptr) cluster::run_at_once([&] { create_host(*host); });
  return hosts_[host->number];
}

sg4::Link* Mirror::link(const cluster::Link* link) {
  sg4::Link*& created = links_[link->number];
  if (created != nullptr) return created;
  if (zone_ == nullptr) make_zone();
  bandwidths_[link->number] = link->bandwidth;
  created = cluster::add_link(static_cast<simgrid::kernel::routing::NetZoneImpl&>(*zone_),
                              prefix_ + link->name, link->bandwidth / divisors_[link->number]);
  if (!link->is_shared) created->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
  created->seal();
  return created;
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
