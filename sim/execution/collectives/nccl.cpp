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

// Types of links for which NCCL's tuning tables have entries.
enum class LinkType : std::uint8_t { nvlink, pcie, network };

// NCCL's tables baseLat and hwLat for rings, in us by protocol. They are the same in all versions.
constexpr ByProtocol ring_base{8.4, 6.6, 14};
constexpr std::array<ByProtocol, 3> ring_hop{{{3.4, .6, 1.9}, {5.7, 1, 2.5}, {14, 2.7, 4}}};
constexpr std::array<ByProtocol, 3> tree_hop{{{4, .6, 1.25}, {4, 1, 1.9}, {14, 5, 8.5}}};

double hop(const std::array<ByProtocol, 3>& table, LinkType link_type, std::size_t protocol) {
  return table[static_cast<std::size_t>(link_type)][protocol];
}

// NCCL's baseLat of trees, in us. The Simple protocol had none before version 2.23.
double tree_base(std::uint32_t version, std::size_t protocol) {
  constexpr ByProtocol base{8.4, 6.8, 14};
  return protocol == simple && version < 23 ? 0 : base[protocol];
}
// NCCL's hwLat of trees: latency of a hop in us. The Simple protocol had 28 us from version 2.19 to
// 2.22.
double tree_hop_latency(std::uint32_t version, LinkType link_type, std::size_t protocol) {
  if (protocol == simple && version < 23 && version >= 19) return 28;
  if (protocol == simple && version < 19 && link_type == LinkType::pcie) return 6;
  return hop(tree_hop, link_type, protocol);
}

// Column of NCCL's tables: one node, two nodes, more.
std::size_t table_column(const NcclView& view) {
  return view.nodes <= 1 ? 0 : view.nodes <= 2 ? 1 : 2;
}
// Row of NCCL's tables: Volta, Ampere, Hopper, Blackwell. Blackwell has its own row since 2.25.
std::size_t table_row(const NcclView& view) {
  const std::uint32_t newest = view.version >= 25 ? 5 : 4;
  return std::clamp(view.generation, 2U, newest) - 2;
}

// NCCL's maximum bandwidth of LL, in bytes/s. Between nodes it depends on the CPU: AMD's is assumed
// with A100, Intel's with later GPUs.
double max_ll_bandwidth(const NcclView& view) {
  constexpr std::array<std::array<double, 3>, 4> limits{
      {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
  const std::size_t gpu_row =
      view.version < 21 ? std::min<std::size_t>(table_row(view), 1) : table_row(view);
  const std::size_t cpu_row = view.generation == 3 ? 1 : 0;
  return limits[view.nodes <= 1 ? gpu_row : cpu_row][table_column(view)] * gb;
}

// Fraction of the bus bandwidth that NCCL expects rings to reach by LL.
double ll_fraction(const NcclView& view, Collective kind) {
  if (view.version >= 21) return 0.5;
  return view.nodes > 1 || kind == Collective::all_reduce ? 1. / 4 : 1. / 3;
}

// NCCL's maximum bandwidth of LL128 in a ring with 16 channels, in bytes/s.
double max_ll128_bandwidth(const NcclView& view) {
  constexpr double channels = 16;
  constexpr std::array<double, 3> channel_limits{20, 20, 36.7};
  const double blackwell = view.version >= 29                      ? 40
                           : view.version == 28 && view.nodes == 2 ? 34.6
                                                                   : 2 * channel_limits[2];
  // NCCL's limit of 20 GB/s per channel has no effect on A100, whose 12 NVLinks have two channels
  // each.
  return table_row(view) == 3   ? channels * blackwell * gb
         : table_row(view) == 2 ? channels * channel_limits[2] * gb
                                : impossible;
}

double ring_steps(Collective kind, double ranks) {
  if (kind == Collective::broadcast) return ranks;
  return (kind == Collective::all_reduce ? 2 : 1) * (ranks - 1);
}

LinkType node_link(const NcclView& view) {
  return view.generation > 0 ? LinkType::nvlink : LinkType::pcie;
}
double tree_levels(const NcclView& view) { return std::floor(std::log2(view.nodes)); }
double network_us(const NcclView& view) { return view.nic_latency / us; }

double ring_seconds(Collective kind, std::size_t protocol, double bytes, const NcclView& view) {
  double bus = view.bus_bandwidth;
  if (protocol == ll) bus = std::min(max_ll_bandwidth(view), bus * ll_fraction(view, kind));
  if (protocol == ll128) {
    const double part = view.version < 23 && view.ranks < 2 * view.nodes ? 0.7 : 0.92;
    bus = std::min(bus * part, max_ll128_bandwidth(view));
  }
  const double steps = ring_steps(kind, view.ranks);
  const double seconds = bytes / (bus * view.ranks / steps);
  const LinkType link_type = view.nodes > 1 ? LinkType::network : node_link(view);
  double latency = ring_base[protocol];
  if (kind == Collective::broadcast) {
    latency += hop(ring_hop, link_type, protocol);
  } else {
    double within = hop(ring_hop, node_link(view), protocol);
    double outside = 0;
    if (view.nodes > 1) {
      // Cost of posting a message to the network, in us; three times as much for Simple.
      within = std::max(within, protocol == simple ? 3.0 : 1.0);
      const double rounds = kind == Collective::all_reduce ? 2 : 1;
      outside = rounds * (view.version < 23 && rounds == 2 ? view.nodes : view.nodes - 1);
    }
    const bool is_one_per_node = view.ranks == view.nodes && view.version >= 23;
    const double network_hop = is_one_per_node
                                   ? tree_hop_latency(view.version, LinkType::network, protocol)
                                   : hop(ring_hop, LinkType::network, protocol);
    const double network_latency = (protocol == simple ? 2 : 1) * network_us(view);
    latency += std::max(steps - outside, 0.0) * within + outside * (network_hop + network_latency);
  }
  if (kind == Collective::all_reduce && protocol == simple && view.nodes > 1)
    latency *= view.generation < 3 ? 1.9 : 1.4;  // "plateau effect of ring"
  return latency * us + seconds;
}

// NCCL's treeCorrectionFactor at the next lower power of two: an entry for each power from 64 B on.
// The table ended at 256 MiB before version 2.29 and has one more entry since.
double tree_correction(std::size_t protocol, double bytes, std::uint32_t version) {
  constexpr std::size_t powers = 25;
  constexpr std::array<std::array<double, powers>, cluster::protocols> correction{{
      {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5,
       .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9, 1},
      {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1, 1},
  }};
  if (version < 29 && bytes >= 0x1p29) return 1;
  const double power = std::floor(std::log2(std::max(bytes / 64, 1.0)));
  return correction[protocol][static_cast<std::size_t>(std::min(power, powers - 1.0))];
}

// NCCL's maximum bandwidth of a channel in a tree, in bytes/s (perChMaxTreeBws,
// perChMaxTreeLL128Bws).
double max_tree_channel(const NcclView& view, std::size_t protocol) {
  constexpr std::array<std::array<double, 3>, 4> any{
      {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
  constexpr std::array<std::array<double, 3>, 4> by_ll128{
      {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
  // Before version 2.28, Blackwell had twice the numbers of Hopper.
  const bool is_doubled = table_row(view) == 3 && view.version < 28;
  const std::size_t row = is_doubled ? 2 : table_row(view);
  const double limit = std::min(any[row][table_column(view)],
                                protocol == ll128 ? by_ll128[row][table_column(view)] : impossible);
  return limit * (is_doubled ? 2 : 1) * gb;
}

// Channels of the trees that NCCL finds: between nodes one for each 48 GB/s that the rings' NICs
// carry, inside a node as many as rings have.
double tree_channels(const NcclView& view) {
  constexpr double channels_inside = 16;
  constexpr double channel_bandwidth = 48 * gb;
  if (view.nodes <= 1) return channels_inside;
  const double nic = std::min(view.nic_bandwidth, channel_bandwidth);
  return nic > 0 ? std::max(1.0, std::round(view.bus_bandwidth / nic)) : channels_inside;
}

double tree_seconds(std::size_t protocol, double bytes, const NcclView& view) {
  // A tree over two nodes sends each byte over the network only once in each direction, so that the
  // links inside the nodes may be the limit.
  double bus = view.bus_bandwidth;
  if (view.nodes == 2 && view.gpu_bandwidth > 0) bus = std::min(2 * bus, view.gpu_bandwidth);
  bus *= 0.92;
  const double channels = tree_channels(view);
  bus = std::min(bus, channels * max_tree_channel(view, simple));
  if (protocol == ll) bus = std::min(bus / 3.8, max_ll_bandwidth(view));
  if (protocol == ll128)
    bus = std::min(bus * (view.nodes <= 1 ? 7. / 9 : 120. / 128),
                   channels * max_tree_channel(view, ll128));
  bus *= tree_correction(protocol, bytes, view.version);
  const double network_hop = tree_hop_latency(view.version, LinkType::network, protocol) +
                             (protocol == simple ? 2 : 1) * network_us(view);
  const double latency = tree_base(view.version, protocol) +
                         2 * ((view.ranks / view.nodes - 1) *
                                  tree_hop_latency(view.version, node_link(view), protocol) +
                              tree_levels(view) * network_hop);
  return latency * us + bytes / (bus * 0.5);
}

// NCCL's estimate for reduction in NVSwitches; between nodes by trees (NVLSTree), since version
// 2.18.
double nvls_seconds(double bytes, const NcclView& view) {
  const double domain = view.ranks / view.nodes;
  if (view.generation < 4 || view.version < 17 || domain <= 2) return impossible;
  // A public log of NCCL 2.29 on two racks of 64 GB200 shows trees and rings alone: over several
  // NVLink domains, reduction in NVSwitches needs a head for each GPU, and NCCL has 32 at most.
  if (view.nodes > 1 && domain > max_nvls_parts) return impossible;
  const double steps = ring_steps(Collective::all_reduce, view.ranks);
  double bus = view.gpu_bandwidth;
  double part = 5. / 6;
  if (view.version >= 28) {
    constexpr double channels = 16;
    constexpr std::array<double, 2> efficiency{0.85, 0.74};  // Hopper, Blackwell
    const double blackwell = view.version >= 30 ? 80 : 43.8;
    const std::array<std::array<double, 2>, 2> channel_limits{{{57.7, 45.5}, {96, blackwell}}};
    const std::size_t generation = table_row(view) - 2;
    bus *= 2 * efficiency[generation] * (channels - 1) / channels;
    if (view.nodes > 1)
      bus = std::min({bus, view.bus_bandwidth * (view.nodes <= 2 ? 2 : 1),
                      channels * channel_limits[generation][table_column(view) - 1] * gb});
    part = view.ranks / steps;
  } else if (view.nodes > 1) {
    bus = std::min(bus, view.bus_bandwidth / (view.nodes <= 2 || view.version < 19 ? 1 : 2));
    if (view.version < 19) part = 0.7 * view.nodes / (2 * (view.nodes - 1));
  }
  double latency = view.version < 21 ? 23 : 25;
  if (view.nodes > 1) {
    const double hop_us = view.version >= 29 ? 20.9 : view.version >= 19 ? 14 : 19;
    latency += 2 * (view.version < 19 ? view.nodes - 1 : tree_levels(view)) *
               (hop_us + 2 * network_us(view));
  }
  return latency * us + bytes / (bus * part);
}

// NCCL_P2P_LL_THRESHOLD: largest message between two ranks, in bytes, that uses LL.
constexpr double max_direct_ll_bytes = 16384;

bool is_direct(Collective kind) {
  return kind == Collective::all_to_all || kind == Collective::send_recv ||
         kind == Collective::pairwise;
}

double direct_seconds(Collective kind, std::size_t protocol, double bytes, const NcclView& view) {
  const double message_bytes = kind == Collective::all_to_all ? bytes / view.ranks : bytes;
  return (protocol == ll) == (message_bytes <= max_direct_ll_bytes) ? 0 : impossible;
}

// RCCL uses trees by LL and LL128 for few bytes per rank, and rings by Simple for more. The limits
// are those at which two public logs of rccl-tests on two nodes of eight change their slope.
double rccl_seconds(const AlgorithmProtocol& choice, double bytes, const NcclView& view) {
  constexpr double max_ll_bytes = 0x1p15;
  constexpr double max_ll128_bytes = 0x1p18;
  const double per_rank = bytes / view.ranks;
  const Protocol protocol = per_rank <= max_ll_bytes      ? Protocol::ll
                            : per_rank <= max_ll128_bytes ? Protocol::ll128
                                                          : Protocol::simple;
  const Algorithm algorithm = protocol == Protocol::simple ? Algorithm::ring : Algorithm::tree;
  return choice.algorithm == algorithm && choice.protocol == protocol ? 0 : impossible;
}

bool uses_rccl(Collective kind, const Nodes& nodes, const RankPlacement& placement) {
  if (kind != Collective::all_reduce || nodes.size() < 2 || nodes.front().size() < 2) return false;
  const cluster::Route route = placement.route(nodes[0][0], nodes[0][1]);
  return !route.links.empty() && placement.cluster().link_class(route.links.front()) == "xgmi";
}

bool has_nccl_estimate(Collective kind, Algorithm algorithm) {
  if (algorithm == Algorithm::direct) return is_direct(kind);
  return kind != Collective::ring_exchange &&
         (algorithm == Algorithm::ring || algorithm == Algorithm::tree ||
          algorithm == Algorithm::nvls);
}

// NCCL's bus bandwidth, in bytes/s: that of rings if the choice is a ring, else that of a tree,
// which carries each byte up and down.
double bus_bandwidth_of(Collective kind, double ranks, const AlgorithmChoice& choice,
                        const RankPlacement& placement) {
  const double seconds_per_byte = transfer(choice.phases.front(), placement)[simple];
  if (choice.algorithm != Algorithm::ring) return 2 / seconds_per_byte;
  return ring_steps(kind, ranks) / ranks / seconds_per_byte;
}

}  // namespace

// Networks whose plugin reports its own latency to NCCL, such as EFA, are much slower than the
// network that NCCL's tables assume.
double nccl_network_latency(double step) {
  constexpr double usual_step = 37 * us;
  return std::max(0.0, step - usual_step);
}

std::optional<NcclView> nccl_view(Collective kind, std::span<const std::uint32_t> members,
                                  const std::vector<AlgorithmChoice>& choices,
                                  const RankPlacement& placement) {
  const auto version = placement.cluster().nccl();
  const auto is_covered = [&](const AlgorithmChoice& choice) {
    return has_nccl_estimate(kind, choice.algorithm);
  };
  if (!std::ranges::all_of(choices, is_covered)) return std::nullopt;
  const Nodes nodes = placement.by_node(members);
  if (!version && choices.size() > 1 && uses_rccl(kind, nodes, placement))
    return NcclView{.is_rccl = true, .ranks = static_cast<double>(members.size())};
  if (!version) return std::nullopt;
  // NCCL uses the generation of the GPU even if each node has only one rank.
  NcclView view{.version = *version,
                .generation = placement.model().nvlink_generation(),
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
  if (is_direct(kind)) return view;
  view.bus_bandwidth = bus_bandwidth_of(kind, view.ranks, choices.front(), placement);
  if (nodes.size() > 1) {
    const cluster::Route route = placement.route(nodes[0].front(), nodes[1].front());
    view.nic_latency = nccl_network_latency(route.latency);
    view.nic_bandwidth = route.bandwidth;
  }
  return view;
}

double nccl_seconds(Collective kind, const AlgorithmProtocol& choice, double bytes,
                    const NcclView& view) {
  if (view.is_rccl) return rccl_seconds(choice, bytes, view);
  const auto protocol = static_cast<std::size_t>(choice.protocol);
  switch (choice.algorithm) {
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
