#include "sim/cluster/platform/flow_routes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

namespace pipewright::cluster {
namespace {

// Upper limit for the number of equal parts into which flows are divided on a link. The number of
// parts is chosen so that every flow crosses the link with a whole number of parts.
constexpr std::uint32_t max_parts = 1024;

// Number of equal parts of which a share of a flow is a multiple. Shares by the rates of slow links
// may be fractions of large numbers, which are rounded: a flow with hundreds of parts takes long to
// simulate. The tolerance is below 1 / max_parts, so that no fraction 1 / n is rounded.
std::uint32_t denominator_of(double part) {
  constexpr double tolerance = 5e-4;
  for (std::uint32_t parts = 1; parts <= max_parts; ++parts) {
    const double count = std::round(part * parts);
    if (std::abs(part * parts - count) < std::max(1e-6, tolerance * count)) return parts;
  }
  return max_parts;
}

// Merges the shares of the same link. The first link of the path stays first, and the last one
// stays last.
std::vector<Share> merge_shares(const std::vector<Share>& shares) {
  std::unordered_map<Index, std::size_t> last;
  std::unordered_map<Index, double> sum;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (i == 0 || shares[i].link != shares.front().link) last[shares[i].link] = i;
    sum[shares[i].link] += shares[i].part;
  }
  std::vector<Share> merged;
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (last[shares[i].link] == i) merged.push_back({shares[i].link, sum[shares[i].link]});
  return merged;
}

}  // namespace

FlowRoutes::FlowRoutes(const Platform& platform, std::vector<Endpoint> ends,
                       const config::Multipath& multipath, Condition condition)
    : platform_(platform),
      multipath_(multipath),
      condition_(condition),
      routes_(platform, multipath, condition),
      routes_as_built_(platform, multipath, Condition::as_built),
      ends_(std::move(ends)),
      parts_(platform.links.size(), 1) {
  for (Index i = 0; i < ends_.size(); ++i) {
    if (ends_[i].node == nothing) continue;
    if (ends_[i].node >= nodes_.size()) nodes_.resize(ends_[i].node + std::size_t{1});
    std::vector<Index>& members = nodes_[ends_[i].node];
    if (ends_[i].local_index >= members.size())
      members.resize(ends_[i].local_index + std::size_t{1});
    members[ends_[i].local_index] = i;
  }
  has_divided_routes_ =
      std::ranges::any_of(platform_.zones,
                          [](const Platform::Zone& zone) {
                            return zone.routing == Platform::Routing::graph ||
                                   zone.routing == Platform::Routing::torus;
                          }) ||
      std::ranges::any_of(ends_, [](const Endpoint& end) { return end.nics.size() > 1; });
  has_relays_ = needs_relays();
  count_parts();
}

void FlowRoutes::set_multipath(const config::Multipath& multipath) {
  multipath_ = multipath;
  routes_ = PlatformRoutes(platform_, multipath, condition_);
  routes_as_built_ = PlatformRoutes(platform_, multipath, Condition::as_built);
  invalidate();
}

void FlowRoutes::invalidate() {
  routes_.update_faults();
  paths_.clear();
  count_parts();
}

// Pairs of ports between two ends. If both ends have the same number of ports, port i connects to
// port i, as rails and planes are wired; otherwise every port connects to every port.
FlowRoutes::Ports FlowRoutes::ports(const Endpoint& from, const Endpoint& to) {
  const bool across = from.node != to.node;
  const std::vector<Index>& out = from.ports(across);
  const std::vector<Index>& in = to.ports(across);
  Ports pairs;
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::size_t j = 0; j < in.size(); ++j)
      if (i == j || out.size() != in.size()) pairs.emplace_back(out[i], in[j]);
  return pairs;
}

bool FlowRoutes::all_links_work(const std::vector<Share>& shares) const {
  return condition_ == Condition::as_built || std::ranges::none_of(shares, [&](const Share& share) {
           return platform_.links[share.link].failed;
         });
}

// Share of a flow between two ports that each link carries.
std::vector<Share> FlowRoutes::links_of(const std::pair<Index, Index>& ports,
                                        const PlatformRoutes& routes) const {
  std::vector<Share> shares;
  MissingHop ignored;
  routes.append(ports.first, ports.second, 1, 0, shares, ignored);
  return merge_shares(shares);
}

// Fraction of a flow that adaptive routing puts on each pair of ports. Ports have the same rate as
// built. A pair with faults gets what its links can carry of that rate: a link with half of its
// rate left carries all of it if the flow loads the link half as much as it did as built.
std::vector<double> FlowRoutes::port_weights(const Ports& pairs) const {
  std::vector<double> weights(pairs.size(), 1);
  if (multipath_.by == config::MultipathBy::adaptive && routes_.has_faults() && pairs.size() > 1)
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      std::unordered_map<Index, double> share_as_built;
      for (const Share& share : links_of(pairs[i], routes_as_built_))
        share_as_built[share.link] = share.part;
      for (const Share& share : links_of(pairs[i], routes_)) {
        const auto built = share_as_built.find(share.link);
        const double growth = built == share_as_built.end() ? 1 : share.part / built->second;
        weights[i] = std::min(weights[i], rate_left(platform_.links[share.link]) / growth);
      }
    }
  const double sum = std::reduce(weights.begin(), weights.end());
  if (!(sum > 0)) return std::vector<double>(pairs.size(), 1 / static_cast<double>(pairs.size()));
  for (double& weight : weights) weight /= sum;
  return weights;
}

// Returns the share of a flow that each link carries if the flow uses these pairs of ports.
std::vector<Share> FlowRoutes::flow_shares(const Ports& pairs, const PlatformRoutes& routes) const {
  std::vector<Share> collected;
  MissingHop ignored;
  const auto add = [&](std::size_t pair, double part, std::uint32_t flow) {
    routes.append(pairs[pair].first, pairs[pair].second, part, flow, collected, ignored);
  };
  if (routes.multipath().by == config::MultipathBy::hash) {
    const config::Multipath& multipath = routes.multipath();
    for (std::uint32_t flow = 0; flow < multipath.flows && !pairs.empty(); ++flow)
      add((multipath.seed + flow) % pairs.size(), 1.0 / multipath.flows, flow);
  } else {
    const std::vector<double> weights = port_weights(pairs);
    for (std::size_t pair = 0; pair < pairs.size(); ++pair) add(pair, weights[pair], 0);
  }
  return merge_shares(collected);
}

// Pairs of ports that are connected by working links. If there are none, pairs that are connected
// at all.
FlowRoutes::Ports FlowRoutes::connected_ports(const Endpoint& from, const Endpoint& to) const {
  Ports working;
  Ports broken;
  Ports candidates = ports(from, to);
  if (candidates.size() == 1) return candidates;
  for (const auto& [out, in] : candidates) {
    std::vector<Share> shares;
    MissingHop ignored;
    if (routes_.append(out, in, 1, 0, shares, ignored))
      (all_links_work(shares) ? working : broken).emplace_back(out, in);
  }
  return working.empty() ? broken : working;
}

// Appends the links of the first path between two ends. Returns false if there is no route.
bool FlowRoutes::append_first(const Endpoint& from, const Endpoint& to,
                              std::vector<Index>& links) const {
  const Ports pairs = connected_ports(from, to);
  MissingHop ignored;
  return !pairs.empty() &&
         routes_.append_first(pairs.front().first, pairs.front().second, links, ignored);
}

// GPU of a's node with the same index as b: the GPU on b's rail, where rails are not connected.
const Endpoint* FlowRoutes::peer_on_rail(const Endpoint& a, const Endpoint& b) const {
  if (a.node == nothing || b.node == nothing || a.node == b.node) return nullptr;
  const std::vector<Index>& members = nodes_[a.node];
  return b.local_index >= members.size() ? nullptr : &ends_[members[b.local_index]];
}

std::vector<FlowRoutes::Leg> FlowRoutes::legs(const Endpoint& from, const Endpoint& to) const {
  std::vector<Index> ignored;
  const Endpoint* const peer = has_relays_ ? peer_on_rail(from, to) : nullptr;
  if (peer == nullptr || append_first(from, to, ignored)) return {{&from, &to}};
  return {{&from, peer}, {peer, &to}};
}

bool FlowRoutes::needs_relays() const {
  if (nodes_.size() < 2) return false;
  std::vector<Index> ignored;
  for (const Index from : nodes_.front())
    for (const Index to : nodes_.back())
      if (!append_first(ends_[from], ends_[to], ignored)) return true;
  return false;
}

const FlowRoutes::Path* FlowRoutes::find(Index source, Index destination) const {
  const Endpoint& from = ends_[source];
  const Endpoint& to = ends_[destination];
  if (!has_divided_routes_ && !has_relays_) {
    last_path_.links.clear();
    MissingHop ignored;
    const bool across = from.node != to.node;
    return routes_.append_first(from.ports(across).front(), to.ports(across).front(),
                                last_path_.links, ignored)
               ? &last_path_
               : nullptr;
  }
  const auto [entry, is_new] = paths_.try_emplace(Platform::key(source, destination));
  Path& path = entry->second;
  if (!is_new) return path.links.empty() && path.single_path.empty() ? nullptr : &path;
  std::vector<Index> single_path;
  for (const auto& [begin, end] : legs(from, to)) {
    const std::vector<Share> link_shares = flow_shares(connected_ports(*begin, *end), routes_);
    for (const Share& share : link_shares) {
      const double count = share.part * parts_[share.link];
      path.links.insert(path.links.end(), std::max<std::size_t>(std::llround(count), 1),
                        share.link);
    }
    if (link_shares.empty() || !append_first(*begin, *end, single_path)) {
      path.links.clear();
      return nullptr;
    }
  }
  if (single_path != path.links) path.single_path = std::move(single_path);
  return &path;
}

std::optional<MissingHop> FlowRoutes::missing_hop(Index from, Index to) const {
  MissingHop missing_hop;
  for (const auto& [out, in] : ports(ends_[from], ends_[to])) {
    std::vector<Index> ignored;
    if (routes_.append_first(out, in, ignored, missing_hop)) return std::nullopt;
  }
  return missing_hop;
}

// Sets the number of parts of every link from a sample of GPU pairs, which is drawn at random if
// there are many. A link on no sampled route gets the largest number of its class.
void FlowRoutes::count_parts() {
  if (!has_divided_routes_) return;
  std::vector<std::uint32_t> seen(parts_.size(), 0);
  // Flows that take a single path by hash have parts where they could be divided.
  const bool divides = multipath_.by == config::MultipathBy::adaptive;
  const PlatformRoutes divided(
      platform_, divides ? multipath_ : config::Multipath{.by = config::MultipathBy::spread},
      condition_);
  for (const auto& [from, to] : sample_pairs())
    for (const auto& [begin, end] : legs(ends_[from], ends_[to]))
      for (const Share& share : flow_shares(connected_ports(*begin, *end), divided)) {
        std::uint32_t& count = seen[share.link];
        const std::uint32_t common = std::lcm(std::max(count, 1U), denominator_of(share.part));
        count = common <= max_parts ? common : std::max(count, denominator_of(share.part));
      }
  std::map<std::string, std::uint32_t> of_class;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    std::uint32_t& class_parts = of_class[platform_.links[i].link_class];
    class_parts = std::max(class_parts, seen[i]);
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::uint32_t count = seen[i] > 0 ? seen[i] : of_class[platform_.links[i].link_class];
    parts_[i] = std::max(count, 1U);
    if (multipath_.by == config::MultipathBy::hash) parts_[i] = count > 1 ? multipath_.flows : 1;
  }
}

std::vector<std::pair<Index, Index>> FlowRoutes::sample_pairs() const {
  // A <cluster> is represented by its first and last host, which belong to different nodes; a host
  // outside of a <cluster> represents itself.
  std::map<std::pair<bool, Index>, std::pair<Index, Index>> groups;
  for (Index i = 0; i < ends_.size(); ++i) {
    const Index vertex = ends_[i].ports(true).front();
    const Index zone = platform_.vertices[vertex].zone;
    const bool star = platform_.zones[zone].routing == Platform::Routing::star;
    groups.try_emplace({star, star ? zone : vertex}, i, i).first->second.second = i;
  }
  std::vector<Index> ends;
  for (const auto& [key, range] : groups) {
    ends.push_back(range.first);
    if (range.second != range.first) ends.push_back(range.second);
  }
  constexpr std::size_t max_pairs = 40'000;
  const std::size_t pairs_per_end = std::max<std::size_t>(max_pairs / ends.size(), 1);
  std::minstd_rand random;
  std::vector<std::pair<Index, Index>> pairs;
  for (std::size_t i = 0; i < ends.size(); ++i)
    for (std::size_t j = 1; j <= std::min(pairs_per_end, ends.size() - 1); ++j)
      pairs.emplace_back(
          ends[i],
          ends[(i + (ends.size() - 1 <= pairs_per_end ? j : 1 + random() % (ends.size() - 1))) %
               ends.size()]);
  return pairs;
}

}  // namespace pipewright::cluster
