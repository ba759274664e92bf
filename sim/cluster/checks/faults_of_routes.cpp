#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "sim/cluster/checks/alike.hpp"
#include "sim/cluster/checks/faults.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/platform/names.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::uint64_t most_routes = 500'000;

// Who reaches whom: sets that are joined.
class Islands {
 public:
  explicit Islands(std::size_t count) : of_(count) { std::iota(of_.begin(), of_.end(), 0U); }
  std::size_t find(std::size_t i) {
    while (of_[i] != i) i = of_[i] = of_[of_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { of_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> of_;
};

// Pairs of GPUs with a fault: the first, and how many.
struct FaultyPairs {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t count = 0;

  void add(std::uint32_t a, std::uint32_t b, std::uint64_t more) {
    if (count == 0) from = a, to = b;
    count += more;
  }
};

class RouteSearch {
 public:
  RouteSearch(const Cluster& cluster, const SourceLines& lines, FaultReport& report)
      : cluster_(cluster), lines_(lines), report_(report), islands_(cluster.gpus().size()) {}

  LinkUses run() {
    const auto& gpus = cluster_.gpus();
    const auto count = static_cast<std::uint32_t>(gpus.size());
    report_.pairs = std::uint64_t{count} * (count - 1);
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0U);
    for (const std::uint32_t gpu : all) {
      node_.push_back(cluster_.node_of(gpus[gpu]));
      nodes_[node_[gpu]].push_back(gpu);
    }
    for (const auto& [number, members] : nodes_)
      look_inside(alike_groups(cluster_, gpus, members, false));
    look_across(alike_groups(cluster_, gpus, all, true));
    tell_islands();
    tell_pairs();
    return std::move(uses_);
  }

 private:
  std::string name(std::size_t gpu) const { return name_of(cluster_.gpus()[gpu]); }

  void look_inside(const std::vector<AlikeGroup>& groups) {
    for (const AlikeGroup& from : groups) {
      ++turn_;
      const std::uint32_t first = from.members[0];
      if (from.members.size() > 1) look_at_own_links(from, first, from.members[1]);
      for (const AlikeGroup& to : groups) {
        const bool same = &from == &to;
        if (!same || from.members.size() > 1) look_at(from, to, first, to.members[same ? 1 : 0]);
      }
    }
  }

  // All groups to all, or each to its neighbour and to some that are drawn.
  void look_across(const std::vector<AlikeGroup>& groups) {
    const std::uint64_t count = groups.size();
    report_.is_sampled = count * count > most_routes;
    std::mt19937_64 random;  // the same sequence everywhere
    for (std::uint64_t a = 0; a < count; ++a) {
      ++turn_;
      bool is_first = true;
      const auto look = [&](std::uint64_t b) {
        is_first = !look_across(groups[a], groups[b], is_first) && is_first;
      };
      if (!report_.is_sampled) {
        for (std::uint64_t b = 0; b < count; ++b) look(b);
        continue;
      }
      std::set<std::uint64_t> others{(a + 1) % count};
      while (others.size() < std::max<std::uint64_t>(most_routes / count, 1))
        others.insert(random() % count);
      for (const std::uint64_t b : others) look(b);
    }
  }
  // At two GPUs of different nodes, if there are.
  bool look_across(const AlikeGroup& from, const AlikeGroup& to, bool is_first) {
    for (const std::uint32_t a : {from.members.front(), from.members.back()})
      for (const std::uint32_t b : {to.members.front(), to.members.back()}) {
        if (node_[a] == node_[b]) continue;
        if (is_first && from.members.size() > 1) look_at_own_links(from, a, b);
        look_at(from, to, a, b);
        return true;
      }
    return false;
  }

  // What members of a group have for themselves, on the way to either of two others. They reach
  // each other.
  void look_at_own_links(const AlikeGroup& group, std::uint32_t one, std::uint32_t other) {
    const bool across = node_[one] != node_[other];
    std::unordered_map<const Link*, std::uint32_t> owner_of;
    for (const std::uint32_t gpu : group.members) {
      islands_.join(gpu, group.members[0]);
      if (!group.has_own_link) continue;
      const bool is_far = across ? node_[gpu] != node_[other] : gpu != other;
      const auto way = route(gpu, is_far ? other : one);
      if (!way || way->links.empty()) continue;
      LinkUse& use = use_of(way->links.front());
      use.gpu = gpu_of(cluster_.gpus()[gpu]);
      ++use.gpus;
      const auto owner = owner_of.try_emplace(way->links.front(), gpu).first;
      const std::uint32_t sharer = owner->second;
      if (node_[sharer] != node_[gpu] && !route(sharer, gpu)) missing_.add(sharer, gpu, 2);
    }
  }

  std::uint64_t pairs(const AlikeGroup& from, const AlikeGroup& to, bool across) const {
    std::map<std::uint32_t, std::uint64_t> of_node;
    for (const std::uint32_t gpu : from.members) ++of_node[node_[gpu]];
    std::uint64_t inside = 0;
    for (const std::uint32_t gpu : to.members)
      if (const auto found = of_node.find(node_[gpu]); found != of_node.end())
        inside += found->second;
    if (!across) return inside - (&from == &to ? from.members.size() : 0);
    return from.members.size() * to.members.size() - inside;
  }

  std::optional<Route> route(std::uint32_t a, std::uint32_t b) const {
    try {
      return cluster_.route(cluster_.gpus()[a], cluster_.gpus()[b]);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  LinkUse& use_of(const Link* link) {
    const auto [place, is_new] = uses_.try_emplace(link);
    if (is_new) {
      const std::string whole = Cluster::link_name(link);
      place->second.is_duplex = without_direction(whole) != whole;
    }
    return place->second;
  }

  // From a to b, which stand for their groups.
  void look_at(const AlikeGroup& from, const AlikeGroup& to, std::uint32_t a, std::uint32_t b) {
    ++report_.looked_at;
    const auto way = route(a, b);
    const auto stand_for = [&] { return pairs(from, to, node_[a] != node_[b]); };
    if (!way) return missing_.add(a, b, stand_for());
    islands_.join(a, b);
    if (node_[a] != node_[b] && cluster_.gpus()[a]->place != cluster_.gpus()[b]->place) {
      if (cluster_.network()->gap(cluster_.gpus()[a], cluster_.gpus()[b]))
        relayed_.add(a, b, stand_for());
      else
        crosses_rails_ = true;
    }
    if (way->latency <= 0) timeless_.add(a, b, stand_for());
    if (way->links.empty()) return;
    bool may_share_back = false;
    std::unordered_set<const Link*> seen;
    const auto& links = way->links;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const Link* const link = links[i];
      if (way->divides() && i > 0 && link == links[i - 1]) continue;
      LinkUse& use = use_of(link);
      may_share_back = may_share_back || (!use.is_duplex && is_shared(link));
      if (!seen.insert(link).second && is_shared(link))
        twice_.emplace(Cluster::link_name(link), std::pair{a, b});
      if (use.last == turn_ || 2 * i >= links.size()) continue;
      use.last = turn_;
      if (use.gpus == 0) use.gpu = gpu_of(cluster_.gpus()[a]);
      if (i > 0 || !from.has_own_link) use.gpus += from.members.size();
    }
    if (use_of(way->links.front()).is_duplex) leaves_by_.emplace(way->links.front(), a);
    if (use_of(way->links.back()).is_duplex) comes_by_.emplace(way->links.back(), b);
    if (!may_share_back) return;
    const auto back = route(b, a);
    if (!back) return;
    for (const Link* link : back->links)
      if (seen.contains(link) && is_shared(link) && !use_of(link).is_duplex)
        half_duplex_.insert(Cluster::link_name(link));
  }

  void tell_islands() {
    std::map<std::size_t, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < cluster_.gpus().size(); ++i) members[islands_.find(i)].push_back(i);
    if (members.size() < 2) return;
    std::vector<std::vector<std::size_t>> islands;
    for (auto& [root, list] : members) islands.push_back(std::move(list));
    std::sort(islands.begin(), islands.end());
    const std::size_t from = islands[0].front();
    const std::size_t to = islands[1].front();
    tell(from, to,
         fmt::format("{} islands that no route joins: {} GPUs with '{}', {} with '{}'{}",
                     islands.size(), islands[0].size(), name(from), islands[1].size(), name(to),
                     and_more(islands.size() - 1)));
    missing_.count = 0;  // the islands stand for them
  }

  // With the line of the zone that lacks the way.
  void tell(std::size_t from, std::size_t to, std::string what) {
    int line = lines_.line_of_host(name(from));
    const auto& gpus = cluster_.gpus();
    if (const auto gap = cluster_.network()->gap(gpus[from], gpus[to])) {
      line = gap->line;
      what += ": " + gap->what;
    }
    report_.faults.push_back({line, std::move(what)});
  }
  void tell_pairs() {
    const auto text = [&](const FaultyPairs& pairs, std::string_view what) {
      return fmt::format("{} '{}' to '{}'{}", what, name(pairs.from), name(pairs.to),
                         and_more(pairs.count));
    };
    // Where some routes lead from rail to rail, all should.
    if (relayed_.count > 0 && crosses_rails_)
      missing_.add(relayed_.from, relayed_.to, relayed_.count);
    if (missing_.count > 0) tell(missing_.from, missing_.to, text(missing_, "no route leads from"));
    if (timeless_.count > 0)
      report_.faults.push_back({lines_.line_of_host(name(timeless_.from)),
                                text(timeless_, "no latency on the route from")});
    if (!half_duplex_.empty())
      tell_link(*half_duplex_.begin(),
                fmt::format("{} is half duplex: both directions share its bandwidth; a full duplex "
                            "one says sharing_policy=\"SPLITDUPLEX\"",
                            and_more(half_duplex_.size())));
    if (!twice_.empty())
      tell_link(
          twice_.begin()->first,
          fmt::format("{} stands twice on the route from '{}' to '{}'", and_more(twice_.size()),
                      name(twice_.begin()->second.first), name(twice_.begin()->second.second)));
    tell_one_way();
  }
  // Out of a GPU and into it by one direction of a link that has two.
  void tell_one_way() {
    std::map<std::string, std::uint32_t> links;
    for (const auto& [link, gpu] : leaves_by_)
      if (const auto found = comes_by_.find(link); found != comes_by_.end() && found->second == gpu)
        links.emplace(Cluster::link_name(link), gpu);
    if (links.empty()) return;
    const auto& [link, gpu] = *links.begin();
    tell_link(link, fmt::format("{} carries what goes out of GPU '{}' and what comes to it; one of "
                                "them takes the other direction",
                                and_more(links.size()), name(gpu)));
  }
  void tell_link(const std::string& link, const std::string& what) {
    report_.faults.push_back({lines_.line_of_link(link), fmt::format("link '{}'{}", link, what)});
  }

  const Cluster& cluster_;
  const SourceLines& lines_;
  FaultReport& report_;
  Islands islands_;
  std::vector<std::uint32_t> node_;  // of each GPU
  std::map<std::uint32_t, std::vector<std::uint32_t>> nodes_;
  LinkUses uses_;
  std::uint64_t turn_ = 0;  // of groups that routes come from
  FaultyPairs missing_;
  FaultyPairs relayed_;  // over a peer on the rail of the other
  bool crosses_rails_ = false;
  FaultyPairs timeless_;
  std::set<std::string> half_duplex_;
  std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> twice_;  // and from whom to whom
  // Directions of links that are the first of a route, or the last, and of which GPU.
  std::unordered_map<const Link*, std::uint32_t> leaves_by_;
  std::unordered_map<const Link*, std::uint32_t> comes_by_;
};

}  // namespace

LinkUses find_route_faults(const Cluster& cluster, const SourceLines& lines, FaultReport& report) {
  return RouteSearch(cluster, lines, report).run();
}

}  // namespace pipewright::cluster
