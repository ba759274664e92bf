#include "analysis/report/search/front.hpp"

#include <catch2/catch.hpp>

#include "analysis/report/search/search_runs.hpp"
#include "support/random.hpp"

using namespace pipewright::analysis;
using namespace pipewright::tests;

namespace {

struct Point {
  std::uint64_t bytes;
  double seconds;
};

bool better(const Point& a, const Point& b) {
  return a.bytes <= b.bytes && a.seconds <= b.seconds &&
         (a.bytes < b.bytes || a.seconds < b.seconds);
}

}  // namespace

TEST_CASE("a front dominates slower points with at least as much memory") {
  Front front;
  CHECK_FALSE(front.dominates(0, 1e9));
  front.add(10, 1.0);
  CHECK(front.dominates(10, 1.5));
  CHECK(front.dominates(11, 1.0));
  CHECK_FALSE(front.dominates(10, 1.0));  // as good is not worse
  CHECK_FALSE(front.dominates(9, 50));
  CHECK_FALSE(front.dominates(50, 0.9));
  front.add(8, 2.0);
  front.add(9, 0.5);  // takes the place of the first
  CHECK(front.dominates(10, 1.0));
  CHECK(front.dominates(8, 2.1));
}

TEST_CASE("a front dominates whatever one of its points dominates, in any order") {
  Random random(3);
  for (int round = 0; round < 100; ++round) {
    Front front;
    std::vector<Point> points;
    for (int i = 0; i < 40; ++i) {
      const Point point{random.whole(0, 15), random.whole(0, 15) / 4.0};
      const bool expected = std::ranges::any_of(points, [&](auto& p) { return better(p, point); });
      CHECK(front.dominates(point.bytes, point.seconds) == expected);
      front.add(point.bytes, point.seconds);
      points.push_back(point);
    }
  }
}

TEST_CASE("a Pareto front has the simulated rows of its group that no row dominates") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const SearchRun run = sample_search(seed, 40);
    for (const std::uint32_t group : {0U, 1U}) {
      std::vector<std::size_t> expected;
      for (std::size_t i = 0; i < run.rows.size(); ++i) {
        const CandidateRow& row = run.rows[i];
        if (row.outcome != Outcome::simulated || row.group != group) continue;
        bool beaten = false;
        for (std::size_t k = 0; k < run.rows.size(); ++k) {
          const CandidateRow& other = run.rows[k];
          if (other.outcome != Outcome::simulated || other.group != group || k == i) continue;
          const Point a{other.peak_bytes, other.time_s};
          const Point b{row.peak_bytes, row.time_s};
          beaten |= better(a, b) || (k < i && a.bytes == b.bytes && a.seconds == b.seconds);
        }
        if (!beaten) expected.push_back(i);
      }
      std::vector<std::size_t> front = pareto_front(run, group);
      CHECK(
          std::ranges::is_sorted(front, {}, [&](std::size_t i) { return run.rows[i].peak_bytes; }));
      std::ranges::sort(front);
      CHECK(front == expected);
    }
  }
}

TEST_CASE("the first of equal rows is on the front and ranks first") {
  SearchRun run;
  run.groups = {"one"};
  run.rows = {simulated_row(4, 2, 50), simulated_row(7, 1, 70), simulated_row(9, 1, 70),
              simulated_row(11, 1, 60)};
  CHECK(pareto_front(run, 0) == std::vector<std::size_t>{0, 3});
  CHECK(ranking(run) == std::vector<std::size_t>{3, 1, 2, 0});
}

TEST_CASE("a row that misses the floor ranks last") {
  SearchRun run;
  run.objective.kind = Objective::Kind::memory;
  run.objective.floor = 16384 / 1.5;
  run.rows = {simulated_row(0, 2, 50), simulated_row(1, 1, 70), simulated_row(2, 1.4, 65)};
  CHECK(ranking(run) == std::vector<std::size_t>{2, 1, 0});
}
