#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cluster/platform/platform.hpp"
#include "sim/cluster/platform/platform_routes.hpp"
#include "sim/config/communication.hpp"

namespace pipewright::cluster {

// Where a host's flows begin and end.
struct End {
  std::vector<Index> self;  // its vertex
  Index node = nothing;     // of a GPU
  Index place = 0;          // of a GPU, in its node
  std::vector<Index> nics;  // the vertices of the ports to other nodes

  const std::vector<Index>& ports(bool across) const {
    return across && !nics.empty() ? nics : self;
  }
};

// The ways of flows from host to host: over which ports they leave and come, how they spread over
// these and over ways that are equally short, and round what has failed.
class Ways {
 public:
  struct Way {
    std::vector<Index> links;  // each as often as a flow has parts on it
    std::vector<Index> one;    // if it divides: the links of one of the ways
  };

  // The platform outlives this. GPUs of a node stand in `ends` by their places.
  Ways(const Platform& platform, std::vector<End> ends, const config::Multipath& multipath);

  const End& end(Index number) const { return ends_[number]; }
  // Null if there is none. Holds until the next question.
  const Way* find(Index from, Index to) const;
  // Where there is none by the routes themselves, without a peer on the other's rail.
  std::optional<Hole> hole(Index from, Index to) const;
  // Whether any flow has parts on several ways.
  bool divide() const { return divide_; }
  // Whether GPUs of unlike place in other nodes are reached over the one of their own place, which
  // is on their rail (NCCL's PXN).
  bool have_relays() const { return have_relays_; }
  // Of each link: into how many parts flows are divided on it, so that one that crosses links a
  // whole number of times can have them so often.
  const std::vector<std::uint32_t>& parts() const { return parts_; }

  void set_multipath(const config::Multipath& now);
  // After links have failed, or work again.
  void forget();

 private:
  using Ports = std::vector<std::pair<Index, Index>>;
  using Leg = std::pair<const End*, const End*>;

  static Ports ports(const End& from, const End& to);
  bool works(const std::vector<Share>& shares) const;
  Ports joined(const End& from, const End& to) const;
  bool append_one(const End& from, const End& to, std::vector<Index>& found) const;
  const End* peer_on_rail(const End& a, const End& b) const;
  std::vector<Leg> legs(const End& from, const End& to) const;
  bool need_relays() const;
  void count_parts();
  std::vector<std::pair<Index, Index>> drawn_pairs() const;

  const Platform& platform_;
  config::Multipath multipath_;
  PlatformRoutes routes_;
  std::vector<End> ends_;
  std::vector<std::vector<Index>> nodes_;  // the ends that are their GPUs, by places
  std::vector<std::uint32_t> parts_;
  bool divide_ = false;
  bool have_relays_ = false;
  // By ends, if ways divide or have peers on them.
  mutable std::unordered_map<std::uint64_t, Way> known_;
  mutable Way one_;  // the last, if not
};

}  // namespace pipewright::cluster
