#include "sim/cluster/checks/bisection.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/cluster/checks/gpu_groups.hpp"
#include "sim/cluster/checks/torus_loads.hpp"
#include "sim/cluster/torus.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::uint64_t max_bisection_routes = 1'200'000;

using Indices = std::vector<std::uint32_t>;  // indices of GPUs or nodes

// Set of flows in which every source sends the same amount to every destination.
struct Team {
  Indices sources;
  Indices destinations;
};

// Flows of one or several teams, from groups of equivalent sources to groups of equivalent
// destinations.
struct Product {
  std::vector<GpuGroup> sources;
  std::vector<GpuGroup> destinations;
  double flow = 1;          // flow of each pair of GPUs, if a GPU sends 1 in total
  bool same_node = false;   // all GPUs are in one node
  std::uint64_t teams = 1;  // number of teams with these groups

  std::uint64_t routes() const { return sources.size() * destinations.size(); }
};

class BisectionSearch {
 public:
  BisectionSearch(const Cluster& cluster, std::span<Host* const> gpus)
      : cluster_(cluster), gpus_(gpus), half_(static_cast<std::uint32_t>(gpus.size() / 2)) {
    for (const Host* gpu : gpus) node_.push_back(cluster.node_of(gpu));
  }

  Bisection find() {
    if (half_ == 0) return {};
    for (const Team& team : teams())
      if (!add_torus(team)) add(team);
    for (const auto& [groups, product] : products_) result_.total_routes += product.routes();
    for (const auto& [groups, product] : products_) add_flows(product);
    if (result_.missing > 0) return result_;
    double rate = flow_limit_;  // rate of one GPU
    for (const auto& [link, load] : load_) rate = std::min(rate, Cluster::capacity_of(link) / load);
    result_.bandwidth = rate * half_;
    return result_;
  }

 private:
  std::uint32_t node(std::uint32_t gpu) const { return node_[gpu]; }

  std::vector<Team> teams() const {
    std::map<std::uint32_t, Indices> first;
    std::map<std::uint32_t, Indices> second;
    for (std::uint32_t i = 0; i < 2 * half_; ++i)
      (i < half_ ? first : second)[node(i)].push_back(i);
    const std::size_t size = first.begin()->second.size();
    const auto is_whole = [&](const auto& entry) {
      return entry.second.size() == size &&
             !(first.contains(entry.first) && second.contains(entry.first));
    };
    const bool by_local_index =
        std::ranges::all_of(first, is_whole) && std::ranges::all_of(second, is_whole);
    std::vector<Team> teams(by_local_index ? size : 1);
    const auto add_members = [&](const auto& nodes, Indices Team::*side) {
      for (const auto& [number, members] : nodes)
        for (std::size_t i = 0; i < members.size(); ++i)
          (teams[by_local_index ? i : 0].*side).push_back(members[i]);
    };
    add_members(first, &Team::sources);
    add_members(second, &Team::destinations);
    return teams;
  }

  // Nodes with GPUs on both sides, whose flows among themselves stay inside the node.
  Indices nodes_on_both_sides(const Team& team) const {
    std::map<std::uint32_t, int> sides;
    for (const std::uint32_t gpu : team.sources) sides[node(gpu)] |= 1;
    for (const std::uint32_t gpu : team.destinations) sides[node(gpu)] |= 2;
    Indices nodes;
    for (const auto& [number, side] : sides)
      if (side == 3) nodes.push_back(number);
    return nodes;
  }

  // Adds the flows of a team whose two sides are at different corners of one torus, without looking
  // at every pair. Returns false for any other team.
  bool add_torus(const Team& team) {
    const std::optional<TorusPosition> first =
        torus_position(cluster_, gpus_[team.sources.front()]);
    if (!first || cluster_.network()->has_failed_links ||
        cluster_.multipath().by == config::MultipathBy::hash)
      return false;
    const TorusGrid grid = torus(cluster_, first->torus);
    const std::uint32_t corners = grid.corners();
    std::vector<double> sources(corners);
    std::vector<double> destinations(corners);
    const auto count = [&](const Indices& side, double flow, std::vector<double>& flow_at) {
      for (const std::uint32_t gpu : side) {
        const std::optional<TorusPosition> position = torus_position(cluster_, gpus_[gpu]);
        if (!position || position->torus != first->torus) return false;
        flow_at[position->corner] += flow;
      }
      return true;
    };
    if (!count(team.sources, 1, sources) ||
        !count(team.destinations, 1 / static_cast<double>(team.destinations.size()), destinations))
      return false;
    for (std::uint32_t corner = 0; corner < corners; ++corner)
      if (sources[corner] > 0 && destinations[corner] > 0) return false;
    add_torus_loads(grid, sources, destinations, [&](std::uint32_t number, double flow) {
      const Link& link = cluster_.network()->links[number];
      load(&link, flow * cluster_.parts_of(&link));
    });
    // Links between a GPU and its corner carry the same, whatever the GPU at the other end.
    const double received =
        static_cast<double>(team.sources.size()) / static_cast<double>(team.destinations.size());
    for (const std::uint32_t gpu : team.sources)
      for (const Link* link : links_outside(grid, gpu, team.destinations.front(), true))
        load(link, 1);
    for (const std::uint32_t gpu : team.destinations)
      for (const Link* link : links_outside(grid, team.sources.front(), gpu, false))
        load(link, received);
    const std::uint64_t routes = team.sources.size() * team.destinations.size();
    result_.routes += routes;
    result_.total_routes += routes;
    return true;
  }

  // Links of a route before it enters a torus (`first`), or after it has left the torus.
  std::vector<const Link*> links_outside(const TorusGrid& grid, std::uint32_t from,
                                         std::uint32_t to, bool first) const {
    const auto path = route(from, to);
    if (!path) return {};
    std::vector<const Link*> links = path->links;
    if (!first) std::ranges::reverse(links);
    const auto is_inside = [&](const Link* link) { return grid.has_link(link->number); };
    links.erase(std::ranges::find_if(links, is_inside), links.end());
    return links;
  }

  void add(const Team& team) {
    const double flow = 1 / static_cast<double>(team.destinations.size());
    const Indices shared_nodes = nodes_on_both_sides(team);
    add({.sources = group_gpus(cluster_, gpus_, team.sources, true, shared_nodes),
         .destinations = group_gpus(cluster_, gpus_, team.destinations, true, shared_nodes),
         .flow = flow});
    for (const std::uint32_t number : shared_nodes) {
      const auto group_members = [&](const Indices& candidates) {
        Indices members;
        std::ranges::copy_if(candidates, std::back_inserter(members),
                             [&](std::uint32_t gpu) { return node(gpu) == number; });
        return group_gpus(cluster_, gpus_, members, false);
      };
      add({.sources = group_members(team.sources),
           .destinations = group_members(team.destinations),
           .flow = flow,
           .same_node = true});
    }
  }

  // Adds flows between groups. If several products have the same groups, they differ only in the
  // GPUs' own links: these links get their load first, and then the products are merged.
  void add(Product product) {
    load_own_links(product, product.sources, product.destinations, true);
    load_own_links(product, product.destinations, product.sources, false);
    std::vector<std::uint64_t> groups{product.same_node ? 1U : 0U};
    for (const auto* side : {&product.sources, &product.destinations}) {
      groups.push_back(side->size());
      for (const GpuGroup& group : *side) {
        groups.push_back(group.number);
        groups.push_back(group.members.size());
      }
    }
    const auto [entry, is_new] = products_.try_emplace(std::move(groups), std::move(product));
    if (!is_new) ++entry->second.teams;
  }

  bool has_flow(const Product& product, const GpuGroup& a, const GpuGroup& b) const {
    return product.same_node || node(a.members.front()) != node(b.members.front());
  }

  // Adds to the load of each member's own link the flow that the member exchanges with the other
  // side.
  void load_own_links(const Product& product, const std::vector<GpuGroup>& groups,
                      const std::vector<GpuGroup>& peers, bool out) {
    for (const GpuGroup& group : groups) {
      if (!group.has_own_link) continue;
      double flow = 0;
      const GpuGroup* peer = nullptr;
      for (const GpuGroup& candidate : peers) {
        if (!has_flow(product, group, candidate)) continue;
        flow += product.flow * static_cast<double>(candidate.members.size());
        peer = &candidate;
      }
      if (peer == nullptr) continue;
      const std::uint32_t peer_gpu = peer->members.front();
      for (const std::uint32_t gpu : group.members) {
        const auto path = out ? route(gpu, peer_gpu) : route(peer_gpu, gpu);
        if (path && !path->links.empty())
          load(out ? path->links.front() : path->links.back(), flow);
      }
    }
  }

  void add_flows(const Product& product) {
    const std::size_t count = product.destinations.size();
    // The number of rounds limits the number of examined routes. Each round pairs every group of
    // sources with a different group of destinations, in a reproducible random order.
    const double sampled_fraction =
        static_cast<double>(max_bisection_routes) / static_cast<double>(result_.total_routes);
    const auto rounds =
        sampled_fraction >= 1
            ? count
            : std::max<std::size_t>(
                  static_cast<std::size_t>(sampled_fraction * static_cast<double>(count)), 1);
    const double scale = static_cast<double>(count) / static_cast<double>(rounds);
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::mt19937_64 random;
    for (std::size_t round = 0; round < rounds; ++round) {
      if (rounds < count)
        for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
      for (std::size_t i = 0; i < product.sources.size(); ++i)
        add_flows(product, product.sources[i],
                  product.destinations[order[(i + (rounds < count ? 0 : round)) % count]], scale);
    }
  }

  void add_flows(const Product& product, const GpuGroup& from, const GpuGroup& to, double scale) {
    ++result_.routes;
    if (!has_flow(product, from, to)) return;
    const std::uint64_t pairs = from.members.size() * to.members.size() * product.teams;
    const std::uint32_t a = from.members.front();
    const std::uint32_t b = to.members.front();
    const auto path = route(a, b);
    if (!path) {
      if (result_.missing == 0) {
        result_.missing_from = name_of(gpus_[a]);
        result_.missing_to = name_of(gpus_[b]);
      }
      result_.missing += pairs;
      return;
    }
    const auto end = path->links.end() - (to.has_own_link && path->links.size() > 1 ? 1 : 0);
    for (auto link = path->links.begin() + (from.has_own_link ? 1 : 0); link < end; ++link)
      load(*link, product.flow * static_cast<double>(pairs) * scale);
  }

  std::optional<Route> route(std::uint32_t from, std::uint32_t to) const {
    try {
      return cluster_.route(gpus_[from], gpus_[to]);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  void load(const Link* link, double flow) {
    if (is_shared(link)) {
      load_[link] += flow;
    } else {
      flow_limit_ = std::min(flow_limit_, Cluster::capacity_of(link));
    }
  }

  const Cluster& cluster_;
  std::span<Host* const> gpus_;
  std::uint32_t half_;
  std::vector<std::uint32_t> node_;  // by GPU
  std::map<std::vector<std::uint64_t>, Product> products_;
  std::unordered_map<const Link*, double> load_;  // load of shared links, if each GPU sends 1
  double flow_limit_ = std::numeric_limits<double>::infinity();  // limit of a single flow
  Bisection result_;
};

}  // namespace

Bisection find_bisection(const Cluster& cluster, std::span<Host* const> gpus) {
  return BisectionSearch(cluster, gpus).find();
}

double bisection(const Cluster& cluster, std::span<Host* const> gpus) {
  const Bisection bisection = find_bisection(cluster, gpus);
  if (bisection.missing > 0)
    throw Error(fmt::format("{}: no route leads from '{}' to '{}'", cluster.name(),
                            bisection.missing_from, bisection.missing_to));
  return bisection.bandwidth;
}

}  // namespace pipewright::cluster
