#include "sim/comm/contention.hpp"

#include <algorithm>
#include <numeric>

#include <catch2/catch.hpp>

#include "support/random.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using namespace pipewright::tests;
using analysis::Contention;

namespace {

struct World {
  explicit World(const Shape& shape)
      : cluster(make_cluster(shape)), paths(cluster, cluster.gpus()) {}
  Contention find(const comm::PermutationSearch& search = {}) {
    return comm::find_contention(paths, comm::analyze_pairs(paths), search);
  }
  cluster::Cluster cluster;
  comm::Paths paths;
};

bool is_permutation_of_others(const comm::Permutation& receiver_of) {
  std::vector<bool> is_taken(receiver_of.size());
  for (std::size_t i = 0; i < receiver_of.size(); ++i) {
    if (receiver_of[i] == i || is_taken.at(receiver_of[i])) return false;
    is_taken[receiver_of[i]] = true;
  }
  return true;
}

// Checks on 7 GPUs that the search finds a permutation with the lowest total rate of all
// permutations.
void check_search(const Shape& shape) {
  auto cluster = make_cluster(shape);
  Random random(3);
  for (std::size_t node = 0; node < shape.gpus.size(); ++node)
    for (int gpu = 0; gpu < shape.gpus[node]; ++gpu)
      cluster.scale_link(fmt::format("nvlink-{}-{}", node, gpu), random.real(0.02, 1));
  comm::Paths paths(cluster, cluster.gpus());
  comm::PermutationRates rates(paths);
  comm::Permutation receiver_of(7);
  std::iota(receiver_of.begin(), receiver_of.end(), 0U);
  comm::PermutationRates::Rates worst{.total = 1e30, .slowest = 1e30};
  double slowest = 1e30;
  do {
    if (!is_permutation_of_others(receiver_of)) continue;
    const auto rates_now = rates.rates_of(receiver_of);
    slowest = std::min(slowest, rates_now.slowest);
    if (rates_now.is_below(worst)) worst = rates_now;
  } while (std::ranges::next_permutation(receiver_of).found);
  const Contention contention = comm::find_contention(paths, comm::analyze_pairs(paths));
  CHECK(contention.worst.total == Approx(worst.total).epsilon(1e-6));
  CHECK(contention.slowest_bound <= slowest * (1 + 1e-9));
  CHECK(contention.worst.total <= contention.half_shift.total * (1 + 1e-9));
}

void check_hard_permutations(const Shape& shape) {
  World world(shape);
  for (const auto& permutation : comm::hard_permutations(world.paths)) {
    CAPTURE(permutation.name);
    CHECK(is_permutation_of_others(permutation.receiver_of));
  }
  CHECK(is_permutation_of_others(world.find().worst.receiver_of));
}

}  // namespace

TEST_CASE("with one NIC each, all GPUs of a half can use their NICs at the same time", "[comm]") {
  World world({.gpus = {4, 4}});
  const Contention contention = world.find();
  CHECK(contention.bisection == Approx(4 * nic));
  CHECK(contention.all_pairs == Approx(4 * nic));
  CHECK(contention.half_shift.slowest == Approx(nic));
  CHECK(contention.half_shift.total == Approx(8 * nic));
  CHECK(contention.half_shift.alone == Approx(8 * nic));
  CHECK(contention.worst.total == Approx(8 * nic));
  CHECK(contention.slowest_bound == Approx(nic));
}

TEST_CASE("the worst permutation sends everything over the uplinks", "[comm]") {
  World world({.gpus = {4, 4, 4}, .uplink = 8});
  const Contention contention = world.find();
  // Four GPUs share the node's uplink of 8 GB/s. No permutation can be slower than that.
  CHECK(contention.worst.slowest == Approx(2e9));
  CHECK(contention.worst.total == Approx(12 * 2e9));
  CHECK(contention.worst.alone == Approx(12 * 8e9));
  CHECK(contention.slowest_bound == Approx(2e9));
  CHECK(contention.worst.link_class == "uplink");
  CHECK(contention.worst.link_flows == 4);
  CHECK(contention.worst.link_bandwidth == Approx(8e9));
  CHECK(is_permutation_of_others(contention.worst.receiver_of));
}

TEST_CASE("a permutation within nodes has no contention", "[comm]") {
  World world({.gpus = {4, 4}, .uplink = 1});
  comm::PermutationRates rates(world.paths);
  const auto inside_nodes = rates.figures({1, 2, 3, 0, 5, 6, 7, 4});
  CHECK(inside_nodes.total == Approx(8 * nvlink));
  CHECK(inside_nodes.slowest == Approx(nvlink));
  const auto crossing = rates.figures({1, 2, 3, 4, 5, 6, 7, 0});
  CHECK(crossing.total == Approx(6 * nvlink + 2 * 1e9));
  CHECK(crossing.slowest_sender == 3);
  CHECK(crossing.slowest_receiver == 4);
  CHECK(crossing.link_flows == 1);
}

TEST_CASE("the search finds the lowest total of a few GPUs with uplinks", "[comm]") {
  check_search({.gpus = {3, 2, 2}, .uplink = 7});
}

TEST_CASE("the search finds the lowest total of a few GPUs that share NICs", "[comm]") {
  check_search({.gpus = {4, 3}, .uplink = 12, .one_nic = true});
}

TEST_CASE("the search finds the lowest total of a few GPUs on uneven nodes", "[comm]") {
  check_search({.gpus = {5, 1, 1}, .uplink = 25});
}

TEST_CASE("hard permutations of two GPUs are permutations", "[comm]") {
  check_hard_permutations({.gpus = {1, 1}});
}

TEST_CASE("hard permutations of an odd number of GPUs are permutations", "[comm]") {
  check_hard_permutations({.gpus = {3}});
}

TEST_CASE("hard permutations of even nodes are permutations", "[comm]") {
  check_hard_permutations({.gpus = {4, 4, 4}});
}

TEST_CASE("hard permutations of uneven nodes are permutations", "[comm]") {
  check_hard_permutations({.gpus = {5, 2, 4}});
}

TEST_CASE("the same seed yields the same permutation", "[comm]") {
  World world({.gpus = {5, 2, 4}, .uplink = 30, .one_nic = true});
  const Contention first = world.find({.seed = 5, .swaps = 300});
  const Contention second = world.find({.seed = 5, .swaps = 300});
  CHECK(first.worst.receiver_of == second.worst.receiver_of);
  CHECK(first.worst_from == second.worst_from);
  CHECK(first.tried == second.tried);
}

TEST_CASE("SimGrid reaches the computed rates of the worst permutation", "[comm]") {
  World world({.gpus = {4, 3, 4}, .uplink = 9, .one_nic = false});
  const Contention contention = world.find();
  const RankPlacement placement(world.cluster, world.cluster.gpus());
  comm::FairSharing sharing(world.paths.bandwidth());
  std::vector<const comm::FlowPath*> flows;
  for (std::uint32_t i = 0; i < placement.size(); ++i)
    flows.push_back(&world.paths.path(i, contention.worst.receiver_of[i]));
  const auto shares = sharing.share(flows);
  std::vector<std::vector<Phase>> plans;
  double total = 0;
  for (std::uint32_t i = 0; i < placement.size(); ++i) {
    total += shares[i].rate;
    plans.push_back({{.flows = {{i, contention.worst.receiver_of[i], shares[i].rate * 2}}}});
  }
  CHECK(total == Approx(contention.worst.total));
  for (const double seconds : simulate_all(placement, plans))
    CHECK(seconds == Approx(2).epsilon(1e-6));
}
