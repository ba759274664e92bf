#include "sim/execution/collectives/least_time.hpp"

#include <algorithm>
#include <array>

#include <catch2/catch.hpp>

#include "support/random.hpp"
#include "tests/sim/execution/collectives/support.hpp"

// Tests LeastTime, a bound that is planned once and evaluated for any number of bytes, against
// plans for these bytes and against simulations.

using namespace pipewright;
using execution::LeastTime;
using tests::Algorithm;
using tests::Collective;

namespace {

constexpr std::array kinds{Collective::all_reduce, Collective::reduce_scatter,
                           Collective::all_gather, Collective::all_to_all,
                           Collective::ring_exchange};
constexpr std::array algorithms{Algorithm::automatic, Algorithm::ring, Algorithm::tree,
                                Algorithm::hierarchical, Algorithm::direct};

struct PlacedCluster {
  explicit PlacedCluster(const tests::Shape& shape)
      : cluster(tests::make_cluster(shape)),
        placement(cluster, cluster.place({}, static_cast<std::uint32_t>(cluster.gpus().size()))) {}

  cluster::Cluster cluster;
  tests::RankPlacement placement;
};

}  // namespace

TEST_CASE("the bound of a single group equals the time of its plan for any number of bytes",
          "[least]") {
  const PlacedCluster placed({{4, 4, 2}});
  tests::Random random(9);
  for (const Collective kind : kinds)
    for (const Algorithm algorithm : algorithms)
      for (const tests::Members& group : {tests::ranks(2), tests::ranks(4), tests::ranks(2, 0, 4),
                                          tests::ranks(8), tests::ranks(10)}) {
        const LeastTime bound(kind, {group}, algorithm, placed.placement);
        for (int i = 0; i < 10; ++i) {
          const std::uint64_t bytes = std::uint64_t{840} * 64 * random.whole(1, 1U << (2 * i));
          CAPTURE(static_cast<int>(kind), static_cast<int>(algorithm), group.size(), bytes);
          const double alone = execution::uncontended_seconds(
              execution::plan(kind, static_cast<double>(bytes), group, algorithm, placed.placement),
              placed.placement);
          CHECK(bound.seconds(bytes) == Approx(alone).epsilon(1e-9));
        }
      }
}

TEST_CASE("the bound of several groups does not exceed their simulation, also on shared links",
          "[least]") {
  const PlacedCluster placed({{4, 4, 4}, 6, true});
  tests::Random random(10);
  double tightness = 0;
  int count = 0;
  for (const Collective kind : kinds)
    for (const Algorithm algorithm : algorithms)
      for (const std::uint32_t size : {2U, 3U, 4U, 6U}) {
        std::vector<tests::Members> groups;
        for (std::uint32_t first = 0; first < 12 / size; ++first)
          groups.push_back(random.flip() ? tests::ranks(size, first, 12 / size)
                                         : tests::ranks(size, first * size));
        // A rank may belong to two groups here, which does not happen in a job, so that groups
        // share links.
        const std::uint64_t bytes = random.whole(1'000'000, 100'000'000);
        std::vector<std::vector<tests::Phase>> plans;
        for (const auto& group : groups)
          plans.push_back(execution::plan(kind, static_cast<double>(bytes), group, algorithm,
                                          placed.placement));
        const double simulated = std::ranges::max(tests::simulate_all(placed.placement, plans));
        const double bound = LeastTime(kind, groups, algorithm, placed.placement).seconds(bytes);
        const double separate_bound =
            LeastTime(kind, groups, algorithm, placed.placement, false).seconds(bytes);
        CAPTURE(static_cast<int>(kind), static_cast<int>(algorithm), size, bytes);
        CHECK(bound <= simulated * (1 + 1e-9));
        CHECK(separate_bound <= bound * (1 + 1e-5));  // except for rounded bytes
        tightness += bound / simulated;
        ++count;
      }
  CHECK(tightness / count > 0.8);
}

TEST_CASE("one rank, or no bytes, take no time", "[least]") {
  const PlacedCluster placed({{2}});
  CHECK(LeastTime(Collective::all_reduce, {{0}}, Algorithm::automatic, placed.placement)
            .seconds(100) == 0);
  CHECK(LeastTime(Collective::all_reduce, {{0, 1}}, Algorithm::ring, placed.placement).seconds(0) ==
        0);
}
