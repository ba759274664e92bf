#include "analysis/report/search/robustness.hpp"

#include <catch2/catch.hpp>

#include "analysis/report/search/search_runs.hpp"

using namespace pipewright::analysis;
using namespace pipewright::tests;
using Catch::Matchers::Contains;

TEST_CASE("candidates that tie in a draw share the win", "[winner]") {
  const auto all = standings(two_candidates(), robustness({1, 2, 2, 2}, {2, 1, 2, 4}));
  CHECK(all[0].conditions.wins == Approx(2.5 / 4));
  CHECK(all[1].conditions.wins == Approx(1.5 / 4));
}

TEST_CASE("the worst loss is against the best candidate of the draw", "[winner]") {
  const auto all = standings(two_candidates(), robustness({1, 2}, {4, 1}));
  // Throughput is 1 / time: in its worst draw, one candidate has half of the other's throughput (1
  // s against 2 s), and the other a quarter (1 s against 4 s).
  CHECK(all[0].conditions.worst == Approx(0.5));
  CHECK(all[1].conditions.worst == Approx(0.75));
}

TEST_CASE("differences are paired, so that a common slowdown makes no tie", "[winner]") {
  const auto all = standings(two_candidates(), robustness({1, 10, 3}, {1.25, 12.5, 3.75}));
  CHECK(all[1].conditions.behind.least == Approx(0.2));
  CHECK(all[1].conditions.behind.most == Approx(0.2));
  CHECK_FALSE(all[1].conditions.is_tie());
  CHECK(standings(two_candidates(), robustness({1, 2}, {2, 1}))[1].conditions.is_tie());
}

TEST_CASE("the model's own error decides where the conditions alone do not", "[winner]") {
  Robustness robust = robustness({1, 1}, {1.25, 1.25});
  robust.rows[1].own_error = {0.5, 1};
  const auto all = standings(two_candidates(), robust);
  CHECK(all[1].conditions.wins == 0);
  CHECK(all[1].with_error.wins == Approx(0.5));
}

TEST_CASE("a time band includes the error that all layouts share", "[winner]") {
  Robustness robust = robustness({1, 1}, {2, 2});
  robust.rows[0].whole_error = {0.9, 1.1};
  const auto all = standings(two_candidates(), robust);
  // The range runs from the 5th to the 95th percentile, interpolated linearly between 0.9 and 1.1.
  CHECK(all[0].seconds.least == Approx(0.91));
  CHECK(all[0].seconds.most == Approx(1.09));
}

TEST_CASE("a draw with a failed simulation is not compared", "[winner]") {
  const auto all = standings(two_candidates(), robustness({1, 1}, {0, 2}));
  CHECK(all[1].conditions.behind.least == Approx(0.5));
  CHECK(all[1].conditions.behind.most == Approx(0.5));
}

TEST_CASE("a report on one requested candidate does not deny other candidates", "[winner]") {
  Robustness robust = robustness({1, 1}, {});
  robust.rows.resize(1);
  CHECK_THAT(robustness_answer(two_candidates(), robust).text(),
             Contains("no other candidate differs in time or memory\n"));
  robust.top = 1;
  CHECK_THAT(robustness_answer(two_candidates(), robust).text(),
             Contains("no comparison: only one candidate was requested (top=1)\n"));
}

TEST_CASE("a report names ties and perturbations that change the winner", "[winner]") {
  Robustness robust = robustness({1, 1}, {0.5, 2});
  robust.perturbations = {{.parameter = "bandwidth of nic",
                           .is_decrease = true,
                           .factor = 0.5,
                           .value = 12.5e9,
                           .row = 1,
                           .lead = 0.02,
                           .far_factor = 0.25}};
  const std::string text = robustness_answer(two_candidates(), robust).text();
  CHECK_THAT(text, Contains("2 candidates under the same 2 draws (seed 1)\n"));
  CHECK_THAT(text, Contains("tie with 1: 2 (0 lies within 90 % of the paired differences)\n"));
  CHECK_THAT(text, Contains("bandwidth of nic below 50 % (12.5 GB/s): 2 wins, by 2.0 % at 25 %\n"));
}
