#include "sim/cluster/cluster.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/network.hpp"
#include "sim/cluster/platform/names.hpp"
#include "sim/cluster/platform/platform_routes.hpp"

namespace pipewright::cluster {
Cluster Cluster::ideal(double latency) {
  static Host host{.name = "ideal"};
  Cluster cluster;
  cluster.ideal_latency_ = latency;
  cluster.name_ = "ideal network";
  if (latency > 0) cluster.name_ += fmt::format(", {:g} ms a hop", latency * 1e3);
  cluster.gpus_.push_back(&host);
  cluster.nodes_.push_back(cluster.gpus_);
  return cluster;
}

Cluster Cluster::load(const std::filesystem::path& path, const std::string& label,
                      const config::Multipath& multipath) {
  const PlatformFile file = read_platform_file(path);
  Cluster cluster;
  cluster.name_ = label.empty() ? path.string() : label;
  cluster.text_ = file.text();
  cluster.records_ = read_records(file);
  std::optional<Platform> platform = read_platform(file);
  if (platform && platform->hosts.empty())
    throw Error(path, 0, "has no hosts").suggest("declare each GPU as a host");
  const bool finds_routes =
      platform && (multipath.by != config::MultipathBy::file || !has_equal_paths(*platform));
  cluster.network_ =
      finds_routes ? make_network(file, std::move(*platform), multipath) : load_with_simgrid(file);
  read_host_properties(file, *cluster.network_);
  read_model(file, *cluster.network_);
  cluster.gpus_ = cluster.network_->gpus;
  if (cluster.gpus_.empty())
    throw Error(path, 0, "has no hosts").suggest("declare each GPU as a host");
  for (Host* gpu : cluster.gpus_) {
    const std::uint32_t node = cluster.node_of(gpu);
    if (node >= cluster.nodes_.size()) cluster.nodes_.resize(node + std::size_t{1});
    cluster.nodes_[node].push_back(gpu);
  }
  return cluster;
}

const std::vector<Host*>& Cluster::gpus() const { return gpus_; }

std::vector<Host*> Cluster::place(const std::vector<std::string>& names,
                                  std::uint32_t count) const {
  if (is_ideal()) return std::vector<Host*>(count, gpus_.front());
  if (names.empty()) {
    if (gpus_.size() < count)
      throw Error(fmt::format("{}: has {} GPUs, but the job needs {}", name_, gpus_.size(), count));
    return {gpus_.begin(), gpus_.begin() + count};
  }
  if (names.size() != count)
    throw Error(
        fmt::format("placement names {} hosts, but the job needs {} GPUs", names.size(), count));
  std::unordered_map<std::string, Host*> by_name;
  for (Host* gpu : gpus_) by_name.emplace(name_of(gpu), gpu);
  std::vector<Host*> placed;
  std::set<std::string> taken;
  for (const std::string& name : names) {
    const auto host = by_name.find(name);
    if (host == by_name.end())
      throw Error(fmt::format("placement: {} has no GPU '{}'; the first one is '{}'", name_, name,
                              name_of(gpus_.front())));
    if (!taken.insert(name).second)
      throw Error(fmt::format(
          "placement: host '{}' is named twice; each device needs a host of its own", name));
    placed.push_back(host->second);
  }
  return placed;
}

Route Cluster::route(const Host* source, const Host* destination, Numbers numbers,
                     Condition condition) const {
  Route route{.source = const_cast<Host*>(source), .destination = const_cast<Host*>(destination)};
  if (is_ideal()) {
    route.latency = ideal_latency_ * latency_factor_;
    for (Route::ProtocolCost& protocol_cost : route.per_protocol)
      protocol_cost.latency = route.latency;
    return route;
  }
  if (source == destination) return route;
  const double message = this->model(numbers).message;
  const bool is_found = network_->find(source, destination, condition, route);
  // A route without links is valid if it has a latency.
  if (!is_found || (route.links.empty() && route.latency <= 0))
    throw Error(fmt::format("{}: no route leads from '{}' to '{}'", name_, name_of(source),
                            name_of(destination)));
  route.latency *= latency_factor_;  // latency in addition to that of links
  for (Route::ProtocolCost& per_protocol : route.per_protocol) per_protocol.latency = route.latency;
  if (network_->has_failed_links && condition == Condition::current)
    for (const Link* link : route.links)
      if (link->failed)
        throw Error(fmt::format("link '{}' has failed, and no other route leads from '{}' to '{}'",
                                link_name(link), name_of(source), name_of(destination)));
  for (auto link = route.links.begin(); link != route.links.end();) {
    const auto next = route.divides()
                          ? std::find_if(link, route.links.end(),
                                         [&](auto* candidate) { return candidate != *link; })
                          : link + 1;
    route.bandwidth = std::min(
        route.bandwidth, capacity_of(*link, numbers, condition) / static_cast<double>(next - link));
    link = next;
  }
  for (const Link* link : route.path()) {
    const ClassModel& model = link->model(numbers);
    const double latency = model.latency.value_or(link->latency) * latency_factor_;
    route.latency += latency;
    route.message = std::max(route.message, model.message.value_or(message));
    route.direct_efficiency = std::min(route.direct_efficiency, model.direct_efficiency);
    for (std::size_t i = 0; i < route.per_protocol.size(); ++i) {
      const ProtocolCost cost = model.per_protocol[i].value_or(ProtocolCost{});
      route.per_protocol[i].latency += latency * cost.latency;
      route.per_protocol[i].efficiency =
          std::min(route.per_protocol[i].efficiency, cost.efficiency);
    }
  }
  return route;
}

Route Cluster::add_route(const std::vector<const Link*>& links) const {
  Route route{.links = links};
  std::set<const Link*> counted;
  for (const Link* link : links) {
    route.bandwidth = std::min(route.bandwidth, capacity_of(link));
    if (counted.insert(link).second) route.latency += latency_of(link);
  }
  std::tie(route.source, route.destination) = network_->add_ends(links);
  return route;
}

std::vector<const Link*> Cluster::links_between(const Host* source, const Host* destination) const {
  std::vector<const Link*> links;
  if (!is_ideal()) network_->append_links(source, destination, links);
  return links;
}

const MessageModel& Cluster::model(Numbers numbers) const {
  static const MessageModel none;
  if (is_ideal()) return none;
  return numbers == Numbers::actual ? network_->model : network_->expected;
}

std::optional<std::uint32_t> Cluster::nccl() const {
  return is_ideal() || network_->file_has_expected ? std::nullopt : network_->model.nccl;
}

void Cluster::set_nccl(std::uint32_t version) {
  if (!is_ideal()) network_->model.nccl = version;
}

bool Cluster::has_tuning_model() const { return !is_ideal() && network_->has_tuning_model; }

void Cluster::freeze_expectations(bool is_frozen) {
  if (is_ideal() || network_->file_has_expected) return;
  network_->expected = network_->model;
  network_->has_tuning_model = is_frozen;
  network_->bind_models();
}

std::vector<std::string> Cluster::link_classes() const {
  std::set<std::string> names;
  if (!is_ideal())
    for (const Link& link : network_->links) names.insert(link.link_class);
  std::vector<std::string> sorted(names.begin(), names.end());
  std::ranges::sort(sorted, natural_less);
  return sorted;
}

std::optional<InSwitch> Cluster::in_switch(const Route& route, Numbers numbers) const {
  if (route.links.empty()) return std::nullopt;
  return route.links.front()->model(numbers).in_switch;
}

void Cluster::set_parameter(const std::string& name, double value) {
  if (is_ideal()) throw Error("an ideal network has no parameters");
  const std::vector<std::string> classes = link_classes();
  const std::string owner = name.substr(0, name.rfind('.'));
  if (owner != "collective" && std::ranges::find(classes, owner) == classes.end())
    throw Error(fmt::format("parameter '{}': there are no links of class '{}'; the classes are {}",
                            name, owner, fmt::join(classes, ", ")));
  const std::optional<double> before = parameter(network_->model, name);
  cluster::set_parameter(network_->model, name, value);
  network_->bind_models();
  if (name == owner + ".efficiency") scale_bandwidth(owner, value / before.value_or(1));
}

std::uint32_t Cluster::node_of(const Host* gpu) const { return gpu->node; }

const std::string& Cluster::link_class(const Link* link) const { return link->link_class; }

double Cluster::latency_of(const Link* link) const {
  return link->model(Numbers::actual).latency.value_or(link->latency) * latency_factor_;
}

double Cluster::bandwidth_of(const Link* link) const { return link->bandwidth / link->parts; }

std::uint32_t Cluster::parts_of(const Link* link) const { return link->parts; }

double Cluster::capacity_of(const Link* link) { return link->bandwidth; }

double Cluster::capacity_of(const Link* link, Numbers numbers, Condition condition) const {
  const double capacity =
      condition == Condition::current || !has_faults()
          ? link->bandwidth
          : link->bandwidth / link->rate_left / link->parts * link->parts_as_built;
  if (numbers == Numbers::actual) return capacity;
  return capacity * link->model(Numbers::expected).efficiency /
         link->model(Numbers::actual).efficiency;
}

const std::string& Cluster::link_name(const Link* link) { return link->name; }

std::vector<const Link*> Cluster::links() const {
  std::vector<const Link*> sorted;
  if (is_ideal()) return sorted;
  for (const Link& link : network_->links) sorted.push_back(&link);
  std::sort(sorted.begin(), sorted.end(),
            [](const Link* a, const Link* b) { return natural_less(a->name, b->name); });
  return sorted;
}

void Cluster::scale_link(const std::string& name, double factor) {
  if (!(factor >= 0) || std::isinf(factor))
    throw Error(fmt::format("link '{}': factor {:g} must be finite and >= 0", name, factor));
  std::vector<Link*> matches;
  if (!is_ideal()) {
    for (Link& link : network_->links)
      if (link.name == name || link.name == name + "_UP" || link.name == name + "_DOWN")
        matches.push_back(&link);
    if (matches.empty()) matches = network_->links_at(name);
  }
  if (matches.empty())
    throw Error(
        fmt::format("{}: has no link, NIC or switch '{}'; 'pipewright platform show' with --route "
                    "lists the links of a route",
                    name_, name));
  for (Link* link : matches) {
    link->failed = factor == 0;
    if (factor == 0) continue;
    link->bandwidth *= factor;
    link->rate_left *= factor;
  }
  network_->faults_changed(matches);
}

bool Cluster::has_faults() const { return !is_ideal() && network_->has_faults; }

std::vector<std::string> Cluster::switches() const {
  std::vector<std::string> names;
  if (!is_ideal()) names = network_->switches();
  std::ranges::sort(names, natural_less);
  return names;
}

const config::Multipath& Cluster::multipath() const {
  static const config::Multipath unused;
  return is_ideal() ? unused : network_->multipath;
}

void Cluster::set_multipath(const config::Multipath& multipath) {
  if (!is_ideal()) network_->set_multipath(multipath);
}

bool Cluster::has_divided_routes() const { return !is_ideal() && network_->has_divided_routes(); }

void Cluster::scale_bandwidth(const std::string& link_class, double factor) {
  if (!(factor > 0) || std::isinf(factor))
    throw Error(
        fmt::format("links of class '{}': factor {:g} must be finite and > 0", link_class, factor));
  bool is_found = false;
  if (!is_ideal()) {
    for (Link& link : network_->links) {
      if (link.link_class != link_class) continue;
      is_found = true;
      link.bandwidth *= factor;
    }
  }
  if (!is_found) throw Error(fmt::format("{}: has no links of class '{}'", name_, link_class));
}

void Cluster::scale_latency(double factor) {
  if (!(factor > 0) || std::isinf(factor))
    throw Error(fmt::format("latency: factor {:g} must be finite and > 0", factor));
  latency_factor_ *= factor;
}

std::string simgrid_version() { return "SimGrid " PIPEWRIGHT_SIMGRID; }

}  // namespace pipewright::cluster
