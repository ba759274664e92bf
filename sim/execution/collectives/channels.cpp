#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <unordered_map>
#include <utility>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

// Largest number of members for which all rings are tried: 8 members form 7! rings.
constexpr std::size_t max_searched_members = 8;

// Finds the ring with the highest rate in the bandwidth that previous rings have left. Among
// equally fast rings it takes the first in the order of `preferred`, a permutation of member
// indices.
class RingSearch {
 public:
  // Libraries search for rings among the links as they were built.
  RingSearch(const std::vector<std::uint32_t>& ranks, const RankPlacement& placement)
      : size_(ranks.size()), preferred_(ranks.size()) {
    std::iota(preferred_.begin(), preferred_.end(), 0);
    std::unordered_map<const cluster::Link*, std::size_t> index_of;
    for (const std::uint32_t source : ranks)
      for (const std::uint32_t destination : ranks) {
        std::vector<std::size_t>& route = routes_.emplace_back();
        if (source == destination) continue;
        for (const cluster::Link* link : placement.route(source, destination).links) {
          const auto [it, is_new] = index_of.emplace(link, links_.size());
          if (is_new) {
            const double capacity = placement.cluster().capacity_of(link, cluster::Numbers::actual,
                                                                    cluster::Condition::as_built);
            links_.push_back(
                {.capacity = capacity, .remaining = capacity, .shared = cluster::is_shared(link)});
          }
          route.push_back(it->second);
        }
      }
  }

  void prefer(std::vector<std::size_t> preferred) { preferred_ = std::move(preferred); }

  // Returns the rate of the fastest ring, in bytes/s. Sets `order` to its member indices, beginning
  // with 0.
  double find(std::vector<std::size_t>& order) {
    best_rate_ = 0;
    rate_limit_ = 0;
    for (const LinkUse& link : links_) rate_limit_ = std::max(rate_limit_, link.remaining);
    path_ = {0};
    extend(std::numeric_limits<double>::infinity());
    order = best_path_;
    return best_rate_;
  }
  // Makes the full bandwidth of all links available again.
  void reset() {
    for (LinkUse& link : links_) link.remaining = link.capacity;
  }
  // Lowest total bandwidth, over all members, of the links by which a member sends, in bytes/s.
  double min_send_rate() const {
    double min_rate = std::numeric_limits<double>::infinity();
    for (std::size_t source = 0; source < size_; ++source) {
      std::set<std::size_t> first_links;
      for (std::size_t destination = 0; destination < size_; ++destination)
        if (destination != source)
          first_links.insert(routes_[source * size_ + destination].front());
      double sum = 0;
      for (const std::size_t link : first_links) sum += links_[link].capacity;
      min_rate = std::min(min_rate, sum);
    }
    return min_rate;
  }
  void take(const std::vector<std::size_t>& order, double rate) {
    for (std::size_t i = 0; i < size_; ++i)
      for (const std::size_t link : routes_[order[i] * size_ + order[(i + 1) % size_]])
        if (links_[link].shared) links_[link].remaining -= rate;
  }

 private:
  struct LinkUse {
    double capacity = 0;   // bytes/s
    double remaining = 0;  // bytes/s that no ring uses yet
    bool shared = true;
    int flows = 0;  // flows of the current path
  };

  // Adds a hop to the current path and returns the rate, in bytes/s, at which data then flows along
  // it.
  double join(std::size_t from, std::size_t to, double rate) {
    for (const std::size_t link : routes_[from * size_ + to]) {
      LinkUse& use = links_[link];
      ++use.flows;
      rate = std::min(rate, use.shared ? use.remaining / use.flows : use.remaining);
    }
    return rate;
  }
  void leave(std::size_t from, std::size_t to) {
    for (const std::size_t link : routes_[from * size_ + to]) --links_[link].flows;
  }

  void extend(double rate) {
    const std::size_t last = path_.back();
    const bool closes = path_.size() == size_;
    for (std::size_t i = closes ? 0 : 1; i < (closes ? 1 : size_) && best_rate_ < rate_limit_;
         ++i) {
      const std::size_t next = closes ? 0 : preferred_[i];
      if (!closes && std::ranges::find(path_, next) != path_.end()) continue;
      const double joined = join(last, next, rate);
      if (joined > best_rate_ * (1 + 1e-9)) {
        if (closes) {
          best_rate_ = joined;
          best_path_ = path_;
        } else {
          path_.push_back(next);
          extend(joined);
          path_.pop_back();
        }
      }
      leave(last, next);
    }
  }

  std::size_t size_;
  std::vector<std::vector<std::size_t>> routes_;  // link indices, by source * size + destination
  std::vector<LinkUse> links_;
  std::vector<std::size_t> preferred_;  // begins with 0
  std::vector<std::size_t> path_;
  std::vector<std::size_t> best_path_;
  double best_rate_ = 0;
  double rate_limit_ = 0;  // upper bound on the rate of a ring
};

// True if the routes from the first member, and those between neighbours in the ring, all have the
// same bandwidth.
bool has_uniform_bandwidth(const std::vector<std::uint32_t>& ranks,
                           const RankPlacement& placement) {
  const double bandwidth = placement.route(ranks[0], ranks[1]).bandwidth;
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    const std::uint32_t next = ranks[(i + 1) % ranks.size()];
    if (placement.route(ranks[0], ranks[i]).bandwidth != bandwidth ||
        placement.route(ranks[i], next).bandwidth != bandwidth)
      return false;
  }
  return true;
}

// True if the first member sends everything over one link, as behind a switch, or needs no link.
// With uniform bandwidth this holds for all members.
bool is_behind_switch(const std::vector<std::uint32_t>& ranks, const RankPlacement& placement) {
  const auto links_to = [&](std::size_t i) { return placement.route(ranks[0], ranks[i]).links; };
  const std::vector<const cluster::Link*> first = links_to(1);
  for (std::size_t i = 2; i < ranks.size(); ++i) {
    const std::vector<const cluster::Link*> links = links_to(i);
    if (links.empty() != first.empty() || (!links.empty() && links.front() != first.front()))
      return false;
  }
  return true;
}

// True if each pair has a link of its own, all of the same bandwidth.
bool is_full_mesh(const std::vector<std::uint32_t>& ranks, const RankPlacement& placement) {
  if (ranks.size() < 3) return false;
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (placement.route(ranks[0], ranks[i]).links.size() != 1) return false;
  return has_uniform_bandwidth(ranks, placement) && !is_behind_switch(ranks, placement);
}

struct RingSet {
  std::vector<std::pair<std::vector<std::size_t>, double>> rings;  // member indices and bytes/s
  double rate = 0;                                                 // bytes/s of all rings
};

// Adds rings until the next one is too slow or no bandwidth is left. `before_each` runs before each
// search and may change the preferred order.
template <class BeforeEach>
RingSet collect_rings(RingSearch& search, const BeforeEach& before_each) {
  RingSet set;
  std::vector<std::size_t> order;
  while (true) {
    before_each();
    const double rate = search.find(order);
    // Much slower rings would only take bandwidth from the others.
    if (rate <= 0 || (!set.rings.empty() && rate < set.rings.front().second / 2)) return set;
    set.rings.emplace_back(order, rate);
    set.rate += rate;
    search.take(order, rate);
  }
}

RingSet find_rings(const std::vector<std::uint32_t>& ranks, bool is_uniform,
                   const RankPlacement& placement) {
  RingSearch search(ranks, placement);
  RingSet best = collect_rings(search, [] {});
  if (!is_uniform) return best;
  // Several orders are tried where all links are equal, because rings that are equally good by
  // themselves may leave different bandwidth for later rings.
  constexpr int max_tries = 50;
  std::minstd_rand random;
  std::vector<std::size_t> preferred(ranks.size());
  std::iota(preferred.begin(), preferred.end(), 0);
  const auto shuffle = [&] {
    for (std::size_t i = preferred.size() - 1; i > 1; --i)
      std::swap(preferred[i], preferred[1 + random() % i]);
    search.prefer(preferred);
  };
  const double rate_limit = search.min_send_rate() * (1 - 1e-9);
  for (int tries = 0; best.rate < rate_limit && tries < max_tries; ++tries) {
    search.reset();
    RingSet attempt = collect_rings(search, shuffle);
    if (attempt.rate > best.rate) best = std::move(attempt);
  }
  return best;
}

}  // namespace

std::vector<RingChannel> channels_in_node(const std::vector<std::uint32_t>& ranks,
                                          const RankPlacement& current) {
  const RankPlacement placement = current.as_built();
  if (ranks.size() < 3 || ranks.size() > max_searched_members) return {{ranks, 1}};
  const bool is_uniform = has_uniform_bandwidth(ranks, placement);
  if (is_uniform && is_behind_switch(ranks, placement)) return {{ranks, 1}};
  const RingSet set = find_rings(ranks, is_uniform, placement);
  std::vector<RingChannel> channels;
  for (const auto& [order, rate] : set.rings) {
    RingChannel& channel = channels.emplace_back();
    for (const std::size_t member : order) channel.ranks.push_back(ranks[member]);
    channel.share = rate / set.rate;
  }
  return channels;
}

std::vector<std::vector<std::uint32_t>> paths_through(const std::vector<std::uint32_t>& node,
                                                      const RankPlacement& placement) {
  const std::size_t n = node.size();
  const bool zigzag = is_full_mesh(node, placement.as_built());
  std::vector<std::vector<std::uint32_t>> paths;
  for (std::size_t first = 0; first < n; ++first) {
    std::vector<std::uint32_t>& path = paths.emplace_back();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t offset = !zigzag ? i : i % 2 == 1 ? (i + 1) / 2 : n - i / 2;
      path.push_back(node[(first + offset) % n]);
    }
  }
  return paths;
}

}  // namespace pipewright::execution
