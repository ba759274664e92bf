#include <array>
#include <cmath>
#include <random>
#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/cluster/make/make_platform.hpp"
#include "sim/cluster/platform/names.hpp"
#include "sim/comm/bench.hpp"
#include "support/program.hpp"
#include "tests/sim/cluster/in_child.hpp"

using namespace pipewright;
using cluster::Cluster;

namespace {

constexpr std::uint32_t seed = 11;
constexpr int tries = 40;

// Name of a random cable, or of a random switch, with the fraction of its rate that is left.
struct Fault {
  std::string name;
  double left = 0;
};

std::vector<Fault> random_faults(const Cluster& cluster, std::minstd_rand& random) {
  std::set<std::string> names;
  for (const cluster::Link* link : cluster.links())
    names.insert(cluster::without_direction(Cluster::link_name(link)));
  std::vector<std::string> parts(names.begin(), names.end());
  for (const std::string& name : cluster.switches()) parts.push_back(name);
  constexpr std::array left{0.0, 0.1, 0.37, 0.5, 0.75, 0.9, 0.999};
  std::vector<Fault> faults(1 + random() % 3);
  for (Fault& fault : faults)
    fault = {parts[random() % parts.size()], left[random() % left.size()]};
  return faults;
}

// Simulates random collectives with and without random faults. Returns the first that a fault makes
// faster.
std::string faster_with_faults(const std::string& platform) {
  const tests::CommandFolder place;
  place.write("p.xml", platform);
  return tests::in_child([&]() -> std::string {
    Cluster cluster = Cluster::load(place.folder() / "p.xml");
    std::minstd_rand random(seed);
    const auto gpus = static_cast<std::uint32_t>(cluster.gpus().size());
    constexpr std::array operations{comm::Operation::all_reduce, comm::Operation::all_gather,
                                    comm::Operation::all_to_all};
    int compared = 0;
    for (int i = 0; i < tries; ++i) {
      const comm::Operation operation = operations[random() % operations.size()];
      const auto ranks =
          static_cast<std::uint32_t>(random() % 2 == 0 ? gpus : 2 + random() % (gpus - 1));
      const std::uint64_t bytes = std::uint64_t{8} << (random() % 28);
      const auto seconds = [&] {
        return simulate(cluster, comm::make_groups(cluster, operation, ranks, 1, false, {}), bytes)
            .seconds;
      };
      const double whole = seconds();
      const std::vector<Fault> faults = random_faults(cluster, random);
      std::string text;
      for (const auto& [name, left] : faults) {
        cluster.scale_link(name, left);
        text += fmt::format(" {}={}", name, left);
      }
      try {
        const double faulty = seconds();
        ++compared;
        if (faulty < whole * (1 - 1e-6))
          return fmt::format("{} of {} bytes over {} ranks:{}: {} instead of {} s",
                             static_cast<int>(operation), bytes, ranks, text, faulty, whole);
      } catch (const cluster::Error&) {
        // The fault cuts ranks off.
      }
      for (auto fault = faults.rbegin(); fault != faults.rend(); ++fault)
        cluster.scale_link(fault->name, fault->left > 0 ? 1 / fault->left : 1);
      const double repaired = seconds();
      if (std::abs(repaired - whole) > 1e-6 * whole)
        return fmt::format("{} s after the repair of{}, {} s before", repaired, text, whole);
    }
    return compared > tries / 2 ? "" : "too few faults that leave all ranks connected";
  });
}

std::string fabric(const char* name, std::uint32_t nodes, std::uint32_t spines,
                   std::uint32_t planes) {
  cluster::PlatformRequest request{.nodes = {{&cluster::find_node_kind("a100-4nic"), nodes}},
                                   .fabric = name,
                                   .spines = spines,
                                   .planes = planes,
                                   .leaf_nodes = 1};
  request.group_leaves = 2;
  request.pod_leaves = 2;
  return cluster::make_platform(request);
}

}  // namespace

TEST_CASE("no failed or slow link makes a collective faster, seed 11", "[faults]") {
  // A torus of 27 chips, of which small groups search for rings among their links.
  const std::string chips =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\"><cluster id='t' topology='TORUS' topo_parameters='3,3,3' "
      "prefix='chip-' radical='0-26' suffix='' speed='1Tf' bw='45GBps' lat='1us' "
      "sharing_policy='SPLITDUPLEX'/></platform>\n";
  CHECK(faster_with_faults(chips) == "");
  CHECK(faster_with_faults(fabric("torus", 8, 0, 1)) == "");
  CHECK(faster_with_faults(fabric("fat-tree", 6, 3, 1)) == "");
  CHECK(faster_with_faults(fabric("dragonfly", 6, 0, 1)) == "");
  CHECK(faster_with_faults(fabric("dragonfly+", 6, 2, 1)) == "");
  CHECK(faster_with_faults(fabric("rail", 4, 2, 4)) == "");
}
