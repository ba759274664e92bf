#include "sim/cluster/platform/ways.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

namespace pipewright::cluster {
namespace {

// What of a flow goes over a link is counted in whole parts of it, of which a link has so many that
// all of its flows' are whole. None of a number that is no such fraction.
constexpr std::uint32_t most_parts = 1024;

std::uint32_t denominator_of(double part) {
  for (std::uint32_t parts = 1; parts <= most_parts; ++parts)
    if (std::abs(part * parts - std::round(part * parts)) < 1e-6) return parts;
  return most_parts;
}

// Merged: what comes first is the first link of the way, and what comes last its last.
std::vector<Share> merged(const std::vector<Share>& all) {
  std::unordered_map<Index, std::size_t> last;
  std::unordered_map<Index, double> sum;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == 0 || all[i].link != all.front().link) last[all[i].link] = i;
    sum[all[i].link] += all[i].part;
  }
  std::vector<Share> kept;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (last[all[i].link] == i) kept.push_back({all[i].link, sum[all[i].link]});
  return kept;
}

// What of a flow goes where, from these ports to those.
std::vector<Share> shares(const PlatformRoutes& routes,
                          const std::vector<std::pair<Index, Index>>& pairs,
                          const config::Multipath& by) {
  std::vector<Share> found;
  Hole ignored;
  const auto add = [&](std::size_t pair, double part, std::uint32_t flow) {
    routes.append(pairs[pair].first, pairs[pair].second, part, flow, found, ignored);
  };
  if (by.by == config::MultipathBy::hash) {
    for (std::uint32_t flow = 0; flow < by.flows && !pairs.empty(); ++flow)
      add((by.seed + flow) % pairs.size(), 1.0 / by.flows, flow);
  } else {
    for (std::size_t pair = 0; pair < pairs.size(); ++pair)
      add(pair, 1 / static_cast<double>(pairs.size()), 0);
  }
  return merged(found);
}

}  // namespace

Ways::Ways(const Platform& platform, std::vector<End> ends, const config::Multipath& multipath)
    : platform_(platform),
      multipath_(multipath),
      routes_(platform, multipath),
      ends_(std::move(ends)),
      parts_(platform.links.size(), 1) {
  for (Index i = 0; i < ends_.size(); ++i) {
    if (ends_[i].node == nothing) continue;
    if (ends_[i].node >= nodes_.size()) nodes_.resize(ends_[i].node + std::size_t{1});
    std::vector<Index>& members = nodes_[ends_[i].node];
    if (ends_[i].place >= members.size()) members.resize(ends_[i].place + std::size_t{1});
    members[ends_[i].place] = i;
  }
  divide_ = std::ranges::any_of(platform_.zones,
                                [](const Platform::Zone& one) {
                                  return one.routing == Platform::Routing::graph ||
                                         one.routing == Platform::Routing::torus;
                                }) ||
            std::ranges::any_of(ends_, [](const End& end) { return end.nics.size() > 1; });
  have_relays_ = need_relays();
  count_parts();
}

void Ways::set_multipath(const config::Multipath& now) {
  multipath_ = now;
  routes_ = PlatformRoutes(platform_, now);
  forget();
}

void Ways::forget() {
  routes_.forget();
  known_.clear();
  count_parts();
}

// From which port to which: where both have as many, they go by their places, as rails and planes
// are wired.
Ways::Ports Ways::ports(const End& from, const End& to) {
  const bool across = from.node != to.node;
  const std::vector<Index>& out = from.ports(across);
  const std::vector<Index>& in = to.ports(across);
  Ports pairs;
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::size_t j = 0; j < in.size(); ++j)
      if (i == j || out.size() != in.size()) pairs.emplace_back(out[i], in[j]);
  return pairs;
}

bool Ways::works(const std::vector<Share>& shares) const {
  return std::ranges::none_of(
      shares, [&](const Share& share) { return platform_.links[share.link].failed; });
}

// The pairs of ports that are joined by links that work; if there are none, by any.
Ways::Ports Ways::joined(const End& from, const End& to) const {
  Ports whole;
  Ports broken;
  Ports all = ports(from, to);
  if (all.size() == 1) return all;
  for (const auto& [out, in] : all) {
    std::vector<Share> shares;
    Hole ignored;
    if (routes_.append(out, in, 1, 0, shares, ignored))
      (works(shares) ? whole : broken).emplace_back(out, in);
  }
  return whole.empty() ? broken : whole;
}

// Appends the links of the first of the ways. False if there is none.
bool Ways::append_one(const End& from, const End& to, std::vector<Index>& found) const {
  const Ports pairs = joined(from, to);
  Hole ignored;
  return !pairs.empty() &&
         routes_.append_one(pairs.front().first, pairs.front().second, found, ignored);
}

// The one of a's node in b's place: the one on its rail, where nothing joins rails.
const End* Ways::peer_on_rail(const End& a, const End& b) const {
  if (a.node == nothing || b.node == nothing || a.node == b.node) return nullptr;
  const std::vector<Index>& own = nodes_[a.node];
  return b.place >= own.size() ? nullptr : &ends_[own[b.place]];
}

std::vector<Ways::Leg> Ways::legs(const End& from, const End& to) const {
  std::vector<Index> found;
  const End* const peer = have_relays_ ? peer_on_rail(from, to) : nullptr;
  if (peer == nullptr || append_one(from, to, found)) return {{&from, &to}};
  return {{&from, peer}, {peer, &to}};
}

bool Ways::need_relays() const {
  if (nodes_.size() < 2) return false;
  std::vector<Index> found;
  for (const Index from : nodes_.front())
    for (const Index to : nodes_.back())
      if (!append_one(ends_[from], ends_[to], found)) return true;
  return false;
}

const Ways::Way* Ways::find(Index source, Index destination) const {
  const End& from = ends_[source];
  const End& to = ends_[destination];
  if (!divide_ && !have_relays_) {
    one_.links.clear();
    Hole ignored;
    const bool across = from.node != to.node;
    return routes_.append_one(from.ports(across).front(), to.ports(across).front(), one_.links,
                              ignored)
               ? &one_
               : nullptr;
  }
  const auto [place, is_new] = known_.try_emplace(Platform::key(source, destination));
  Way& way = place->second;
  if (!is_new) return way.links.empty() && way.one.empty() ? nullptr : &way;
  std::vector<Index> one;
  for (const auto& [begin, end] : legs(from, to)) {
    const std::vector<Share> found = shares(routes_, joined(*begin, *end), multipath_);
    for (const Share& share : found) {
      const double count = share.part * parts_[share.link];
      way.links.insert(way.links.end(), std::max<std::size_t>(std::llround(count), 1), share.link);
    }
    if (found.empty() || !append_one(*begin, *end, one)) {
      way.links.clear();
      return nullptr;
    }
  }
  if (one != way.links) way.one = std::move(one);
  return &way;
}

std::optional<Hole> Ways::hole(Index from, Index to) const {
  Hole hole;
  for (const auto& [out, in] : ports(ends_[from], ends_[to])) {
    std::vector<Index> ignored;
    if (routes_.append_one(out, in, ignored, hole)) return std::nullopt;
  }
  return hole;
}

// Looks at GPUs that stand for others, and at pairs of them that are drawn where there are many;
// links on no such way are as the others of their class.
void Ways::count_parts() {
  if (!divide_) return;
  std::vector<std::uint32_t> seen(parts_.size(), 0);
  constexpr config::Multipath spread;
  const PlatformRoutes evenly(platform_, spread);
  for (const auto& [from, to] : drawn_pairs())
    for (const auto& [begin, end] : legs(ends_[from], ends_[to]))
      for (const Share& share : shares(evenly, joined(*begin, *end), spread)) {
        std::uint32_t& known = seen[share.link];
        const std::uint32_t both = std::lcm(std::max(known, 1U), denominator_of(share.part));
        known = both <= most_parts ? both : std::max(known, denominator_of(share.part));
      }
  std::map<std::string, std::uint32_t> of_class;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    std::uint32_t& most = of_class[platform_.links[i].link_class];
    most = std::max(most, seen[i]);
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::uint32_t count = seen[i] > 0 ? seen[i] : of_class[platform_.links[i].link_class];
    parts_[i] = std::max(count, 1U);
    if (multipath_.by == config::MultipathBy::hash) parts_[i] = count > 1 ? multipath_.flows : 1;
  }
}

std::vector<std::pair<Index, Index>> Ways::drawn_pairs() const {
  // The first and the last of a <cluster>, which are of unlike nodes, or one by itself.
  std::map<std::pair<bool, Index>, std::pair<Index, Index>> groups;
  for (Index i = 0; i < ends_.size(); ++i) {
    const Index vertex = ends_[i].ports(true).front();
    const Index zone = platform_.vertices[vertex].zone;
    const bool star = platform_.zones[zone].routing == Platform::Routing::star;
    groups.try_emplace({star, star ? zone : vertex}, i, i).first->second.second = i;
  }
  std::vector<Index> ends;
  for (const auto& [who, of_group] : groups) {
    ends.push_back(of_group.first);
    if (of_group.second != of_group.first) ends.push_back(of_group.second);
  }
  constexpr std::size_t most_pairs = 40'000;
  const std::size_t each = std::max<std::size_t>(most_pairs / ends.size(), 1);
  std::minstd_rand random;
  std::vector<std::pair<Index, Index>> pairs;
  for (std::size_t i = 0; i < ends.size(); ++i)
    for (std::size_t j = 1; j <= std::min(each, ends.size() - 1); ++j)
      pairs.emplace_back(
          ends[i], ends[(i + (ends.size() - 1 <= each ? j : 1 + random() % (ends.size() - 1))) %
                        ends.size()]);
  return pairs;
}

}  // namespace pipewright::cluster
