#include <algorithm>
#include <array>
#include <deque>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/cluster/make/make_platform.hpp"
#include "sim/config/gpu.hpp"
#include "validation/accuracy.hpp"
#include "validation/accuracy_sailor.hpp"

namespace pipewright::accuracy {
namespace {

// A type of node of the site, which its README calls a cluster of the MIT. Rates are GB/s, as
// providers/intra_node_bandwidths.json and multizone_bandwidths.json give them for messages of any
// size, and of half of the GPUs that send to the other half (profiling/networking/
// test_sendrecv.py): so of a GPU here, for 2 and for 8 of them. Those fit two 3090 on a bridge and
// the others on PCIe 3.0 through the host, and Ethernet of 1 and of 25 Gb/s.
struct Card {
  const char* kind;  // as the source calls it
  const char* gpu;   // of platforms/gpus: its RTX 2080 has 11 GB (simulations/constants.py)
  double pair;
  double eight;  // of all four pairs
  double node;   // out of a node and into another, of all its GPUs together
};
constexpr std::array cards{Card{"RTX-3090", "rtx-3090", 49.77, 5.327, 0.1157},
                           Card{"RTX-2080", "rtx-2080-ti", 10.76, 24.55, 2.858},
                           Card{"Titan-RTX", "titan-rtx", 10.82, 24.30, 2.858}};

const Card& card_of(const std::string& kind) {
  const auto* const found =
      std::ranges::find_if(cards, [&](const Card& card) { return card.kind == kind; });
  if (found == cards.end()) throw std::runtime_error("no card " + kind);
  return *found;
}

cluster::NodeKind node_of(const Card& card, std::uint32_t gpus) {
  cluster::NodeKind kind;
  kind.name = fmt::format("{}-{}", card.gpu, gpus);
  kind.help = fmt::format("{} {} on PCIe", gpus, card.kind);
  kind.gpu = card.gpu;
  kind.gpus = gpus;
  kind.speed = config::find_gpu(card.gpu).flops;
  kind.memory =
      fmt::format("{:.10g}GiB", static_cast<double>(config::find_gpu(card.gpu).memory) / 0x1p30);
  kind.wiring = cluster::NodeKind::Wiring::pcie;
  kind.link_class = "pcie";
  const double of_each = gpus == 2 ? card.pair : card.eight / 4;
  kind.link_bandwidth = of_each * 1e9;
  kind.link_latency = 2.85e-6;  // NCCL's step over PCIe, as in every file here
  kind.nics = 1;
  kind.nic_bandwidth = card.node * 1e9;
  kind.nic_latency = 14.3e-6;
  kind.launch = 20e-6;  // as of L40S (sim/cluster/import/gpu_types.cpp)
  return kind;
}

}  // namespace

// "8xRTX-3090:tp8|8xRTX-2080:tp8; 8xTitan-RTX:tp8|..", a node each, is of two stages, of replicas
// in order: as ranks of Megatron-LM count.
std::string mixed_cluster(const std::string& stages) {
  std::string text = stages;
  std::ranges::replace(text, ';', '|');
  std::erase(text, ' ');
  std::deque<cluster::NodeKind> kinds;  // which stay where they are
  cluster::PlatformRequest request{.fabric = "leaf-spine", .leaf_nodes = 1};
  std::string name;
  std::istringstream stream(text);
  for (std::string one; std::getline(stream, one, '|');) {
    const std::size_t times = one.find('x');
    const auto gpus = static_cast<std::uint32_t>(std::stoul(one));
    kinds.push_back(node_of(card_of(one.substr(times + 1, one.find(':') - times - 1)), gpus));
    request.nodes.push_back({&kinds.back(), 1});
    name += kinds.back().name + "-";
  }
  return temporary_file(name + "nodes.xml", [&] { return cluster::make_platform(request); });
}

}  // namespace pipewright::accuracy
