#include <catch2/catch.hpp>

#include "schedules/catalog.hpp"
#include "support/program.hpp"

using namespace pipewright;

TEST_CASE("schedule list names every schedule of the catalog", "[cli]") {
  const tests::Ran ran = tests::Workplace().run("schedule list");
  CHECK(ran.status == 0);
  for (const auto& entry : schedules::catalog())
    CHECK_THAT(ran.out, Catch::Contains(std::string(entry.name) + " "));
}

TEST_CASE("schedule show draws a schedule or writes it for PyTorch", "[cli]") {
  const tests::Workplace place;
  CHECK_THAT(place.run("schedule show 1f1b -s 3 -b 3").out,
             Catch::Contains("device 2 | .  .  F0 B0    F1 B1    F2 B2"));
  CHECK(place.run("schedule show gpipe -s 2 -b 2 --format csv").out ==
        "0F0,0F1,0B0,0B1\r\n1F0,1F1,1B0,1B1\r\n");
  CHECK_THAT(place.run("schedule show interleaved-1f1b -s 2 -b 4 --chunks 3").out,
             Catch::Contains("3 chunks a device"));
}

TEST_CASE("schedule refuses what it does not know", "[cli]") {
  const tests::Workplace place;
  const auto error = [&](const std::string& words) {
    const tests::Ran ran = place.run(words);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    return ran.err;
  };
  CHECK_THAT(error("schedule show 9f9b"), Catch::Contains("no schedule is called '9f9b'"));
  CHECK_THAT(error("schedule show"), Catch::Contains("one schedule's name"));
  CHECK_THAT(error("schedule draw"), Catch::Contains("'list' or 'show', not 'draw'"));
  CHECK_THAT(error("schedule show 1f1b --format pdf"), Catch::Contains("there are text and csv"));
  CHECK_THAT(error("schedule show 1f1b -s x"), Catch::Contains("--num-stages"));
  CHECK_THAT(error("schedule show 1f1b -s -3"), Catch::Contains("-3"));
  CHECK_THAT(error("schedule show 1f1b-2bw --format csv"), Catch::Contains("weight version"));
}
