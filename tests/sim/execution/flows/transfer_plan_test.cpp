#include "sim/execution/flows/transfer_plan.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using namespace pipewright::tests;
namespace sg4 = cluster::sg4;

namespace {

std::shared_ptr<const execution::TransferPlan> transfer_plan(
    Collective kind, double bytes, const Members& members, const RankPlacement& placement,
    Algorithm algorithm = Algorithm::ring) {
  return execution::make_transfer_plan(plan(kind, bytes, members, algorithm, placement), placement);
}

}  // namespace

TEST_CASE("two rings that cross one oversubscribed uplink have half of it each", "[collectives]") {
  // Two nodes have two GPUs with NICs of 10 GB/s each, but an uplink of only 10 GB/s.
  const auto cluster = make_cluster({.gpus = {2, 2}, .uplink = 10});
  const RankPlacement placement(cluster, cluster.gpus());
  const double S = 100e6;
  const double latency = 2 * outside;
  const auto ring = [&](std::uint32_t lane) {
    return plan(Collective::all_reduce, S, Members{lane, lane + 2}, Algorithm::ring, placement);
  };
  CHECK(simulate_all(placement, {ring(0)})[0] == Approx(latency + S / nic).epsilon(1e-6));
  for (const double seconds : simulate_all(placement, {ring(0), ring(1)}))
    CHECK(seconds == Approx(latency + 2 * S / nic).epsilon(1e-6));
}

TEST_CASE("a collective shares a NIC with a transfer from point to point", "[collectives]") {
  const auto cluster = make_cluster({{1, 1, 1}});
  const RankPlacement placement(cluster, cluster.gpus());
  double of_ring = 0;
  double of_transfer = 0;
  // The ring of ranks 0 and 1 moves 1 GB each way, while 500 MB go from rank 0 to rank 2 over the
  // same NIC. Both have half of its rate until the transfer ends at 0.1 s; then the ring has all of
  // it.
  execution::start(transfer_plan(Collective::all_reduce, 1e9, {0, 1}, placement),
                   [&] { of_ring = sg4::Engine::get_clock(); });
  auto& mirror = execution::begin_mirror(cluster);
  cluster::add_actor(mirror.host(placement.host(0)), "sender", [&] {
    const cluster::Route way = placement.route(0, 2);
    sg4::Comm::sendto_async(mirror.host(way.source), mirror.host(way.destination), 500'000'000)
        ->wait();
    of_transfer = sg4::Engine::get_clock();
  });
  cluster::engine().run();
  CHECK(of_transfer == Approx(0.1).epsilon(1e-6));
  CHECK(of_ring == Approx(0.15 + 2 * outside).epsilon(1e-6));
}

TEST_CASE("phases follow each other, each with its latency", "[collectives]") {
  const auto cluster = make_cluster({{2, 2}});
  const RankPlacement placement(cluster, cluster.gpus());
  const std::vector<Phase> phases{{.flows = {{0, 1, 1e9}}, .latency = 0.5},
                                  {.flows = {}, .latency = 0.25},
                                  {.flows = {{0, 2, 1e9}, {1, 3, 2e9}}, .latency = 0}};
  CHECK(simulate_all(placement, {phases})[0] == Approx(0.01 + 0.5 + 0.25 + 0.2).epsilon(1e-9));
}

TEST_CASE("collectives start when an actor says so, many at once", "[collectives]") {
  const auto cluster = make_cluster({{8, 8}});
  const RankPlacement placement(cluster, cluster.gpus());
  const auto pairs =
      transfer_plan(Collective::all_to_all, 16e6, ranks(16), placement, Algorithm::direct);
  REQUIRE(pairs->steps[0].transfers.size() == 240);
  const double alone = outside + 8e6 / nic;
  std::vector<double> ends;
  cluster::add_actor(execution::begin_mirror(cluster).host(placement.host(3)), "caller", [&] {
    sg4::this_actor::sleep_for(1);
    for (int i = 0; i < 3; ++i)
      execution::start(pairs, [&] { ends.push_back(sg4::Engine::get_clock()); });
    sg4::this_actor::sleep_for(1);
    execution::carry_out(*pairs);
    ends.push_back(sg4::Engine::get_clock());
  });
  cluster::engine().run();
  REQUIRE(ends.size() == 4);
  // Three of the collectives share each NIC; the fourth runs alone afterwards.
  for (int i = 0; i < 3; ++i) CHECK(ends[i] == Approx(1 + outside + 3 * 8e6 / nic).epsilon(1e-9));
  CHECK(ends[3] == Approx(2 + alone).epsilon(1e-9));
}

TEST_CASE("a collective of one rank is over at once", "[collectives]") {
  const auto cluster = make_cluster({{2}});
  const RankPlacement placement(cluster, cluster.gpus());
  CHECK(simulate_all(placement, {plan(Collective::all_reduce, 1e9, Members{1}, Algorithm::automatic,
                                      placement)})[0] == 0);
}
