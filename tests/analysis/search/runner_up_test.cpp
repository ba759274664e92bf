#include "analysis/search/runner_up.hpp"

#include <numeric>

#include <catch2/catch.hpp>

#include "analysis/search/search_runs.hpp"

using namespace pipewright::analysis;
using namespace pipewright::tests;

namespace {

// 1F1B with F = 1 s, B = 2 s: an iteration takes 3 (m + p - 1), of which 3 m is computing.
CandidateRow one_f_one_b(std::uint64_t candidate, double devices, double microbatches) {
  CandidateRow row = simulated_row(candidate, 3 * (microbatches + devices - 1), 100);
  row.parts = {.compute = 3 * microbatches, .idle = 3 * (devices - 1)};
  row.work.samples = microbatches;
  row.work.tokens = 10 * microbatches;
  return row;
}

SearchRun run_of(std::vector<CandidateRow> rows) {
  SearchRun run;
  run.groups = {"g"};
  run.axes = {{"parallel.pp", "pp", {"2", "4"}}, {"schedule", "schedule", {"1f1b", "zb-1p"}}};
  run.rows = std::move(rows);
  return run;
}

double total(const Comparison& comparison) {
  double seconds = 0;
  for (const Comparison::Part& part : comparison.parts) seconds += part.seconds;
  return seconds;
}

}  // namespace

TEST_CASE("more devices of 1F1B lose by their bubble alone") {
  // 8 microbatches: 27 s on 2 devices, 33 s on 4.
  const SearchRun run = run_of({one_f_one_b(0, 2, 8), one_f_one_b(2, 4, 8)});
  const auto lost = runner_up(run, find(run));
  REQUIRE(lost);
  CHECK(lost->better == 0);
  CHECK(lost->worse == 1);
  CHECK(lost->seconds == Approx(6));
  CHECK(lost->behind == Approx(1 - 27.0 / 33));
  CHECK(parts_text(*lost) == "+22.2 % bubble");
  REQUIRE(lost->axes.size() == 1);
  CHECK(axes_text(run, *lost) == "pp 4 for 2");
}

TEST_CASE("iterations of unlike lengths are compared for the same work") {
  // 16 microbatches on 4 devices take 57 s: 28.5 s for the work of 8.
  const SearchRun run = run_of({one_f_one_b(0, 2, 8), one_f_one_b(3, 4, 16)});
  const Comparison lost = compare_rows(run, 0, 1);
  CHECK(lost.seconds == Approx(1.5));
  CHECK(lost.behind == Approx(1 - 27 / 28.5));
  CHECK(parts_text(lost) == "+5.6 % bubble");
  CHECK(axes_text(run, lost) == "pp 4 for 2, schedule zb-1p for 1f1b");
}

TEST_CASE("parts come largest first and add up to the difference") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SearchRun run = sample_search(seed, 20);
    const Findings findings = find(run);
    for (std::size_t i = 1; i < findings.ranked.size(); ++i) {
      const Comparison lost = compare_rows(run, findings.ranked[0], findings.ranked[i]);
      CHECK(total(lost) == Approx(lost.seconds).margin(1e-9));
      CHECK(std::ranges::is_sorted(lost.parts, std::ranges::greater{},
                                   [](const auto& part) { return std::abs(part.seconds); }));
      CHECK(lost.behind >= 0);
    }
  }
}

TEST_CASE("what is as good loses by nothing") {
  const SearchRun run = run_of({one_f_one_b(0, 2, 8), one_f_one_b(1, 2, 8)});
  const auto lost = runner_up(run, find(run));
  REQUIRE(lost);
  CHECK(lost->behind == 0);
  CHECK(parts_text(*lost) == "the same times");
}

TEST_CASE("there is a runner-up only among two that reach the objective") {
  SearchRun run = run_of({one_f_one_b(0, 2, 8)});
  CHECK_FALSE(runner_up(run, find(run)));
  run = run_of({one_f_one_b(0, 2, 8), one_f_one_b(2, 4, 8)});
  run.objective = {.kind = Objective::Kind::memory, .floor = 80 / 30.0};
  CHECK_FALSE(runner_up(run, find(run)));
  run.objective.floor = 80 / 40.0;
  CHECK(runner_up(run, find(run)));
}
