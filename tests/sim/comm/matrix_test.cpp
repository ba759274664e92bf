#include "sim/comm/matrix.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "support/paths.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using namespace pipewright::tests;
using analysis::PairClass;
using analysis::PairMatrix;

namespace {

const PairClass& class_of(const PairMatrix& matrix, std::size_t sender, std::size_t receiver) {
  return matrix.classes.at(matrix.at(sender, receiver));
}

}  // namespace

TEST_CASE("pairs in a node and between nodes have the bandwidth of their narrowest link",
          "[comm]") {
  const auto cluster = make_cluster({.gpus = {2, 3}, .uplink = 4});
  const comm::Paths paths(cluster, cluster.gpus());
  const PairMatrix matrix = comm::analyze_pairs(paths).matrix;
  REQUIRE(matrix.is_whole());
  CHECK(matrix.pairs == 20);
  CHECK(matrix.nodes == std::vector<std::uint32_t>{0, 0, 1, 1, 1});
  CHECK(matrix.names[4] == "node-1-gpu-2");
  REQUIRE(matrix.classes.size() == 2);
  CHECK(matrix.classes[0].where == "in a node");
  CHECK(matrix.classes[0].links == "nvlink");
  CHECK(matrix.classes[0].pairs == 2 + 6);
  CHECK(matrix.classes[0].bandwidth == Approx(nvlink));
  CHECK(matrix.classes[0].latency == Approx(inside));
  CHECK(matrix.classes[1].where == "between nodes");
  CHECK(matrix.classes[1].links == "nic + uplink");
  CHECK(matrix.classes[1].pairs == 12);
  CHECK(matrix.classes[1].bandwidth == Approx(4e9));
  CHECK(matrix.classes[1].latency == Approx(outside));
  CHECK(matrix.classes[1].sender == "node-0-gpu-0");
  for (std::size_t i = 0; i < matrix.size(); ++i)
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      if (i == j) {
        CHECK(matrix.at(i, j) == PairMatrix::itself);
      } else {
        CHECK((class_of(matrix, i, j).where == "in a node") ==
              (matrix.nodes[i] == matrix.nodes[j]));
      }
    }
}

TEST_CASE("a slow direction of a link affects only one row", "[comm]") {
  auto cluster = make_cluster({.gpus = {2, 2}});
  cluster.scale_link("nic-0-1_UP", 0.5);
  const comm::Paths paths(cluster, cluster.gpus());
  const PairMatrix matrix = comm::analyze_pairs(paths).matrix;
  for (const std::size_t i : {0U, 2U, 3U}) CHECK(class_of(matrix, i, (i + 2) % 4).bandwidth == nic);
  CHECK(class_of(matrix, 1, 2).bandwidth == nic / 2);
  CHECK(class_of(matrix, 1, 3).bandwidth == nic / 2);
  CHECK(class_of(matrix, 1, 0).bandwidth == nvlink);
}

TEST_CASE("rails are named if they differ from other routes", "[comm]") {
  const auto cluster = cluster::Cluster::load(PIPEWRIGHT_ROOT "/platforms/clusters/dgx-a100.xml");
  const comm::Paths paths(cluster, cluster.gpus());
  const PairMatrix matrix = comm::analyze_pairs(paths).matrix;
  std::uint64_t pairs = 0;
  for (const PairClass& pair_class : matrix.classes) pairs += pair_class.pairs;
  CHECK(pairs == 32 * 31);
  CHECK(class_of(matrix, 3, 4).where == "in a node");
  CHECK(class_of(matrix, 3, 11).where == "same rail");
  CHECK(class_of(matrix, 3, 12).where == "other rail");
  CHECK(class_of(matrix, 3, 12).latency > class_of(matrix, 3, 11).latency);
}

TEST_CASE("nodes with one GPU have no rails", "[comm]") {
  const auto cluster = make_cluster({std::vector<int>(4, 1)});
  const comm::Paths paths(cluster, cluster.gpus());
  const PairMatrix matrix = comm::analyze_pairs(paths).matrix;
  REQUIRE(matrix.classes.size() == 1);
  CHECK(matrix.classes[0].where == "between nodes");
}

TEST_CASE("links count the GPUs that can send and receive over them", "[comm]") {
  const auto cluster = make_cluster({.gpus = {2, 3}, .uplink = 4});
  const comm::Paths paths(cluster, cluster.gpus());
  const comm::Pairs pairs = comm::analyze_pairs(paths);
  for (std::size_t i = 0; i < paths.links().size(); ++i) {
    const std::string name = cluster::Cluster::link_name(paths.links()[i]);
    CAPTURE(name);
    const comm::LinkUse& use = pairs.use[i];
    if (name == "uplink-0_UP") {
      CHECK(use.senders == 2);
      CHECK(use.receivers == 3);
      CHECK(use.across == 2 * 2);  // GPUs 0 and 1 to 2 and 3
      CHECK(use.crossings == 1);
    }
    if (name == "nic-1-2_DOWN") {
      CHECK(use.senders == 2);
      CHECK(use.receivers == 1);
    }
    if (name == "nvlink-1-0_UP") {
      CHECK(use.senders == 1);
      CHECK(use.receivers == 2);
    }
  }
}

TEST_CASE("nodes show the worst pair of their GPUs", "[comm]") {
  auto cluster = make_cluster({.gpus = {2, 2, 1}});
  cluster.scale_link("nic-1-1", 0.25);
  const comm::Paths paths(cluster, cluster.gpus());
  const PairMatrix matrix = analysis::by_node(comm::analyze_pairs(paths).matrix);
  REQUIRE(matrix.size() == 3);
  CHECK(matrix.names[1] == "node 1");
  CHECK(class_of(matrix, 0, 0).bandwidth == nvlink);
  CHECK(class_of(matrix, 0, 1).bandwidth == nic / 4);
  CHECK(class_of(matrix, 0, 2).bandwidth == nic);
  CHECK(class_of(matrix, 1, 2).bandwidth == nic / 4);
  CHECK(matrix.at(2, 2) == PairMatrix::itself);
}

TEST_CASE("the bandwidth of a message includes the latency", "[comm]") {
  const PairClass pair_class{.bandwidth = 10e9, .latency = 5e-6};
  CHECK(pair_class.reached(0) == 10e9);
  CHECK(pair_class.reached(50'000) == Approx(5e9));  // transfer time equals latency
  CHECK(pair_class.reached(50'000'000'000) == Approx(10e9).epsilon(1e-3));
}
