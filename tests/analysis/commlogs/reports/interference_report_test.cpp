#include "analysis/commlogs/reports/interference_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace pipewright::analysis {
namespace {

Interference sample() {
  Interference interference{.cluster = "mine.xml", .ranks = 16, .layout = "tp 4, dp 2, pp 2"};
  interference.traffic = {{.name = "dp",
                           .operation = "all-reduce of 256.0 MiB",
                           .method = "ring, Simple",
                           .groups = 8,
                           .ranks = 2,
                           .one_group = 10e-3,
                           .alone = 15e-3},
                          {.name = "pp",
                           .operation = "32.0 MiB each way",
                           .method = "direct, Simple",
                           .groups = 8,
                           .ranks = 2,
                           .one_group = 1e-3,
                           .alone = 1e-3}};
  interference.encounters = {{.one = 0,
                              .other = 1,
                              .one_busy = 30e-3,
                              .other_busy = 4e-3,
                              .one_together = 16e-3,
                              .other_together = 3e-3,
                              .shared = {{.link_class = "nic",
                                          .links = 32,
                                          .busiest = "nic-0_UP",
                                          .bandwidth = 24e9,
                                          .bytes = 256 << 20U,
                                          .other_bytes = 32 << 20U}}}};
  return interference;
}

}  // namespace

TEST_CASE("the text of interference has traffic, slow-downs and pairs", "[comm]") {
  const Interference interference = sample();
  CHECK(interference.slow_down(0, 0) == Approx(1.5));
  CHECK(interference.slow_down(0, 1) == Approx(2));
  CHECK(interference.slow_down(1, 0) == Approx(4));
  CHECK(
      interference_text(interference) ==
      "mine.xml: 16 ranks, tp 4, dp 2, pp 2\n"
      "\n"
      "                                                                      one group  all "
      "groups\n"
      "traffic  groups  group size  collective               algorithm           alone     at "
      "once\n"
      "dp            8           2  all-reduce of 256.0 MiB  ring, Simple     10.00 ms    15.00 "
      "ms\n"
      "pp            8           2  32.0 MiB each way        direct, Simple   1.000 ms    1.000 "
      "ms\n"
      "\n"
      "Slow-down of the traffic in a row while that of a column sends without pause. The diagonal\n"
      "compares all groups of a kind at once with a single group.\n"
      "\n"
      "        beside  beside\n"
      "slowed      dp      pp\n"
      "dp       x1.50   x2.00\n"
      "pp       x4.00   x1.00\n"
      "\n"
      "Each pair, started once at the same time:\n"
      "\n"
      "pair     alone  together  shared links  busiest link         bytes over it\n"
      "dp    15.00 ms  16.00 ms  32 nic        nic-0_UP      256.0 MiB + 32.0 MiB\n"
      "+ pp  1.000 ms  3.000 ms\n");
}

TEST_CASE("the JSON of interference names pairs and their shared links", "[comm]") {
  const auto json = nlohmann::json::parse(interference_json(sample()));
  CHECK(json["traffic"][0]["slow_down_by_own_groups"] == Approx(1.5));
  const auto& encounter = json["encounters"][0];
  CHECK(encounter["one"] == "dp");
  CHECK(encounter["one_slow_down"] == Approx(2));
  CHECK(encounter["other_slow_down"] == Approx(4));
  CHECK(encounter["other_together_s"] == Approx(3e-3));
  CHECK(encounter["shared_links"][0]["busiest"] == "nic-0_UP");
  CHECK(encounter["shared_links"][0]["one_bytes"] == 256 << 20U);
}

TEST_CASE("traffic without shared links says so, and names have no control characters", "[comm]") {
  Interference interference = sample();
  interference.encounters[0].shared.clear();
  interference.cluster = "\x1b[2J";
  interference.traffic[0].name = "d\np";
  const std::string text = interference_text(interference);
  CHECK_THAT(text, Catch::Contains("none") && Catch::Contains("d\\np"));
  CHECK(text.find('\x1b') == std::string::npos);
}

}  // namespace pipewright::analysis
