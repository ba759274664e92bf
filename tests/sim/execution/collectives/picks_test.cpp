#include "sim/execution/collectives/picks.hpp"

#include <catch2/catch.hpp>

#include "sim/config/text/library.hpp"
#include "sim/execution/collectives/least_time.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using namespace pipewright::tests;
using execution::Picks;

TEST_CASE("picks are those for a size and for each larger one", "[picks]") {
  // Variant 0 is estimated to be best up to 1,000 bytes, variant 2 from there up to a million, and
  // variant 1 for more.
  const auto estimate = [](std::size_t variant, double bytes) {
    const std::size_t best = bytes <= 1e3 ? 0 : bytes <= 1e6 ? 2 : 1;
    return variant == best ? 1.0 : 2.0;
  };
  const Picks picks(3, estimate);
  CHECK(picks.from(8, estimate) == 0b111);
  CHECK(picks.from(1e3, estimate) == 0b111);
  CHECK(picks.from(1e4, estimate) == 0b110);
  CHECK(picks.from(2e6, estimate) == 0b010);
  CHECK(picks.from(0x1p50, estimate) == 0b010);
  CHECK(Picks::contains(0b110, 2));
  CHECK_FALSE(Picks::contains(0b110, 0));
}

TEST_CASE("no collective takes less time for more bytes", "[picks]") {
  for (const char* const name : {"a100-roce", "dgx-h100", "p4d", "mi300x-roce", "gb200-nvl72"}) {
    const auto cluster =
        cluster::Cluster::load(config::library_file("clusters", name, ".xml"), name);
    const RankPlacement placement(cluster, cluster.gpus());
    for (const Collective kind : {Collective::all_reduce, Collective::all_gather,
                                  Collective::reduce_scatter, Collective::all_to_all})
      for (const Members& members :
           {ranks(2), ranks(8), ranks(16), ranks(2, 0, placement.size() / 2)}) {
        const execution::LeastTime time(kind, {members}, Algorithm::automatic, placement, false);
        double last = 0;
        for (double bytes = 8; bytes < 0x1p34; bytes *= 1.3) {
          CAPTURE(name, static_cast<int>(kind), members.size(), bytes);
          const double seconds = time.seconds(static_cast<std::uint64_t>(bytes));
          REQUIRE(seconds >= last * (1 - 1e-12));
          last = seconds;
        }
      }
  }
}
