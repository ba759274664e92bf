#include "analysis/commlogs/reports/interference_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace pipewright::analysis {
namespace {

Interference sample() {
  Interference found{.cluster = "mine.xml", .ranks = 16, .layout = "tp 4, dp 2, pp 2"};
  found.traffic = {{.name = "dp",
                    .operation = "all-reduce of 256.0 MiB",
                    .by = "ring, Simple",
                    .groups = 8,
                    .ranks = 2,
                    .one_group = 10e-3,
                    .alone = 15e-3},
                   {.name = "pp",
                    .operation = "32.0 MiB each way",
                    .by = "direct, Simple",
                    .groups = 8,
                    .ranks = 2,
                    .one_group = 1e-3,
                    .alone = 1e-3}};
  found.encounters = {{.one = 0,
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
  return found;
}

}  // namespace

TEST_CASE("slow-downs are told by rows beside columns", "[comm]") {
  const Interference found = sample();
  CHECK(found.slow_down(0, 0) == Approx(1.5));
  CHECK(found.slow_down(0, 1) == Approx(2));
  CHECK(found.slow_down(1, 0) == Approx(4));
  CHECK(
      interference_text(found) ==
      "mine.xml: 16 ranks, tp 4, dp 2, pp 2\n"
      "\n"
      "                                                                    one group  all groups\n"
      "traffic  groups  of ranks  collective               by                  alone     at once\n"
      "dp            8         2  all-reduce of 256.0 MiB  ring, Simple     10.00 ms    15.00 ms\n"
      "pp            8         2  32.0 MiB each way        direct, Simple   1.000 ms    1.000 ms\n"
      "\n"
      "How many times as long a row takes while a column sends all the time; beside itself: all\n"
      "its groups at once, against one of them alone.\n"
      "\n"
      "       beside  beside\n"
      "slows      dp      pp\n"
      "dp      x1.50   x2.00\n"
      "pp      x4.00   x1.00\n"
      "\n"
      "Both start at the same time, once:\n"
      "\n"
      "both once     alone  together  shared links  the busiest         bytes of each\n"
      "dp         15.00 ms  16.00 ms  32 nic        nic-0_UP     256.0 MiB + 32.0 MiB\n"
      "+ pp       1.000 ms  3.000 ms\n");
}

TEST_CASE("the JSON of interference names what meets where", "[comm]") {
  const auto json = nlohmann::json::parse(interference_json(sample()));
  CHECK(json["traffic"][0]["slow_down_by_own_groups"] == Approx(1.5));
  const auto& two = json["encounters"][0];
  CHECK(two["one"] == "dp");
  CHECK(two["one_slow_down"] == Approx(2));
  CHECK(two["other_slow_down"] == Approx(4));
  CHECK(two["other_together_s"] == Approx(3e-3));
  CHECK(two["shared_links"][0]["busiest"] == "nic-0_UP");
  CHECK(two["shared_links"][0]["one_bytes"] == 256 << 20U);
}

TEST_CASE("kinds of traffic that share nothing say so, and names stay text", "[comm]") {
  Interference found = sample();
  found.encounters[0].shared.clear();
  found.cluster = "\x1b[2J";
  found.traffic[0].name = "d\np";
  const std::string text = interference_text(found);
  CHECK_THAT(text, Catch::Contains("none") && Catch::Contains("d\\np"));
  CHECK(text.find('\x1b') == std::string::npos);
}

}  // namespace pipewright::analysis
