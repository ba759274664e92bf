#include "sim/execution/collectives/many_routes.hpp"

#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "sim/cluster/make/make_platform.hpp"
#include "tests/sim/config/support.hpp"

// Compares routes that classes of GPUs share with those that are looked up one by one.

using namespace pipewright;
using execution::ManyRoutes;
using execution::RankPlacement;

namespace {

void check_same(const cluster::Route& shared, const cluster::Route& single) {
  CHECK(shared.source == single.source);
  CHECK(shared.destination == single.destination);
  CHECK(shared.links == single.links);
  CHECK(shared.single_path == single.single_path);
  CHECK(shared.latency == single.latency);
  CHECK(shared.bandwidth == single.bandwidth);
  CHECK(shared.message == single.message);
  for (std::size_t i = 0; i < shared.per_protocol.size(); ++i) {
    CHECK(shared.per_protocol[i].latency == single.per_protocol[i].latency);
    CHECK(shared.per_protocol[i].efficiency == single.per_protocol[i].efficiency);
  }
}

// Checks random pairs of all GPUs of a cluster, in random order, so that routes of a class are used
// by different ranks in turn.
void check_routes(const cluster::Cluster& cluster) {
  const RankPlacement placement(cluster, cluster.gpus());
  const auto size = placement.size();
  ManyRoutes routes(placement, std::size_t{size} * size);
  std::minstd_rand random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto source = static_cast<std::uint32_t>(random() % size);
    const auto destination = static_cast<std::uint32_t>(random() % size);
    if (source == destination) continue;
    CAPTURE(source, destination);
    check_same(routes.route(source, destination), placement.route(source, destination));
  }
}

cluster::Cluster make_fabric(const std::string& node, std::uint32_t nodes,
                             const std::string& fabric) {
  const config::test::Folder folder;
  return cluster::Cluster::load(folder.write(
      "c.xml", cluster::make_platform({.nodes = {{&cluster::find_node_kind(node), nodes}},
                                       .fabric = fabric,
                                       .leaf_nodes = 2})));
}

}  // namespace

TEST_CASE("classes of GPUs share routes of the same links and costs", "[collectives]") {
  for (const char* const fabric : {"rail", "leaf-spine", "fat-tree", "dragonfly"})
    for (const char* const node : {"dgx-h100", "a100-4nic", "mi355x-roce"}) {
      CAPTURE(fabric, node);
      check_routes(make_fabric(node, 12, fabric));
    }
}

TEST_CASE("GPUs whose own links differ are of different classes", "[collectives]") {
  cluster::Cluster cluster = make_fabric("dgx-h100", 6, "leaf-spine");
  const std::string own = cluster::Cluster::link_name(
      cluster.route(cluster.gpus().front(), cluster.gpus().back()).links.front());
  cluster.scale_link(own, 0.5);
  check_routes(cluster);
}

TEST_CASE("classes of GPUs have no route over a failed link", "[collectives]") {
  cluster::Cluster cluster = make_fabric("dgx-h100", 12, "dragonfly");
  const auto last = static_cast<std::uint32_t>(cluster.gpus().size() - 1);
  const std::string between = cluster::Cluster::link_name(
      cluster.route(cluster.gpus().front(), cluster.gpus().back()).links[1]);
  cluster.scale_link(between, 0);
  const RankPlacement placement(cluster, cluster.gpus());
  ManyRoutes routes(placement, std::size_t{last} * last);
  CHECK_THROWS_AS(routes.route(0, last), cluster::Error);
  CHECK_THROWS_AS(routes.route(1, last - 1), cluster::Error);
  check_same(routes.route(0, 8), placement.route(0, 8));
}
