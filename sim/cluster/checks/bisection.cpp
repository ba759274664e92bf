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

#include "sim/cluster/checks/alike.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::uint64_t most_routes = 1'200'000;

using Numbers32 = std::vector<std::uint32_t>;  // GPUs by their place in the list, or nodes

// Every source sends as much to every destination that is in another node, or in the same one.
struct Team {
  Numbers32 sources;
  Numbers32 destinations;
};

// The part of teams' flows between groups of sources and groups of destinations.
struct Product {
  std::vector<AlikeGroup> sources;
  std::vector<AlikeGroup> destinations;
  double flow = 1;          // of each pair of GPUs, when a GPU sends 1 in all
  bool inside = false;      // of one node
  std::uint64_t teams = 1;  // that have such groups

  std::uint64_t routes() const { return sources.size() * destinations.size(); }
};

class Halves {
 public:
  Halves(const Cluster& cluster, std::span<Host* const> gpus)
      : cluster_(cluster), gpus_(gpus), half_(static_cast<std::uint32_t>(gpus.size() / 2)) {
    for (const Host* gpu : gpus) node_.push_back(cluster.node_of(gpu));
  }

  Bisection find() {
    if (half_ == 0) return {};
    for (const Team& team : teams()) add(team);
    for (const auto& [groups, product] : products_) found_.all_routes += product.routes();
    for (const auto& [groups, product] : products_) carry(product);
    if (found_.missing > 0) return found_;
    double rate = single_;  // of one GPU
    for (const auto& [link, load] : load_) rate = std::min(rate, Cluster::capacity_of(link) / load);
    found_.bandwidth = rate * half_;
    return found_;
  }

 private:
  std::uint32_t node(std::uint32_t gpu) const { return node_[gpu]; }

  std::vector<Team> teams() const {
    std::map<std::uint32_t, Numbers32> first;
    std::map<std::uint32_t, Numbers32> second;
    for (std::uint32_t i = 0; i < 2 * half_; ++i)
      (i < half_ ? first : second)[node(i)].push_back(i);
    const std::size_t size = first.begin()->second.size();
    const auto is_whole = [&](const auto& entry) {
      return entry.second.size() == size &&
             !(first.contains(entry.first) && second.contains(entry.first));
    };
    const bool by_place =
        std::ranges::all_of(first, is_whole) && std::ranges::all_of(second, is_whole);
    std::vector<Team> teams(by_place ? size : 1);
    const auto enlist = [&](const auto& nodes, Numbers32 Team::*side) {
      for (const auto& [number, members] : nodes)
        for (std::size_t i = 0; i < members.size(); ++i)
          (teams[by_place ? i : 0].*side).push_back(members[i]);
    };
    enlist(first, &Team::sources);
    enlist(second, &Team::destinations);
    return teams;
  }

  // Nodes with GPUs on both sides, whose own flows stay inside.
  Numbers32 straddling(const Team& team) const {
    std::map<std::uint32_t, int> sides;
    for (const std::uint32_t gpu : team.sources) sides[node(gpu)] |= 1;
    for (const std::uint32_t gpu : team.destinations) sides[node(gpu)] |= 2;
    Numbers32 nodes;
    for (const auto& [number, side] : sides)
      if (side == 3) nodes.push_back(number);
    return nodes;
  }

  void add(const Team& team) {
    const double flow = 1 / static_cast<double>(team.destinations.size());
    const Numbers32 apart = straddling(team);
    add({.sources = alike_groups(cluster_, gpus_, team.sources, true, apart),
         .destinations = alike_groups(cluster_, gpus_, team.destinations, true, apart),
         .flow = flow});
    for (const std::uint32_t number : apart) {
      const auto inside = [&](const Numbers32& all) {
        Numbers32 members;
        std::ranges::copy_if(all, std::back_inserter(members),
                             [&](std::uint32_t gpu) { return node(gpu) == number; });
        return alike_groups(cluster_, gpus_, members, false);
      };
      add({.sources = inside(team.sources),
           .destinations = inside(team.destinations),
           .flow = flow,
           .inside = true});
    }
  }

  // Products of the same groups differ in the GPUs' own links alone.
  void add(Product product) {
    load_own_links(product, product.sources, product.destinations, true);
    load_own_links(product, product.destinations, product.sources, false);
    std::vector<std::uint64_t> groups{product.inside ? 1U : 0U};
    for (const auto* side : {&product.sources, &product.destinations}) {
      groups.push_back(side->size());
      for (const AlikeGroup& group : *side) {
        groups.push_back(group.number);
        groups.push_back(group.members.size());
      }
    }
    const auto [place, is_new] = products_.try_emplace(std::move(groups), std::move(product));
    if (!is_new) ++place->second.teams;
  }

  bool joins(const Product& product, const AlikeGroup& a, const AlikeGroup& b) const {
    return product.inside || node(a.members.front()) != node(b.members.front());
  }

  // What each member of these groups sends to the others, or gets from them, over its own link.
  void load_own_links(const Product& product, const std::vector<AlikeGroup>& groups,
                      const std::vector<AlikeGroup>& others, bool out) {
    for (const AlikeGroup& group : groups) {
      if (!group.has_own_link) continue;
      double flow = 0;
      const AlikeGroup* other = nullptr;
      for (const AlikeGroup& one : others) {
        if (!joins(product, group, one)) continue;
        flow += product.flow * static_cast<double>(one.members.size());
        other = &one;
      }
      if (other == nullptr) continue;
      const std::uint32_t far = other->members.front();
      for (const std::uint32_t gpu : group.members) {
        const auto way = out ? route(gpu, far) : route(far, gpu);
        if (way && !way->links.empty()) load(out ? way->links.front() : way->links.back(), flow);
      }
    }
  }

  void carry(const Product& product) {
    const std::size_t count = product.destinations.size();
    // As many turns as keep the whole within what is looked at; each group of sources meets another
    // group in each, drawn by a sequence that is the same everywhere.
    const double part = static_cast<double>(most_routes) / static_cast<double>(found_.all_routes);
    const auto turns =
        part >= 1
            ? count
            : std::max<std::size_t>(static_cast<std::size_t>(part * static_cast<double>(count)), 1);
    const double scale = static_cast<double>(count) / static_cast<double>(turns);
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::mt19937_64 random;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      if (turns < count)
        for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
      for (std::size_t i = 0; i < product.sources.size(); ++i)
        carry(product, product.sources[i],
              product.destinations[order[(i + (turns < count ? 0 : turn)) % count]], scale);
    }
  }

  void carry(const Product& product, const AlikeGroup& from, const AlikeGroup& to, double scale) {
    ++found_.routes;
    if (!joins(product, from, to)) return;
    const std::uint64_t pairs = from.members.size() * to.members.size() * product.teams;
    const std::uint32_t a = from.members.front();
    const std::uint32_t b = to.members.front();
    const auto way = route(a, b);
    if (!way) {
      if (found_.missing == 0) {
        found_.missing_from = name_of(gpus_[a]);
        found_.missing_to = name_of(gpus_[b]);
      }
      found_.missing += pairs;
      return;
    }
    const auto end = way->links.end() - (to.has_own_link && way->links.size() > 1 ? 1 : 0);
    for (auto link = way->links.begin() + (from.has_own_link ? 1 : 0); link < end; ++link)
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
      single_ = std::min(single_, Cluster::capacity_of(link));
    }
  }

  const Cluster& cluster_;
  std::span<Host* const> gpus_;
  std::uint32_t half_;
  std::vector<std::uint32_t> node_;  // of each GPU
  std::map<std::vector<std::uint64_t>, Product> products_;
  std::unordered_map<const Link*, double> load_;  // of shared links, when each GPU sends 1
  double single_ = std::numeric_limits<double>::infinity();  // what one flow can have
  Bisection found_;
};

}  // namespace

Bisection find_bisection(const Cluster& cluster, std::span<Host* const> gpus) {
  return Halves(cluster, gpus).find();
}

double bisection(const Cluster& cluster, std::span<Host* const> gpus) {
  const Bisection found = find_bisection(cluster, gpus);
  if (found.missing > 0)
    throw Error(fmt::format("{}: no route leads from '{}' to '{}'", cluster.name(),
                            found.missing_from, found.missing_to));
  return found.bandwidth;
}

}  // namespace pipewright::cluster
