#include "sim/comm/fair_share.hpp"

#include <limits>

#include <catch2/catch.hpp>

#include "support/random.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using comm::FairShare;
using comm::FairSharing;
using comm::FlowPath;

namespace {

std::vector<FairShare> share(FairSharing& sharing, const std::vector<FlowPath>& paths) {
  std::vector<const FlowPath*> flows;
  for (const FlowPath& path : paths) flows.push_back(&path);
  return sharing.share(flows);
}

std::vector<FairShare> share(std::vector<double> bandwidth, const std::vector<FlowPath>& paths) {
  FairSharing sharing(std::move(bandwidth));
  return share(sharing, paths);
}

// Checks the computed rates: if each flow gets bytes in proportion to its rate, all flows end at
// the same time in SimGrid.
void check_against_simgrid(const tests::Shape& shape) {
  auto cluster = tests::make_cluster(shape);
  const execution::RankPlacement placement(cluster, cluster.gpus());
  comm::Paths paths(cluster, cluster.gpus());
  tests::Random random(11);
  for (int trial = 0; trial < 5; ++trial) {
    std::vector<execution::Flow> flows;
    while (flows.size() < 25) {
      const std::uint32_t from = random.whole(0, placement.size() - 1);
      const std::uint32_t to = random.whole(0, placement.size() - 1);
      if (from != to) flows.push_back({from, to, 0});
    }
    std::vector<FlowPath> flow_paths;
    for (const auto& flow : flows) flow_paths.push_back(paths.path(flow.source, flow.destination));
    const auto shares = share(paths.bandwidth(), flow_paths);
    std::vector<std::vector<execution::Phase>> plans;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      flows[i].bytes = shares[i].rate * 3;
      plans.push_back({{.flows = {flows[i]}}});
    }
    for (const double seconds : tests::simulate_all(placement, plans))
      CHECK(seconds == Approx(3).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("flows over one link get equal shares", "[comm]") {
  const auto shares = share({12}, {{{0}}, {{0}}, {{0}}});
  for (const FairShare& flow_share : shares) {
    CHECK(flow_share.rate == Approx(4));
    CHECK(flow_share.bottleneck == 0);
  }
}

TEST_CASE("bandwidth that a flow cannot use is available to others", "[comm]") {
  // Example of Bertsekas and Gallager: one long flow over links that other flows use as well.
  const auto shares = share({1, 1, 2}, {{{0, 1, 2}}, {{0}}, {{0}}, {{1}}, {{2}}});
  CHECK(shares[0].rate == Approx(1.0 / 3));
  CHECK(shares[1].rate == Approx(1.0 / 3));
  CHECK(shares[3].rate == Approx(2.0 / 3));
  CHECK(shares[4].rate == Approx(5.0 / 3));
  CHECK(shares[0].bottleneck == 0);
  CHECK(shares[4].bottleneck == 2);
}

TEST_CASE("a cap keeps a flow below its share of a link", "[comm]") {
  const auto shares = share({10}, {{{0}, 2}, {{0}}, {{0}, 100}});
  CHECK(shares[0].rate == Approx(2));
  CHECK(shares[0].bottleneck == FairShare::no_link);
  CHECK(shares[1].rate == Approx(4));
  CHECK(shares[2].rate == Approx(4));
}

TEST_CASE("a flow that crosses a link twice loads it with twice its rate", "[comm]") {
  const auto shares = share({9}, {{{0, 0}}, {{0}}});
  CHECK(shares[0].rate == Approx(3));
  CHECK(shares[1].rate == Approx(3));
}

TEST_CASE("flows without links are unlimited, and no flows have no shares", "[comm]") {
  CHECK(share({1}, {{}, {{0}}})[0].rate == std::numeric_limits<double>::infinity());
  CHECK(share({1}, {}).empty());
}

TEST_CASE("in random networks, every flow is among the fastest on its bottleneck link", "[comm]") {
  tests::Random random(7);
  for (int trial = 0; trial < 200; ++trial) {
    const std::uint32_t links = random.whole(1, 12);
    const std::vector<double> bandwidth = random.reals(links, 1, 10);
    FairSharing sharing(bandwidth);
    for (int use = 0; use < 2; ++use) {  // state from earlier calls has no effect
      std::vector<FlowPath> paths(random.whole(1, 30));
      for (FlowPath& path : paths) {
        for (std::uint32_t hops = random.whole(1, 4); hops > 0; --hops)
          path.links.push_back(random.whole(0, links - 1));
        if (random.flip()) path.cap = random.real(0.1, 5);
      }
      const auto shares = share(sharing, paths);
      std::vector<double> load(links);
      std::vector<double> fastest(links);
      for (std::size_t i = 0; i < paths.size(); ++i)
        for (const std::uint32_t link : paths[i].links) {
          load[link] += shares[i].rate;
          fastest[link] = std::max(fastest[link], shares[i].rate);
        }
      for (std::size_t i = 0; i < paths.size(); ++i) {
        REQUIRE(shares[i].rate > 0);
        if (shares[i].bottleneck == FairShare::no_link) {
          CHECK(shares[i].rate == paths[i].cap);
          continue;
        }
        // The bottleneck link of a flow is saturated, and no flow on it is faster: this defines
        // max-min fairness.
        const std::uint32_t link = shares[i].bottleneck;
        CHECK(shares[i].rate == Approx(fastest[link]).epsilon(1e-9));
        CHECK(load[link] == Approx(bandwidth[link]).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("rates are equal to SimGrid's if NICs share an unlimited fabric", "[comm]") {
  check_against_simgrid({.gpus = {4, 4, 4}});
}

TEST_CASE("rates are equal to SimGrid's if nodes have uplinks", "[comm]") {
  check_against_simgrid({.gpus = {4, 4, 4, 4}, .uplink = 15});
}

TEST_CASE("rates are equal to SimGrid's if nodes differ in size", "[comm]") {
  check_against_simgrid({.gpus = {3, 5, 2}, .uplink = 12, .one_nic = true});
}
