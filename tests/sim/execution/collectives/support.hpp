#pragma once

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/execution/collectives/phase.hpp"
#include "sim/execution/collectives/plan.hpp"
#include "sim/execution/simgrid/carry.hpp"
#include "sim/execution/simgrid/mirror.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::tests {

using execution::Algorithm;
using execution::Flow;
using execution::Phase;
using execution::RankPlacement;
using workload::Collective;
using Members = std::vector<std::uint32_t>;

// Nodes of GPUs on an NVSwitch (100 GB/s in each direction, 1 us up and 1 us down). Each GPU, or
// each node, has a NIC (10 GB/s, 2 us). NICs of different nodes are connected by a fabric of 1 us:
// without limit, or over an uplink per node of the given GB/s.
struct Shape {
  std::vector<int> gpus;  // by node
  double uplink = 0;
  bool one_nic = false;
  // Properties of the cluster, such as {"collective.launch", "8us"}, and of its link classes
  // "nvlink", "nic" and "uplink".
  std::vector<std::pair<std::string, std::string>> properties = {};
};
inline constexpr double inside = 2e-6;  // seconds per hop
inline constexpr double outside = 5e-6;
inline constexpr double nvlink = 100e9;  // bytes/s
inline constexpr double nic = 10e9;

inline std::string platform_text(const Shape& shape) {
  std::string text =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\"><zone id='all' routing='Full'>\n";
  for (const auto& [id, value] : shape.properties)
    text += fmt::format("<prop id='{}' value='{}'/>\n", id, value);
  const auto link = [&](const std::string& id, double rate, const char* latency) {
    text += fmt::format(
        "<link id='{}' bandwidth='{}GBps' latency='{}' "
        "sharing_policy='SPLITDUPLEX'/>\n",
        id, rate, latency);
  };
  const auto up = [](const std::string& id) {
    return fmt::format("<link_ctn id='{}' direction='UP'/>", id);
  };
  for (std::size_t n = 0; n < shape.gpus.size(); ++n) {
    const int gpus = shape.gpus[n];
    text += fmt::format("<zone id='node-{}' routing='Full'>\n", n);
    for (int g = 0; g < gpus; ++g)
      text += fmt::format("<host id='node-{}-gpu-{}' speed='1Gf'/>\n", n, g);
    text += fmt::format("<router id='gate-{}'/>\n", n);
    for (int g = 0; g < gpus; ++g) {
      link(fmt::format("nvlink-{}-{}", n, g), 100, "1us");
      if (g == 0 || !shape.one_nic) link(fmt::format("nic-{}-{}", n, g), 10, "2us");
    }
    for (int g = 0; g < gpus; ++g) {
      for (int h = g + 1; h < gpus; ++h)
        text += fmt::format(
            "<route src='node-{0}-gpu-{1}' dst='node-{0}-gpu-{2}'>{3}"
            "<link_ctn id='nvlink-{0}-{2}' direction='DOWN'/></route>\n",
            n, g, h, up(fmt::format("nvlink-{}-{}", n, g)));
      text += fmt::format("<route src='node-{0}-gpu-{1}' dst='gate-{0}'>{2}</route>\n", n, g,
                          up(fmt::format("nic-{}-{}", n, shape.one_nic ? 0 : g)));
    }
    text += "</zone>\n";
  }
  for (std::size_t n = 0; n < shape.gpus.size(); ++n)
    if (shape.uplink > 0) link(fmt::format("uplink-{}", n), shape.uplink, "0.5us");
  if (shape.uplink <= 0)
    text += "<link id='fabric' bandwidth='10GBps' latency='1us' sharing_policy='FATPIPE'/>\n";
  for (std::size_t n = 0; n < shape.gpus.size(); ++n)
    for (std::size_t m = n + 1; m < shape.gpus.size(); ++m)
      text += fmt::format(
          "<zoneRoute src='node-{0}' dst='node-{1}' gw_src='gate-{0}' gw_dst='gate-{1}'>{2}"
          "</zoneRoute>\n",
          n, m,
          shape.uplink > 0 ? up(fmt::format("uplink-{}", n)) +
                                 fmt::format("<link_ctn id='uplink-{}' direction='DOWN'/>", m)
                           : "<link_ctn id='fabric'/>");
  return text + "</zone></platform>\n";
}

inline cluster::Cluster make_cluster(const Shape& shape) {
  const config::test::Folder folder;
  return cluster::Cluster::load(folder.write("cluster.xml", platform_text(shape)));
}

// Returns `count` rank numbers: `first`, `first + step`, and so on.
inline Members ranks(std::uint32_t count, std::uint32_t first = 0, std::uint32_t step = 1) {
  Members members(count);
  for (std::uint32_t i = 0; i < count; ++i) members[i] = first + i * step;
  return members;
}

// Returns when each collective ends in SimGrid, in seconds. All run at once, and every flow is
// simulated on its own.
inline std::vector<double> simulate_all(const RankPlacement& placement,
                                        const std::vector<std::vector<Phase>>& plans) {
  std::vector<double> seconds(plans.size());
  execution::begin_mirror(placement.cluster());
  const double begin = cluster::sg4::Engine::get_clock();
  for (std::size_t i = 0; i < plans.size(); ++i)
    execution::start(execution::make_transfer_plan(plans[i], placement), [&seconds, i, begin] {
      seconds[i] = cluster::sg4::Engine::get_clock() - begin;
    });
  cluster::engine().run();
  return seconds;
}

// Changes the bandwidth of every NIC by a tiny, different factor, so that no two flows count as
// equivalent.
inline void make_nics_distinct(cluster::Cluster& cluster, int nodes, int gpus) {
  double factor = 1;
  for (int node = 0; node < nodes; ++node)
    for (int gpu = 0; gpu < gpus; ++gpu)
      cluster.scale_link(fmt::format("nic-{}-{}", node, gpu), factor -= 1e-12);
}

}  // namespace pipewright::tests
