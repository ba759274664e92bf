#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/cluster/network.hpp"
#include "sim/cluster/platform/links_at.hpp"
#include "sim/cluster/platform/platform_routes.hpp"
#include "sim/cluster/platform/roles.hpp"

namespace pipewright::cluster {
namespace {

const std::string* find_property(const Platform& platform, const Platform::Host& host,
                                 std::string_view name) {
  for (const auto& [key, value] : platform.properties[host.properties])
    if (key == name) return &value;
  return nullptr;
}

Roles roles_of(const PlatformFile& file, const Platform& platform) {
  std::vector<Member> members;
  for (const Platform::Host& host : platform.hosts)
    members.push_back({.name = &platform.vertices[host.vertex].name,
                       .zone = platform.vertices[host.vertex].zone,
                       .gpu = find_property(platform, host, "gpu"),
                       .node = find_property(platform, host, "node"),
                       .nics = find_property(platform, host, "nic"),
                       .latency = find_property(platform, host, "latency")});
  try {
    return assign_roles(members);
  } catch (const MemberFault& fault) {
    file.fail(platform.hosts[fault.member].offset,
              fmt::format("host '{}': {}", *members[fault.member].name, fault.what));
  }
}

// What of a flow goes over a link is counted in whole parts of it, of which a link has so many that
// all of its flows' are whole. None of a number that is no such fraction.
constexpr std::uint32_t most_parts = 1024;

std::uint32_t denominator_of(double part) {
  for (std::uint32_t parts = 1; parts <= most_parts; ++parts)
    if (std::abs(part * parts - std::round(part * parts)) < 1e-6) return parts;
  return most_parts;
}

class PlatformNetwork final : public Network {
 public:
  PlatformNetwork(const PlatformFile& file, Platform platform, const config::Multipath& now)
      : platform_(std::move(platform)), routes_(platform_, now) {
    multipath = now;
    auto* zone = new FlowZone(platform_.zones.front().name,
                              [this](auto source, auto destination, auto& found) {
                                if (const Way* const way = find(ends_[source], ends_[destination]))
                                  for (const Index link : way->links) found.push_back(links_[link]);
                              });
    for (const Platform::Zone& one : platform_.zones) lines_.push_back(file.line_of(one.offset));
    is_gateway_.resize(platform_.vertices.size());
    for (const Platform::Zone& one : platform_.zones)
      for (const auto& [key, route] : one.routes)
        for (const Index gateway : {route.source_gateway, route.destination_gateway})
          if (gateway != nothing) is_gateway_[gateway] = true;
    make_top(engine(), *zone);
    add_links(*zone);
    add_hosts(*zone, roles_of(file, platform_));
    zone->seal();
    const auto divides = [](const Platform::Zone& one) {
      return one.routing == Platform::Routing::graph || one.routing == Platform::Routing::torus;
    };
    has_divided_ways_ =
        std::ranges::any_of(platform_.zones, divides) ||
        std::ranges::any_of(ends_, [](const End& end) { return end.nics.size() > 1; });
    has_relays_ = needs_relays();
    divide();
  }

  bool find(const Host* source, const Host* destination, Route& route) const override {
    route.source = const_cast<Host*>(source);
    route.destination = const_cast<Host*>(destination);
    const End& from = end_of(source);
    const End& to = end_of(destination);
    if (from.node != to.node) route.latency = from.nic_latency + to.nic_latency;
    const Way* const way = find(from, to);
    if (way == nullptr) return false;
    for (const Index link : way->links) route.links.push_back(links_[link]);
    for (const Index link : way->one) route.one_way.push_back(links_[link]);
    return true;
  }

  // The hosts of a <cluster> around a switch differ in their own link alone, unless routes of other
  // hosts lead through them, or ways depend on who goes them.
  Alike alike(const Host* gpu, bool across) const override {
    const End& end = end_of(gpu);
    const Index vertex = end.ports(across).front();
    const Index zone = platform_.vertices[vertex].zone;
    if (platform_.zones[zone].routing == Platform::Routing::star && !is_gateway_[vertex] &&
        (!across || !has_relays_) && end.ports(across).size() == 1 && !has_failed_links &&
        (!has_divided_ways_ || multipath.by != config::MultipathBy::hash))
      return {platform_.vertices.size() + zone, true};
    return {vertex, false};
  }

  std::optional<Gap> gap(const Host* source, const Host* destination) const override {
    Hole hole;
    for (const auto& [from, to] : ports(end_of(source), end_of(destination))) {
      std::vector<Index> ignored;
      if (routes_.append_one(from, to, ignored, hole)) return std::nullopt;
    }
    const Platform::Zone& zone = platform_.zones[hole.zone];
    const auto name = [&](Index vertex) { return platform_.vertices[vertex].name; };
    const bool of_zones = platform_.vertices[hole.source].is_zone != nothing ||
                          platform_.vertices[hole.destination].is_zone != nothing;
    return Gap{
        lines_[hole.zone],
        fmt::format("zone '{}'{} has no <{}> from '{}' to '{}'", zone.name,
                    zone.routing == Platform::Routing::none ? ", of routing None," : "",
                    of_zones ? "zoneRoute" : "route", name(hole.source), name(hole.destination))};
  }

  void fail(const std::vector<const Link*>& which, bool failed) override {
    Network::fail(which, failed);
    for (const Link* link : which) platform_.links[number_of_.at(link)].failed = failed;
    routes_.forget();
    ways_.clear();
    divide();
  }

  void set_multipath(const config::Multipath& now) override {
    multipath = now;
    routes_ = PlatformRoutes(platform_, now);
    ways_.clear();
    divide();
  }
  bool has_divided_ways() const override { return has_divided_ways_; }

  // The vertices that are no hosts, and have links.
  std::vector<std::string> switches() const override {
    std::vector<std::string> names;
    for (Index i = 0; i < platform_.vertices.size(); ++i) {
      const Platform::Vertex& vertex = platform_.vertices[i];
      if (vertex.is_host == nothing && vertex.is_zone == nothing &&
          !cluster::links_at(platform_, i).empty())
        names.push_back(vertex.name);
    }
    return names;
  }

  std::vector<const Link*> links_at(const std::string& name) const override {
    std::vector<const Link*> found;
    const auto vertex = std::ranges::find(platform_.vertices, name, &Platform::Vertex::name);
    if (vertex == platform_.vertices.end()) return found;
    for (const Index link :
         cluster::links_at(platform_, static_cast<Index>(vertex - platform_.vertices.begin())))
      found.push_back(links_[link]);
    return found;
  }

 private:
  // Where a host's flows begin and end.
  struct End {
    std::vector<Index> self;  // its vertex
    Index node = nothing;
    std::vector<Index> nics;  // the vertices of the ports to other nodes
    double nic_latency = 0;
    Index place = 0;  // in its node

    const std::vector<Index>& ports(bool across) const {
      return across && !nics.empty() ? nics : self;
    }
  };
  struct Way {
    std::vector<Index> links;  // each as often as a flow has parts on it
    std::vector<Index> one;    // if it divides: the links of one of the ways
  };
  using Ports = std::vector<std::pair<Index, Index>>;
  using Leg = std::pair<const End*, const End*>;

  const End& end_of(const Host* host) const { return ends_.at(host->get_netpoint()->id()); }

  void add_links(FlowZone& zone) {
    links.reserve(platform_.links.size());
    for (const Platform::Link& link : platform_.links) {
      sg4::Link* made = add_link(zone, link.name, link.bandwidth);
      if (link.fatpipe) made->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
      made->seal();
      number_of_.emplace(made, static_cast<Index>(links_.size()));
      links_.push_back(made);
      links.emplace(made, LinkInfo{.latency = link.latency, .link_class = link.link_class});
    }
  }
  // The ports of NICs need no hosts, since routes from GPU to GPU lead over them.
  void add_hosts(FlowZone& zone, const Roles& roles) {
    std::vector<bool> is_nic(platform_.hosts.size());
    for (const Role& role : roles.of)
      for (const Index nic : role.nics) is_nic[nic] = true;
    std::vector<Host*> made(platform_.hosts.size());
    for (std::size_t i = 0; i < platform_.hosts.size(); ++i) {
      const Platform::Host& host = platform_.hosts[i];
      const Role& role = roles.of[i];
      if (is_nic[i] && !role.is_gpu) continue;
      const auto& properties = platform_.properties[host.properties];
      made[i] = zone.add_host(platform_.vertices[host.vertex].name, host.speed, host.cores,
                              {properties.begin(), properties.end()});
      ends_.push_back({.self = {host.vertex}, .node = role.node, .nic_latency = role.latency});
      for (const Index nic : role.nics) ends_.back().nics.push_back(platform_.hosts[nic].vertex);
      node_of.emplace(made[i], role.node);
    }
    for (const Index gpu : roles.gpus) {
      gpus.push_back(made[gpu]);
      const auto number = static_cast<Index>(made[gpu]->get_netpoint()->id());
      std::vector<Index>& members = nodes_[ends_[number].node];
      ends_[number].place = static_cast<Index>(members.size());
      members.push_back(number);
    }
  }

  // From which port to which: where both have as many, they go by their places, as rails and
  // planes are wired.
  static Ports ports(const End& from, const End& to) {
    const bool across = from.node != to.node;
    const std::vector<Index>& out = from.ports(across);
    const std::vector<Index>& in = to.ports(across);
    Ports pairs;
    for (std::size_t i = 0; i < out.size(); ++i)
      for (std::size_t j = 0; j < in.size(); ++j)
        if (i == j || out.size() != in.size()) pairs.emplace_back(out[i], in[j]);
    return pairs;
  }

  bool works(const std::vector<Share>& shares) const {
    return std::ranges::none_of(
        shares, [&](const Share& share) { return platform_.links[share.link].failed; });
  }

  // The pairs of ports that are joined by links that work; if there are none, by any.
  Ports joined(const End& from, const End& to) const {
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

  // Merged: what comes first is the first link of the way, and what comes last its last.
  static std::vector<Share> shares(const PlatformRoutes& routes, const Ports& pairs,
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
  static std::vector<Share> merged(const std::vector<Share>& all) {
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

  // Appends the links of the first of the ways. False if there is none.
  bool append_one(const End& from, const End& to, std::vector<Index>& found) const {
    const Ports pairs = joined(from, to);
    Hole ignored;
    return !pairs.empty() &&
           routes_.append_one(pairs.front().first, pairs.front().second, found, ignored);
  }

  // The one of a's node in b's place: the one on its rail, where nothing joins rails.
  const End* peer_on_rail(const End& a, const End& b) const {
    const std::vector<Index>& own = nodes_.at(a.node);
    return a.node == b.node || b.place >= own.size() ? nullptr : &ends_[own[b.place]];
  }
  std::vector<Leg> legs(const End& from, const End& to) const {
    std::vector<Index> found;
    const End* const peer = has_relays_ ? peer_on_rail(from, to) : nullptr;
    if (peer == nullptr || append_one(from, to, found)) return {{&from, &to}};
    return {{&from, peer}, {peer, &to}};
  }
  bool needs_relays() const {
    if (nodes_.size() < 2) return false;
    std::vector<Index> found;
    for (const Index from : nodes_.begin()->second)
      for (const Index to : nodes_.rbegin()->second)
        if (!append_one(ends_[from], ends_[to], found)) return true;
    return false;
  }

  const Way* find(const End& from, const End& to) const {
    if (!has_divided_ways_ && !has_relays_) {
      one_.links.clear();
      Hole ignored;
      const bool across = from.node != to.node;
      return routes_.append_one(from.ports(across).front(), to.ports(across).front(), one_.links,
                                ignored)
                 ? &one_
                 : nullptr;
    }
    const std::uint64_t key = Platform::key(from.self.front(), to.self.front());
    const auto [known, is_new] = ways_.try_emplace(key);
    Way& way = known->second;
    if (!is_new) return way.links.empty() && way.one.empty() ? nullptr : &way;
    std::vector<Index> one;
    for (const auto& [begin, end] : legs(from, to)) {
      const std::vector<Share> parts = shares(routes_, joined(*begin, *end), multipath);
      for (const Share& share : parts) {
        const double count = share.part * links.at(links_[share.link]).parts;
        way.links.insert(way.links.end(), std::max<std::size_t>(std::llround(count), 1),
                         share.link);
      }
      if (parts.empty() || !append_one(*begin, *end, one)) {
        way.links.clear();
        return nullptr;
      }
    }
    if (one != way.links) way.one = std::move(one);
    return &way;
  }

  // Finds into how many parts flows are divided on each link, so that SimGrid, in which a flow
  // crosses a link a whole number of times, can have it so often. Looks at GPUs that stand for
  // others, and at pairs of them that are drawn where there are many; links on no such way are as
  // the others of their class.
  void divide() {
    if (!has_divided_ways_) return;
    std::vector<std::uint32_t> parts(links_.size(), 0);
    constexpr config::Multipath spread;
    const PlatformRoutes evenly(platform_, spread);
    for (const auto& [from, to] : drawn_pairs())
      for (const auto& [begin, end] : legs(ends_[from], ends_[to]))
        for (const Share& share : shares(evenly, joined(*begin, *end), spread)) {
          std::uint32_t& known = parts[share.link];
          const std::uint32_t both = std::lcm(std::max(known, 1U), denominator_of(share.part));
          known = both <= most_parts ? both : std::max(known, denominator_of(share.part));
        }
    std::map<std::string, std::uint32_t> of_class;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::uint32_t& most = of_class[platform_.links[i].link_class];
      most = std::max(most, parts[i]);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::uint32_t count = parts[i] > 0 ? parts[i] : of_class[platform_.links[i].link_class];
      count = std::max(count, 1U);
      if (multipath.by == config::MultipathBy::hash) count = count > 1 ? multipath.flows : 1;
      LinkInfo& info = links.at(links_[i]);
      if (count == info.parts) continue;
      links_[i]->set_bandwidth(links_[i]->get_bandwidth() * count / info.parts);
      info.parts = count;
    }
  }
  std::vector<std::pair<Index, Index>> drawn_pairs() const {
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

  Platform platform_;
  PlatformRoutes routes_;
  std::vector<sg4::Link*> links_;  // as the platform's
  std::unordered_map<const Link*, Index> number_of_;
  std::vector<End> ends_;                      // in the order of SimGrid's hosts
  std::vector<int> lines_;                     // of the zones
  std::vector<bool> is_gateway_;               // of the vertices
  std::map<Index, std::vector<Index>> nodes_;  // the ends that are their GPUs, in natural order
  bool has_divided_ways_ = false;
  // GPUs of unlike place in other nodes are reached over the one of their own place, which is on
  // their rail (NCCL's PXN).
  bool has_relays_ = false;
  mutable std::unordered_map<std::uint64_t, Way>
      ways_;         // by vertices, if ways divide or have peers on them
  mutable Way one_;  // the last, if not
};

}  // namespace

std::shared_ptr<Network> make_network(const PlatformFile& file, Platform platform,
                                      const config::Multipath& multipath) {
  return std::make_shared<PlatformNetwork>(file, std::move(platform), multipath);
}

}  // namespace pipewright::cluster
