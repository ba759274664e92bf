#include "sim/cluster/import/fabric_graph.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipewright::cluster {
namespace {

using Neighbours = std::vector<std::set<std::uint32_t>>;
constexpr std::uint32_t unreached = ~std::uint32_t{0};

std::string level_name(std::uint32_t level) {
  constexpr std::array names{"leaf", "spine", "core"};
  return level < names.size() ? names.at(level) : fmt::format("level-{}", level);
}

class Maker {
 public:
  Maker(const FabricParts& parts, const FabricRates& rates)
      : parts_(parts), rates_(rates), next_(parts.switches.size()), hosts_(parts.switches.size()) {}

  FabricGraph make() {
    for (const FabricParts::Cable& cable : parts_.cables)
      if (cable.below != cable.above) join(cable.below, cable.above);
    for (const FabricParts::Host& host : parts_.hosts)
      for (const FabricParts::Port& port : host.ports) {
        ++hosts_[port.on];
        if (port.rate == 0 && parts_.tells_ports) ++graph_.without_rate;
      }
    check_joined();
    find_used();
    set_levels();
    add_links();
    summarise();
    return std::move(graph_);
  }

 private:
  void join(std::uint32_t a, std::uint32_t b) {
    next_[a].insert(b);
    next_[b].insert(a);
  }

  std::vector<std::uint32_t> distances(const std::vector<std::uint32_t>& from) const {
    std::vector<std::uint32_t> distance(next_.size(), unreached);
    for (const std::uint32_t start : from) distance[start] = 0;
    std::vector<std::uint32_t> open = from;
    for (std::size_t i = 0; i < open.size(); ++i)
      for (const std::uint32_t other : next_[open[i]]) {
        if (distance[other] != unreached) continue;
        distance[other] = distance[open[i]] + 1;
        open.push_back(other);
      }
    return distance;
  }

  void check_joined() const {
    const FabricParts::Port& first = parts_.hosts.front().ports.front();
    const auto distance = distances({first.on});
    for (const FabricParts::Host& host : parts_.hosts)
      for (const FabricParts::Port& port : host.ports)
        if (distance[port.on] == unreached)
          parts_.source.fail(
              port.line, fmt::format("no cable leads from switch '{}' of host '{}' to switch '{}' "
                                     "of host '{}'; allowed: a fabric that joins all of its hosts' "
                                     "NICs, or --only with the hosts of one part",
                                     parts_.switches[port.on].name, host.name,
                                     parts_.switches[first.on].name, parts_.hosts.front().name));
  }

  std::vector<std::uint32_t> leaves(bool with_hosts) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < next_.size(); ++i)
      if (with_hosts ? hosts_[i] > 0 : parts_.switches[i].is_leaf) found.push_back(i);
    return found;
  }

  // Those on a shortest way between switches with hosts that count: from each of these, back from
  // all others.
  void find_used() {
    const std::vector<std::uint32_t> ends = leaves(true);
    graph_.used.assign(next_.size(), false);
    std::vector<std::uint32_t> seen_from(next_.size(), unreached);
    for (const std::uint32_t start : ends) {
      const auto distance = distances({start});
      std::vector<std::uint32_t> open = ends;
      while (!open.empty()) {
        const std::uint32_t at = open.back();
        open.pop_back();
        if (std::exchange(seen_from[at], start) == start) continue;
        graph_.used[at] = true;
        for (const std::uint32_t other : next_[at])
          if (distance[other] + 1 == distance[at]) open.push_back(other);
      }
    }
    graph_.pruned =
        static_cast<std::size_t>(std::count(graph_.used.begin(), graph_.used.end(), false));
  }

  void set_levels() { level_ = distances(leaves(false)); }

  std::string class_of(std::uint32_t below, std::uint32_t above) const {
    return fmt::format("{}-{}", level_name(level_[below]), level_name(level_[above]));
  }

  void add_links() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> sums;
    for (const FabricParts::Cable& cable : parts_.cables) {
      auto [below, above] = std::pair{cable.below, cable.above};
      if (!graph_.used[below] || !graph_.used[above] || below == above) continue;
      if (std::pair{level_[above], above} < std::pair{level_[below], below})
        std::swap(below, above);
      ++graph_.cables;
      if (parts_.tells_ports && cable.rate == 0) ++graph_.without_rate;
      sums[{below, above}] += cable.rate > 0 ? payload_of(cable.rate) : rates_.nic_bandwidth;
    }
    if (!parts_.tells_ports) sums = sums_of_tree();
    for (const auto& [ends, sum] : sums)
      graph_.links.push_back({ends.first, ends.second, sum, class_of(ends.first, ends.second)});
    std::sort(graph_.links.begin(), graph_.links.end(), [&](const auto& a, const auto& b) {
      return std::pair{a.below, a.above} < std::pair{b.below, b.above};
    });
  }

  // Of a tree whose cables are not told: what the hosts below send, over the oversubscription.
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> sums_of_tree() const {
    std::vector<std::uint32_t> above(next_.size(), unreached);
    for (const FabricParts::Cable& cable : parts_.cables)
      if (graph_.used[cable.below] && graph_.used[cable.above]) above[cable.below] = cable.above;
    std::vector<double> down(next_.size());
    for (std::uint32_t i = 0; i < next_.size(); ++i) {
      const double own = static_cast<double>(hosts_[i]) * rates_.host_bandwidth;
      for (std::uint32_t at = i; at != unreached; at = above[at]) down[at] += own;
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> sums;
    for (std::uint32_t i = 0; i < next_.size(); ++i)
      if (above[i] != unreached) sums[{i, above[i]}] = down[i] / rates_.oversubscription;
    return sums;
  }

  void summarise() {
    std::map<std::uint32_t, std::size_t> levels;
    std::size_t used = 0;
    for (std::uint32_t i = 0; i < next_.size(); ++i)
      if (graph_.used[i]) ++levels[level_[i]], ++used;
    std::vector<std::string> texts;
    for (const auto& [level, count] : levels)
      texts.push_back(fmt::format("{} {}", count, level_name(level)));
    graph_.summary = fmt::format("{}: {}", used, fmt::join(texts, ", "));
    std::map<std::string, std::set<double>> rates;
    for (const FabricParts::Host& host : parts_.hosts)
      for (const FabricParts::Port& port : host.ports)
        rates["NIC"].insert(port.rate > 0 ? payload_of(port.rate) : rates_.nic_bandwidth);
    for (const FabricGraph::Link& link : graph_.links)
      rates[link.link_class].insert(link.bandwidth);
    texts.clear();
    for (const auto& [name, all] : rates)
      texts.push_back(all.size() == 1 ? fmt::format("{} {}", name, rate_text(*all.begin()))
                                      : fmt::format("{} {:.6g} to {}", name, *all.begin() / 1e9,
                                                    rate_text(*all.rbegin())));
    graph_.rates = fmt::format("{}", fmt::join(texts, ", "));
  }

  const FabricParts& parts_;
  const FabricRates& rates_;
  Neighbours next_;
  std::vector<std::size_t> hosts_;
  std::vector<std::uint32_t> level_;
  FabricGraph graph_;
};

}  // namespace

FabricGraph make_graph(const FabricParts& parts, const FabricRates& rates) {
  return Maker(parts, rates).make();
}

}  // namespace pipewright::cluster
