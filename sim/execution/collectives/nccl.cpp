#include "sim/execution/collectives/nccl.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

using workload::Collective;

constexpr double us = 1e-6;
constexpr double gb = 1e9;
constexpr double impossible = std::numeric_limits<double>::infinity();

constexpr std::size_t simple = 0;
constexpr std::size_t ll = 1;
constexpr std::size_t ll128 = 2;

// Of NVLinks, the network and PCIe.
enum class Way : std::uint8_t { nvlink, pcie, network };

// hwLat and baseLat: rings have had the same ones throughout.
constexpr ByProtocol ring_base{8.4, 6.6, 14};
constexpr std::array<ByProtocol, 3> ring_hop{{{3.4, .6, 1.9}, {5.7, 1, 2.5}, {14, 2.7, 4}}};
constexpr std::array<ByProtocol, 3> tree_hop{{{4, .6, 1.25}, {4, 1, 1.9}, {14, 5, 8.5}}};

double hop(const std::array<ByProtocol, 3>& of, Way way, std::size_t protocol) {
  return of[static_cast<std::size_t>(way)][protocol];
}

// Trees by Simple have had no base, and from 2.19 to 2.22 hops of 28 us.
double tree_base(std::uint32_t version, std::size_t protocol) {
  constexpr ByProtocol base{8.4, 6.8, 14};
  return protocol == simple && version < 23 ? 0 : base[protocol];
}
double tree_hop_of(std::uint32_t version, Way way, std::size_t protocol) {
  if (protocol == simple && version < 23 && version >= 19) return 28;
  if (protocol == simple && version < 19 && way == Way::pcie) return 6;
  return hop(tree_hop, way, protocol);
}

// Columns of its tables: one node, two, more.
std::size_t column(const NcclView& view) { return view.nodes <= 1 ? 0 : view.nodes <= 2 ? 1 : 2; }
// Rows: Volta, Ampere, Hopper, Blackwell. Blackwell is told apart since 2.25.
std::size_t row(const NcclView& view) {
  const std::uint32_t newest = view.version >= 25 ? 5 : 4;
  return std::clamp(view.generation, 2U, newest) - 2;
}

// Most bytes/s by LL. Between nodes it goes by the CPU: AMD's in boxes of A100, Intel's in later
// ones.
double most_by_ll(const NcclView& view) {
  constexpr std::array<std::array<double, 3>, 4> most{
      {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
  const std::size_t of_gpu = view.version < 21 ? std::min<std::size_t>(row(view), 1) : row(view);
  const std::size_t of_cpu = view.generation == 3 ? 1 : 0;
  return most[view.nodes <= 1 ? of_gpu : of_cpu][column(view)] * gb;
}

// A part of the bus bandwidth that its rings get by LL.
double part_by_ll(const NcclView& view, Collective kind) {
  if (view.version >= 21) return 0.5;
  return view.nodes > 1 || kind == Collective::all_reduce ? 1. / 4 : 1. / 3;
}

// Bytes/s of all channels of a ring by LL128, if there are 16.
double most_by_ll128(const NcclView& view) {
  constexpr double channels = 16;
  constexpr std::array<double, 3> each{20, 20, 36.7};
  const double blackwell = view.version >= 29 ? 34.5 : 2 * each[2];
  // 20 are no limit to A100's 12 NVLinks, of which each has two channels.
  return row(view) == 3   ? channels * blackwell * gb
         : row(view) == 2 ? channels * each[2] * gb
                          : impossible;
}

double ring_steps(Collective kind, double ranks) {
  if (kind == Collective::broadcast) return ranks;
  return (kind == Collective::all_reduce ? 2 : 1) * (ranks - 1);
}

Way inside(const NcclView& view) { return view.generation > 0 ? Way::nvlink : Way::pcie; }
double levels(const NcclView& view) { return std::floor(std::log2(view.nodes)); }
double of_network(const NcclView& view) { return view.nic_latency / us; }

double ring_seconds(Collective kind, std::size_t protocol, double bytes, const NcclView& view) {
  double bus = view.bus_bandwidth;
  if (protocol == ll) bus = std::min(most_by_ll(view), bus * part_by_ll(view, kind));
  if (protocol == ll128) {
    const double part = view.version < 23 && view.ranks < 2 * view.nodes ? 0.7 : 0.92;
    bus = std::min(bus * part, most_by_ll128(view));
  }
  const double steps = ring_steps(kind, view.ranks);
  const double seconds = bytes / (bus * view.ranks / steps);
  const Way way = view.nodes > 1 ? Way::network : inside(view);
  double latency = ring_base[protocol];
  if (kind == Collective::broadcast) {
    latency += hop(ring_hop, way, protocol);
  } else {
    double within = hop(ring_hop, inside(view), protocol);
    double outside = 0;
    if (view.nodes > 1) {
      // What posting to the network takes, thrice by Simple.
      within = std::max(within, protocol == simple ? 3.0 : 1.0);
      const double rounds = kind == Collective::all_reduce ? 2 : 1;
      outside = rounds * (view.version < 23 && rounds == 2 ? view.nodes : view.nodes - 1);
    }
    const bool alone = view.ranks == view.nodes && view.version >= 23;
    const double over = alone ? tree_hop_of(view.version, Way::network, protocol)
                              : hop(ring_hop, Way::network, protocol);
    const double more = (protocol == simple ? 2 : 1) * of_network(view);
    latency += std::max(steps - outside, 0.0) * within + outside * (over + more);
  }
  if (kind == Collective::all_reduce && protocol == simple && view.nodes > 1)
    latency *= view.generation < 3 ? 1.9 : 1.4;  // "plateau effect of ring"
  return latency * us + seconds;
}

// treeCorrectionFactor goes by whole powers of two, and had 23 of them before 2.29.
double tree_correction(std::size_t protocol, double bytes, std::uint32_t version) {
  if (version < 29 && bytes >= 0x1p29) return 1;
  const double power = std::exp2(std::floor(std::log2(std::max(bytes, 1.0))));
  return tree_efficiency(static_cast<Protocol>(protocol), power) / 0.92;
}

double tree_seconds(std::size_t protocol, double bytes, const NcclView& view) {
  // Between two nodes each byte of a tree crosses the network once each way, so that links inside
  // them are what limits it.
  double bus = view.bus_bandwidth;
  if (view.nodes == 2 && view.gpu_bandwidth > 0) bus = std::min(2 * bus, view.gpu_bandwidth);
  bus *= 0.92;
  if (protocol == ll) bus = std::min(bus / 3.8, most_by_ll(view));
  if (protocol == ll128) bus *= view.nodes <= 1 ? 7. / 9 : 120. / 128;
  bus *= tree_correction(protocol, bytes, view.version);
  const double over = tree_hop_of(view.version, Way::network, protocol) +
                      (protocol == simple ? 2 : 1) * of_network(view);
  const double latency =
      tree_base(view.version, protocol) +
      2 * ((view.ranks / view.nodes - 1) * tree_hop_of(view.version, inside(view), protocol) +
           levels(view) * over);
  return latency * us + bytes / (bus * 0.5);
}

// Sums in NVSwitches; over nodes in trees (NVLSTree), from 2.18 on.
double nvls_seconds(double bytes, const NcclView& view) {
  if (view.generation < 4 || view.version < 17 || view.ranks / view.nodes <= 2) return impossible;
  const double steps = ring_steps(Collective::all_reduce, view.ranks);
  double bus = view.gpu_bandwidth;
  double part = 5. / 6;
  if (view.version >= 28) {
    constexpr double channels = 16;
    constexpr std::array<double, 2> efficiency{0.85, 0.74};  // Hopper, Blackwell
    constexpr std::array<std::array<double, 2>, 2> most_each{{{57.7, 45.5}, {96, 43.8}}};
    const std::size_t of = row(view) - 2;
    bus *= 2 * efficiency[of] * (channels - 1) / channels;
    if (view.nodes > 1)
      bus = std::min({bus, view.bus_bandwidth * (view.nodes <= 2 ? 2 : 1),
                      channels * most_each[of][column(view) - 1] * gb});
    part = view.ranks / steps;
  } else if (view.nodes > 1) {
    bus = std::min(bus, view.bus_bandwidth / (view.nodes <= 2 || view.version < 19 ? 1 : 2));
    if (view.version < 19) part = 0.7 * view.nodes / (2 * (view.nodes - 1));
  }
  double latency = view.version < 21 ? 23 : 25;
  if (view.nodes > 1) {
    const double over = view.version >= 29 ? 20.9 : view.version >= 19 ? 14 : 19;
    latency +=
        2 * (view.version < 19 ? view.nodes - 1 : levels(view)) * (over + 2 * of_network(view));
  }
  return latency * us + bytes / (bus * part);
}

// Bytes to a peer up to which messages go by LL: NCCL_P2P_LL_THRESHOLD.
constexpr double most_direct_by_ll = 16384;

bool goes_directly(Collective kind) {
  return kind == Collective::all_to_all || kind == Collective::send_recv ||
         kind == Collective::pairwise;
}

double direct_seconds(Collective kind, std::size_t protocol, double bytes, const NcclView& view) {
  const double each = kind == Collective::all_to_all ? bytes / view.ranks : bytes;
  return (protocol == ll) == (each <= most_direct_by_ll) ? 0 : impossible;
}

bool knows(Collective kind, Algorithm algorithm) {
  if (algorithm == Algorithm::direct) return goes_directly(kind);
  return kind != Collective::ring_exchange &&
         (algorithm == Algorithm::ring || algorithm == Algorithm::tree ||
          algorithm == Algorithm::nvls);
}

// Of the rings, if there are any to choose; a tree carries each byte up and down.
double bus_bandwidth_of(Collective kind, double ranks, const AlgorithmChoice& choice,
                        const RankPlacement& placement) {
  const double each = transfer(choice.phases.front(), placement)[simple];
  if (choice.algorithm != Algorithm::ring) return 2 / each;
  return ring_steps(kind, ranks) / ranks / each;
}

// Of ranks that are one on each node NCCL goes by the GPU all the same.
std::uint32_t least_generation(const cluster::MessageModel& model) {
  std::uint32_t least = 0;
  for (const auto& [name, of] : model.classes)
    if (of.generation > 0 && (least == 0 || of.generation < least)) least = of.generation;
  return least;
}

}  // namespace

// Networks that tell NCCL of a latency of their own, as EFA's plugin does, are far slower.
double nccl_network_latency(double step) {
  constexpr double usual = 21 * us;
  return std::max(0.0, step - usual);
}

std::optional<NcclView> nccl_view(Collective kind, std::span<const std::uint32_t> members,
                                  const std::vector<AlgorithmChoice>& choices,
                                  const RankPlacement& placement) {
  const auto version = placement.cluster().nccl();
  const auto is_known = [&](const AlgorithmChoice& one) { return knows(kind, one.algorithm); };
  if (!version || !std::ranges::all_of(choices, is_known)) return std::nullopt;
  const Nodes nodes = placement.by_node(members);
  NcclView view{.version = *version,
                .generation = least_generation(placement.model()),
                .ranks = static_cast<double>(members.size()),
                .nodes = static_cast<double>(nodes.size())};
  for (const std::vector<std::uint32_t>& node : nodes) {
    if (node.size() < 2) continue;
    const cluster::Route route = placement.route(node[0], node[1]);
    if (!route.links.empty())
      view.generation =
          placement.model().of(placement.cluster().link_class(route.links.front())).generation;
    view.gpu_bandwidth = route.bandwidth;
    break;
  }
  if (goes_directly(kind)) return view;
  view.bus_bandwidth = bus_bandwidth_of(kind, view.ranks, choices.front(), placement);
  if (nodes.size() > 1) {
    view.nic_latency =
        nccl_network_latency(placement.route(nodes[0].front(), nodes[1].front()).latency);
  }
  return view;
}

double nccl_seconds(Collective kind, const AlgorithmProtocol& by, double bytes,
                    const NcclView& view) {
  const auto protocol = static_cast<std::size_t>(by.protocol);
  switch (by.algorithm) {
    case Algorithm::tree:
      return tree_seconds(protocol, bytes, view);
    case Algorithm::nvls:
      return nvls_seconds(bytes, view);
    case Algorithm::direct:
      return direct_seconds(kind, protocol, bytes, view);
    default:
      return ring_seconds(kind, protocol, bytes, view);
  }
}

}  // namespace pipewright::execution
