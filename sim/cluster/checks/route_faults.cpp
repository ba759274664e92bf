#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "sim/cluster/checks/faults.hpp"
#include "sim/cluster/checks/gpu_groups.hpp"
#include "sim/cluster/network.hpp"
#include "sim/cluster/platform/names.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::uint64_t max_checked_routes = 500'000;

// Sets of GPUs that reach each other, directly or through others, as a union-find structure.
class Islands {
 public:
  explicit Islands(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void connect(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

// Pairs of GPUs with a fault: the first pair, and the number of pairs.
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
    std::vector<std::uint32_t> every_gpu(count);
    std::iota(every_gpu.begin(), every_gpu.end(), 0U);
    for (const std::uint32_t gpu : every_gpu) {
      node_.push_back(cluster_.node_of(gpus[gpu]));
      nodes_[node_[gpu]].push_back(gpu);
    }
    for (const auto& [number, members] : nodes_)
      examine_inside(group_gpus(cluster_, gpus, members, false));
    examine_across(group_gpus(cluster_, gpus, every_gpu, true));
    report_islands();
    report_pairs();
    return std::move(uses_);
  }

 private:
  std::string name(std::size_t gpu) const { return name_of(cluster_.gpus()[gpu]); }

  void examine_inside(const std::vector<GpuGroup>& groups) {
    for (const GpuGroup& from : groups) {
      ++round_;
      const std::uint32_t first = from.members[0];
      if (from.members.size() > 1) examine_own_links(from, first, from.members[1]);
      for (const GpuGroup& to : groups) {
        const bool is_same_group = &from == &to;
        if (!is_same_group || from.members.size() > 1)
          examine_route(from, to, first, to.members[is_same_group ? 1 : 0]);
      }
    }
  }

  // Examines routes between all pairs of groups, or between each group and a random sample.
  void examine_across(const std::vector<GpuGroup>& groups) {
    const std::uint64_t count = groups.size();
    report_.is_sampled = count * count > max_checked_routes;
    std::mt19937_64 random;  // reproducible sequence
    for (std::uint64_t a = 0; a < count; ++a) {
      ++round_;
      bool is_first = true;
      const auto examine = [&](std::uint64_t b) {
        is_first = !examine_across(groups[a], groups[b], is_first) && is_first;
      };
      if (!report_.is_sampled) {
        for (std::uint64_t b = 0; b < count; ++b) examine(b);
        continue;
      }
      std::set<std::uint64_t> sampled{(a + 1) % count};
      while (sampled.size() < std::max<std::uint64_t>(max_checked_routes / count, 1))
        sampled.insert(random() % count);
      for (const std::uint64_t b : sampled) examine(b);
    }
  }
  // Examines a pair of GPUs in different nodes, if there is one.
  bool examine_across(const GpuGroup& from, const GpuGroup& to, bool is_first) {
    for (const std::uint32_t a : {from.members.front(), from.members.back()})
      for (const std::uint32_t b : {to.members.front(), to.members.back()}) {
        if (node_[a] == node_[b]) continue;
        if (is_first && from.members.size() > 1) examine_own_links(from, a, b);
        examine_route(from, to, a, b);
        return true;
      }
    return false;
  }

  // Counts the members of a group as users of their own links, each on a route to gpu_a or gpu_b,
  // and puts all members into one island.
  void examine_own_links(const GpuGroup& group, std::uint32_t gpu_a, std::uint32_t gpu_b) {
    const bool across = node_[gpu_a] != node_[gpu_b];
    std::unordered_map<const Link*, std::uint32_t> owner_of;
    for (const std::uint32_t gpu : group.members) {
      islands_.connect(gpu, group.members[0]);
      if (!group.has_own_link) continue;
      const bool is_far = across ? node_[gpu] != node_[gpu_b] : gpu != gpu_b;
      const auto path = route(gpu, is_far ? gpu_b : gpu_a);
      if (!path || path->links.empty()) continue;
      LinkUse& use = use_of(path->links.front());
      use.gpu = gpu_of(cluster_.gpus()[gpu]);
      ++use.gpus;
      const auto owner = owner_of.try_emplace(path->links.front(), gpu).first;
      const std::uint32_t sharer = owner->second;
      if (node_[sharer] != node_[gpu] && !route(sharer, gpu)) missing_.add(sharer, gpu, 2);
    }
  }

  std::uint64_t pairs(const GpuGroup& from, const GpuGroup& to, bool across) const {
    std::map<std::uint32_t, std::uint64_t> count_by_node;
    for (const std::uint32_t gpu : from.members) ++count_by_node[node_[gpu]];
    std::uint64_t inside = 0;
    for (const std::uint32_t gpu : to.members)
      if (const auto it = count_by_node.find(node_[gpu]); it != count_by_node.end())
        inside += it->second;
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
    const auto [entry, is_new] = uses_.try_emplace(link);
    if (is_new) {
      const std::string full_name = Cluster::link_name(link);
      entry->second.is_duplex = without_direction(full_name) != full_name;
    }
    return entry->second;
  }

  // Examines the route from a to b, which stands for the routes between all members of the two
  // groups.
  void examine_route(const GpuGroup& from, const GpuGroup& to, std::uint32_t a, std::uint32_t b) {
    ++report_.examined;
    const auto path = route(a, b);
    const auto represented_pairs = [&] { return pairs(from, to, node_[a] != node_[b]); };
    if (!path) return missing_.add(a, b, represented_pairs());
    islands_.connect(a, b);
    if (node_[a] != node_[b] &&
        cluster_.gpus()[a]->local_index != cluster_.gpus()[b]->local_index) {
      if (cluster_.network()->explain_missing(cluster_.gpus()[a], cluster_.gpus()[b]))
        relayed_.add(a, b, represented_pairs());
      else
        crosses_rails_ = true;
    }
    if (path->latency <= 0) without_latency_.add(a, b, represented_pairs());
    if (path->links.empty()) return;
    bool may_share_back = false;
    std::unordered_set<const Link*> seen;
    const auto& links = path->links;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const Link* const link = links[i];
      if (path->divides() && i > 0 && link == links[i - 1]) continue;
      LinkUse& use = use_of(link);
      may_share_back = may_share_back || (!use.is_duplex && is_shared(link));
      if (!seen.insert(link).second && is_shared(link))
        repeated_links_.emplace(Cluster::link_name(link), std::pair{a, b});
      if (use.last_round == round_ || 2 * i >= links.size()) continue;
      use.last_round = round_;
      if (use.gpus == 0) use.gpu = gpu_of(cluster_.gpus()[a]);
      if (i > 0 || !from.has_own_link) use.gpus += from.members.size();
    }
    if (use_of(path->links.front()).is_duplex) first_link_.emplace(path->links.front(), a);
    if (use_of(path->links.back()).is_duplex) last_link_.emplace(path->links.back(), b);
    if (!may_share_back) return;
    const auto back = route(b, a);
    if (!back) return;
    for (const Link* link : back->links)
      if (seen.contains(link) && is_shared(link) && !use_of(link).is_duplex)
        half_duplex_.insert(Cluster::link_name(link));
  }

  void report_islands() {
    std::map<std::size_t, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < cluster_.gpus().size(); ++i) members[islands_.find(i)].push_back(i);
    if (members.size() < 2) return;
    std::vector<std::vector<std::size_t>> islands;
    for (auto& [root, list] : members) islands.push_back(std::move(list));
    std::sort(islands.begin(), islands.end());
    const std::size_t from = islands[0].front();
    const std::size_t to = islands[1].front();
    report_missing(
        from, to,
        fmt::format(
            "{} groups of GPUs without a route between them: {} GPUs with '{}', {} with '{}'{}",
            islands.size(), islands[0].size(), name(from), islands[1].size(), name(to),
            and_more(islands.size() - 1)));
    missing_.count = 0;  // covered by the report on islands
  }

  // Reports a missing route with the line of the zone that lacks it.
  void report_missing(std::size_t from, std::size_t to, std::string message) {
    int line = lines_.line_of_host(name(from));
    const auto& gpus = cluster_.gpus();
    if (const auto missing_route = cluster_.network()->explain_missing(gpus[from], gpus[to])) {
      line = missing_route->line;
      message += ": " + missing_route->message;
    }
    report_.faults.push_back({line, std::move(message)});
  }
  void report_pairs() {
    const auto text = [&](const FaultyPairs& pairs, std::string_view message) {
      return fmt::format("{} '{}' to '{}'{}", message, name(pairs.from), name(pairs.to),
                         and_more(pairs.count));
    };
    // A route through a relaying GPU counts as missing if other routes cross rails directly.
    if (relayed_.count > 0 && crosses_rails_)
      missing_.add(relayed_.from, relayed_.to, relayed_.count);
    if (missing_.count > 0)
      report_missing(missing_.from, missing_.to, text(missing_, "no route leads from"));
    if (without_latency_.count > 0)
      report_.faults.push_back({lines_.line_of_host(name(without_latency_.from)),
                                text(without_latency_, "no latency on the route from")});
    if (!half_duplex_.empty())
      report_link(*half_duplex_.begin(),
                  fmt::format("{} is half duplex, so both directions share its bandwidth; use "
                              "sharing_policy=\"SPLITDUPLEX\" for a full-duplex link",
                              and_more(half_duplex_.size())));
    if (!repeated_links_.empty())
      report_link(
          repeated_links_.begin()->first,
          fmt::format("{} appears twice on the route from '{}' to '{}'",
                      and_more(repeated_links_.size()), name(repeated_links_.begin()->second.first),
                      name(repeated_links_.begin()->second.second)));
    report_shared_directions();
  }
  // Reports GPUs whose outgoing and incoming routes use the same direction of a duplex link.
  void report_shared_directions() {
    std::map<std::string, std::uint32_t> links;
    for (const auto& [link, gpu] : first_link_)
      if (const auto it = last_link_.find(link); it != last_link_.end() && it->second == gpu)
        links.emplace(Cluster::link_name(link), gpu);
    if (links.empty()) return;
    const auto& [link, gpu] = *links.begin();
    report_link(link, fmt::format("{} carries both outgoing and incoming traffic of GPU '{}' in "
                                  "one direction; use the opposite direction for one of them",
                                  and_more(links.size()), name(gpu)));
  }
  void report_link(const std::string& link, const std::string& message) {
    report_.faults.push_back(
        {lines_.line_of_link(link), fmt::format("link '{}'{}", link, message)});
  }

  const Cluster& cluster_;
  const SourceLines& lines_;
  FaultReport& report_;
  Islands islands_;
  std::vector<std::uint32_t> node_;  // by GPU
  std::map<std::uint32_t, std::vector<std::uint32_t>> nodes_;
  LinkUses uses_;
  std::uint64_t round_ = 0;  // counts source groups
  FaultyPairs missing_;
  FaultyPairs relayed_;  // relayed by a peer on the destination's rail
  bool crosses_rails_ = false;
  FaultyPairs without_latency_;
  std::set<std::string> half_duplex_;
  std::map<std::string, std::pair<std::uint32_t, std::uint32_t>>
      repeated_links_;  // and the pair of GPUs
  // By duplex link: the first GPU found whose routes start with it, and the first whose routes end
  // with it.
  std::unordered_map<const Link*, std::uint32_t> first_link_;
  std::unordered_map<const Link*, std::uint32_t> last_link_;
};

}  // namespace

LinkUses find_route_faults(const Cluster& cluster, const SourceLines& lines, FaultReport& report) {
  return RouteSearch(cluster, lines, report).run();
}

}  // namespace pipewright::cluster
