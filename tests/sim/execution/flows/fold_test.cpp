#include "sim/execution/flows/fold.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "sim/execution/exposed_time.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using namespace pipewright::tests;

namespace {

std::vector<std::vector<Phase>> plans_of(Collective kind, double bytes,
                                         const std::vector<Members>& groups,
                                         const RankPlacement& placement,
                                         Algorithm algorithm = Algorithm::automatic) {
  std::vector<std::vector<Phase>> plans;
  for (const Members& group : groups)
    plans.push_back(plan(kind, bytes, group, algorithm, placement));
  return plans;
}

std::size_t transfers(const execution::Folded& folded) {
  std::size_t count = 0;
  for (const auto& transfer_plan : folded.transfer_plans)
    for (const auto& step : transfer_plan->steps) count += step.transfers.size();
  return count;
}

void check_same(cluster::Cluster& cluster, const RankPlacement& placement,
                const std::vector<std::vector<Phase>>& plans) {
  const auto folded = simulate_alone(cluster, placement, plans);
  const auto unfolded = simulate_all(placement, plans);
  REQUIRE(folded.size() == unfolded.size());
  for (std::size_t i = 0; i < unfolded.size(); ++i) {
    CAPTURE(i);
    CHECK(folded[i] == Approx(unfolded[i]).epsilon(1e-9));
  }
}

}  // namespace

TEST_CASE("groups that share no link are simulated once", "[collectives]") {
  auto cluster = make_cluster({std::vector<int>(64, 8)});
  const RankPlacement placement(cluster, cluster.gpus());
  std::vector<Members> groups;
  for (std::uint32_t node = 0; node < 64; ++node) groups.push_back(ranks(8, 8 * node));
  const auto plans = plans_of(Collective::all_reduce, 64e6, groups, placement);
  const auto folded = execution::fold(cluster, placement, plans);
  CHECK(folded.transfer_plans.size() == 1);
  CHECK(transfers(folded) == 1);
  check_same(cluster, placement, plans);
}

TEST_CASE("lanes that share uplinks are folded and keep their share of the uplinks",
          "[collectives]") {
  auto cluster = make_cluster({.gpus = std::vector<int>(6, 4), .uplink = 15});
  const RankPlacement placement(cluster, cluster.gpus());
  std::vector<Members> groups;
  for (std::uint32_t lane = 0; lane < 4; ++lane) groups.push_back(ranks(6, lane, 4));
  for (const auto kind : {Collective::all_reduce, Collective::all_to_all}) {
    const auto plans = plans_of(kind, 60e6, groups, placement, Algorithm::ring);
    CHECK(transfers(execution::fold(cluster, placement, plans)) == 1);
    check_same(cluster, placement, plans);
  }
  // Four rings share an uplink of 15 GB/s, so that each gets 3.75 GB/s.
  const auto rings = plans_of(Collective::all_gather, 60e6, groups, placement);
  CHECK(simulate_alone(cluster, placement, rings)[2] ==
        Approx(5 * outside + 50e6 / 3.75e9).epsilon(1e-9));
}

TEST_CASE("groups that differ are not folded together", "[collectives]") {
  auto cluster = make_cluster({.gpus = {4, 4, 2}, .uplink = 10});
  const RankPlacement placement(cluster, cluster.gpus());
  // Groups {0, 1}, {2, 3} and {6, 7} lie within a node; {4, 8} and {5, 9} span two nodes.
  const auto plans =
      plans_of(Collective::all_reduce, 60e6, {{0, 1}, {2, 3}, {4, 8}, {5, 9}, {6, 7}}, placement);
  const auto folded = execution::fold(cluster, placement, plans);
  CHECK(folded.transfer_plans.size() == 2);
  CHECK(folded.plan_of == std::vector<std::uint32_t>{0, 0, 1, 1, 0});
  check_same(cluster, placement, plans);
}

TEST_CASE("folding changes no durations", "[collectives]") {
  auto cluster = make_cluster({.gpus = {4, 4, 2, 4, 1, 3}, .uplink = 12, .one_nic = false});
  const RankPlacement placement(cluster, cluster.gpus());
  std::mt19937 random(5);
  Members members = ranks(placement.size());
  for (int round = 0; round < 40; ++round) {
    if (round % 3 != 0) std::shuffle(members.begin(), members.end(), random);
    const auto size = static_cast<std::uint32_t>(2 + random() % 5);
    std::vector<std::vector<Phase>> plans;
    for (std::uint32_t i = 0; i + size <= members.size(); i += size) {
      const auto kind = static_cast<Collective>(random() % workload::collective_kinds);
      const auto algorithm = static_cast<Algorithm>(random() % 5);
      const double bytes = 1e6 * static_cast<double>(1 + random() % 3);
      plans.push_back(plan(kind, bytes, std::span(members).subspan(i, size), algorithm, placement));
    }
    check_same(cluster, placement, plans);
  }
}

TEST_CASE("a call takes as long as the slowest group of a device", "[collectives]") {
  auto cluster = make_cluster({.gpus = {4, 4, 4, 4}, .uplink = 10});
  const RankPlacement placement(cluster, cluster.gpus());
  config::Parallel parallel;
  parallel.tp.value = 2;
  parallel.dp.value = 4;
  parallel.pp.value = 2;
  const workload::Ranks layout(parallel);
  execution::CollectiveTimes times(cluster, layout, placement, Algorithm::ring);
  // Groups of tp are pairs of GPUs of a node. Groups of dp are two rings per device, of four ranks
  // on two nodes.
  const double S = 80e6;
  const workload::Call sum{.group = workload::Group::tp, .bytes = 80'000'000};
  const workload::Call gradients{.group = workload::Group::dp, .bytes = 80'000'000};
  for (const std::uint32_t device : {0U, 1U}) {
    CHECK(times.seconds(sum, device) == Approx(2 * inside + S / nvlink).epsilon(1e-6));
    // Each ring is divided into two channels, and each uplink carries the whole volume of both
    // rings.
    CHECK(times.seconds(gradients, device) ==
          Approx(6 * (inside + outside) / 2 + 2 * 2 * S * 3 / 4 / nic).epsilon(1e-6));
  }
  CHECK(times.seconds({.group = workload::Group::cp, .bytes = 1000}, 0) == 0);
  CHECK(times.seconds({.group = workload::Group::tp, .bytes = 0}, 1) == 0);
}

TEST_CASE("devices with worse placed groups take longer", "[collectives]") {
  // Groups have four ranks and nodes six GPUs, so the second group lies on both nodes.
  auto cluster = make_cluster({{6, 6}});
  const RankPlacement placement(cluster, cluster.gpus());
  config::Parallel parallel;
  parallel.tp.value = 4;
  parallel.pp.value = 3;
  const workload::Ranks layout(parallel);
  execution::CollectiveTimes times(cluster, layout, placement, Algorithm::ring);
  const workload::Call call{.group = workload::Group::tp, .bytes = 80'000'000};
  CHECK(times.seconds(call, 0) == Approx(6 * inside + 120e6 / nvlink).epsilon(1e-6));
  CHECK(times.seconds(call, 1) == Approx(6 * (inside + outside) / 2 + 60e6 / nic).epsilon(1e-6));
  CHECK(times.seconds(call, 2) == times.seconds(call, 0));
}

TEST_CASE("groups are told apart by the order of their links only if it is kept", "[collectives]") {
  // Three nodes of two GPUs with an uplink each. A and B share the uplink that they leave by, B and
  // C the one that they arrive by: A crosses a shared and then an unshared uplink, C the reverse.
  auto cluster = make_cluster({.gpus = {2, 2, 2}, .uplink = 15});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto message = [](std::uint32_t source, std::uint32_t destination) {
    return std::vector<Phase>{{.flows = {{source, destination, 1e6}}, .latency = 0}};
  };
  const std::vector<std::vector<Phase>> plans{message(0, 2), message(1, 4), message(3, 5)};
  const std::vector<std::uint64_t> kinds(3, 1);
  const auto folded = execution::fold(cluster, placement, plans, kinds);
  CHECK(folded.plan_of[0] == folded.plan_of[2]);
  CHECK(folded.plan_of[0] != folded.plan_of[1]);
  const auto kept = execution::fold(cluster, placement, plans, kinds, execution::LinkOrder::kept);
  CHECK(kept.transfer_plans.size() == 3);
  const auto classes = execution::classes_of_groups(placement, plans, kinds);
  CHECK(classes[0] != classes[2]);
  CHECK(classes[0] != classes[1]);
  // Messages there and back cross equivalent links in the same order.
  const std::vector<std::vector<Phase>> alike{message(0, 2), message(3, 1)};
  const auto alike_classes =
      execution::classes_of_groups(placement, alike, std::vector<std::uint64_t>(2, 1));
  CHECK(alike_classes[0] == alike_classes[1]);
}
