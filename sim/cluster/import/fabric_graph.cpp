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
constexpr std::uint32_t unreachable = ~std::uint32_t{0};

std::string level_name(std::uint32_t level) {
  constexpr std::array names{"leaf", "spine", "core"};
  return level < names.size() ? names.at(level) : fmt::format("level-{}", level);
}

class GraphBuilder {
 public:
  GraphBuilder(const FabricParts& parts, const FabricRates& rates)
      : parts_(parts),
        rates_(rates),
        neighbours_(parts.switches.size()),
        hosts_(parts.switches.size()) {}

  FabricGraph make() {
    for (const FabricParts::Cable& cable : parts_.cables)
      if (cable.below != cable.above) connect(cable.below, cable.above);
    for (const FabricParts::Host& host : parts_.hosts)
      for (const FabricParts::Port& port : host.ports) {
        ++hosts_[port.switch_index];
        if (port.rate == 0 && parts_.has_port_rates) ++graph_.without_rate;
      }
    check_connected();
    mark_used();
    set_levels();
    add_links();
    find_slow_cables();
    summarize();
    return std::move(graph_);
  }

 private:
  void connect(std::uint32_t a, std::uint32_t b) {
    neighbours_[a].insert(b);
    neighbours_[b].insert(a);
  }

  std::vector<std::uint32_t> distances(const std::vector<std::uint32_t>& from) const {
    std::vector<std::uint32_t> distance(neighbours_.size(), unreachable);
    for (const std::uint32_t start : from) distance[start] = 0;
    std::vector<std::uint32_t> open = from;
    for (std::size_t i = 0; i < open.size(); ++i)
      for (const std::uint32_t neighbour : neighbours_[open[i]]) {
        if (distance[neighbour] != unreachable) continue;
        distance[neighbour] = distance[open[i]] + 1;
        open.push_back(neighbour);
      }
    return distance;
  }

  void check_connected() const {
    const FabricParts::Port& first = parts_.hosts.front().ports.front();
    const auto distance = distances({first.switch_index});
    for (const FabricParts::Host& host : parts_.hosts)
      for (const FabricParts::Port& port : host.ports)
        if (distance[port.switch_index] == unreachable)
          parts_.source.fail(
              port.line,
              Error(fmt::format(
                        "switch '{}' of host '{}' is not connected to switch '{}' of host '{}'",
                        parts_.switches[port.switch_index].name, host.name,
                        parts_.switches[first.switch_index].name, parts_.hosts.front().name))
                  .allow("a fabric that connects the NICs of all hosts, or --only with the hosts "
                         "of one part"));
  }

  std::vector<std::uint32_t> leaves(bool with_hosts) const {
    std::vector<std::uint32_t> indices;
    for (std::uint32_t i = 0; i < neighbours_.size(); ++i)
      if (with_hosts ? hosts_[i] > 0 : parts_.switches[i].is_leaf) indices.push_back(i);
    return indices;
  }

  // Marks switches on a shortest path between leaves of selected hosts: for each leaf, walks back
  // along shortest paths from all other leaves.
  void mark_used() {
    const std::vector<std::uint32_t> ends = leaves(true);
    graph_.used.assign(neighbours_.size(), false);
    std::vector<std::uint32_t> seen_from(neighbours_.size(), unreachable);
    for (const std::uint32_t start : ends) {
      const auto distance = distances({start});
      std::vector<std::uint32_t> open = ends;
      while (!open.empty()) {
        const std::uint32_t at = open.back();
        open.pop_back();
        if (std::exchange(seen_from[at], start) == start) continue;
        graph_.used[at] = true;
        for (const std::uint32_t neighbour : neighbours_[at])
          if (distance[neighbour] + 1 == distance[at]) open.push_back(neighbour);
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
      if (parts_.has_port_rates && cable.rate == 0) ++graph_.without_rate;
      sums[{below, above}] += cable.rate > 0 ? payload_of(cable.rate) : rates_.nic_bandwidth;
    }
    if (!parts_.has_port_rates) sums = tree_sums();
    for (const auto& [ends, sum] : sums)
      graph_.links.push_back({ends.first, ends.second, sum, class_of(ends.first, ends.second)});
    std::sort(graph_.links.begin(), graph_.links.end(), [&](const auto& a, const auto& b) {
      return std::pair{a.below, a.above} < std::pair{b.below, b.above};
    });
  }

  struct RatedCable {
    std::string name;
    double rate;
    int line;
    double port_rate = 0;
  };

  void find_slow_cables() {
    std::map<std::string, std::vector<RatedCable>> kinds;
    for (const FabricParts::Host& host : parts_.hosts)
      for (const FabricParts::Port& port : host.ports)
        kinds["NIC"].push_back(
            {fmt::format("{} {}", host.name, port.device), port.rate, port.line});
    for (const FabricParts::Cable& cable : parts_.cables) {
      auto [below, above] = std::pair{cable.below, cable.above};
      if (!graph_.used[below] || !graph_.used[above] || below == above) continue;
      if (std::pair{level_[above], above} < std::pair{level_[below], below})
        std::swap(below, above);
      kinds[class_of(below, above)].push_back(
          {fmt::format("{}--{}", parts_.switches[below].name, parts_.switches[above].name),
           cable.rate, cable.line, cable.port_rate});
    }
    for (const auto& [kind, cables] : kinds) add_slow_cables(kind, cables);
  }

  // Adds the cables of a kind below the rate that more than half of the kind have, or below that of
  // their ports.
  void add_slow_cables(const std::string& kind, const std::vector<RatedCable>& cables) {
    std::map<double, std::size_t> counts;
    for (const RatedCable& cable : cables) ++counts[cable.rate];
    double common_rate = 0;
    for (const auto& [rate, count] : counts)
      if (2 * count > cables.size()) common_rate = rate;
    FabricGraph::SlowCables slow{.kind = kind, .first = {}, .cables = cables.size()};
    for (const RatedCable& cable : cables) {
      const double full_rate = std::max(common_rate, cable.port_rate);
      if (cable.rate == 0 || cable.rate >= full_rate || slow.count++ > 0) continue;
      slow.first = cable.name;
      slow.line = cable.line;
      slow.rate = cable.rate;
      slow.full_rate = full_rate;
    }
    if (slow.count > 0) graph_.slow.push_back(std::move(slow));
  }

  // Uplink bandwidths of a tree without known cables: the bandwidth of all hosts below, divided by
  // the oversubscription.
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> tree_sums() const {
    std::vector<std::uint32_t> above(neighbours_.size(), unreachable);
    for (const FabricParts::Cable& cable : parts_.cables)
      if (graph_.used[cable.below] && graph_.used[cable.above]) above[cable.below] = cable.above;
    std::vector<double> down(neighbours_.size());
    for (std::uint32_t i = 0; i < neighbours_.size(); ++i) {
      const double host_bandwidth = static_cast<double>(hosts_[i]) * rates_.host_bandwidth;
      for (std::uint32_t at = i; at != unreachable; at = above[at]) down[at] += host_bandwidth;
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> sums;
    for (std::uint32_t i = 0; i < neighbours_.size(); ++i)
      if (above[i] != unreachable) sums[{i, above[i]}] = down[i] / rates_.oversubscription;
    return sums;
  }

  void summarize() {
    std::map<std::uint32_t, std::size_t> levels;
    std::size_t used = 0;
    for (std::uint32_t i = 0; i < neighbours_.size(); ++i)
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
    for (const auto& [name, distinct] : rates)
      texts.push_back(distinct.size() == 1
                          ? fmt::format("{} {}", name, rate_text(*distinct.begin()))
                          : fmt::format("{} {:.6g} to {}", name, *distinct.begin() / 1e9,
                                        rate_text(*distinct.rbegin())));
    graph_.rates = fmt::format("{}", fmt::join(texts, ", "));
  }

  const FabricParts& parts_;
  const FabricRates& rates_;
  Neighbours neighbours_;
  std::vector<std::size_t> hosts_;
  std::vector<std::uint32_t> level_;
  FabricGraph graph_;
};

}  // namespace

FabricGraph make_graph(const FabricParts& parts, const FabricRates& rates) {
  return GraphBuilder(parts, rates).make();
}

}  // namespace pipewright::cluster
