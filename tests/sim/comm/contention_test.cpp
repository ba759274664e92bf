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
  Contention look(const comm::PermutationSearch& search = {}) {
    return comm::find_contention(paths, comm::look_at_pairs(paths), search);
  }
  cluster::Cluster cluster;
  comm::Paths paths;
};

bool is_permutation_of_others(const comm::Permutation& receiver_of) {
  std::vector<bool> taken(receiver_of.size());
  for (std::size_t i = 0; i < receiver_of.size(); ++i) {
    if (receiver_of[i] == i || taken.at(receiver_of[i])) return false;
    taken[receiver_of[i]] = true;
  }
  return true;
}

// The lowest total over all permutations of 7 GPUs, tried one by one, is what the search finds.
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
    const auto now = rates.of(receiver_of);
    slowest = std::min(slowest, now.slowest);
    if (now.below(worst)) worst = now;
  } while (std::ranges::next_permutation(receiver_of).found);
  const Contention contention = comm::find_contention(paths, comm::look_at_pairs(paths));
  CHECK(contention.worst.total == Approx(worst.total).epsilon(1e-6));
  CHECK(contention.slowest_bound <= slowest * (1 + 1e-9));
  CHECK(contention.worst.total <= contention.half_shift.total * (1 + 1e-9));
}

void check_hard_permutations(const Shape& shape) {
  World world(shape);
  for (const auto& one : comm::hard_permutations(world.paths)) {
    CAPTURE(one.name);
    CHECK(is_permutation_of_others(one.receiver_of));
  }
  CHECK(is_permutation_of_others(world.look().worst.receiver_of));
}

}  // namespace

TEST_CASE("with a NIC each, all GPUs of a half have it at once", "[comm]") {
  World world({.gpus = {4, 4}});
  const Contention contention = world.look();
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
  const Contention contention = world.look();
  // Four GPUs share 8 GB/s out of each node, and no permutation can do worse.
  CHECK(contention.worst.slowest == Approx(2e9));
  CHECK(contention.worst.total == Approx(12 * 2e9));
  CHECK(contention.worst.alone == Approx(12 * 8e9));
  CHECK(contention.slowest_bound == Approx(2e9));
  CHECK(contention.worst.link_class == "uplink");
  CHECK(contention.worst.link_flows == 4);
  CHECK(contention.worst.link_bandwidth == Approx(8e9));
  CHECK(is_permutation_of_others(contention.worst.receiver_of));
}

TEST_CASE("a permutation within nodes is no trouble", "[comm]") {
  World world({.gpus = {4, 4}, .uplink = 1});
  comm::PermutationRates rates(world.paths);
  const auto inside_nodes = rates.figures({1, 2, 3, 0, 5, 6, 7, 4});
  CHECK(inside_nodes.total == Approx(8 * nvlink));
  CHECK(inside_nodes.slowest == Approx(nvlink));
  const auto one_leaves = rates.figures({1, 2, 3, 4, 5, 6, 7, 0});
  CHECK(one_leaves.total == Approx(6 * nvlink + 2 * 1e9));
  CHECK(one_leaves.slowest_sender == 3);
  CHECK(one_leaves.slowest_receiver == 4);
  CHECK(one_leaves.link_flows == 1);
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

TEST_CASE("the same seed finds the same permutation", "[comm]") {
  World world({.gpus = {5, 2, 4}, .uplink = 30, .one_nic = true});
  const Contention one = world.look({.seed = 5, .swaps = 300});
  const Contention again = world.look({.seed = 5, .swaps = 300});
  CHECK(one.worst.receiver_of == again.worst.receiver_of);
  CHECK(one.worst_from == again.worst_from);
  CHECK(one.tried == again.tried);
}

TEST_CASE("SimGrid moves the worst permutation's flows at the rates that are told", "[comm]") {
  World world({.gpus = {4, 3, 4}, .uplink = 9, .one_nic = false});
  const Contention contention = world.look();
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
