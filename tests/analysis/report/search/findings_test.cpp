#include "analysis/report/search/findings.hpp"

#include <cmath>
#include <numeric>

#include <catch2/catch.hpp>

#include "analysis/report/search/rows.hpp"
#include "analysis/report/search/search_runs.hpp"

using namespace pipewright::analysis;
using namespace pipewright::tests;

namespace {

// Returns the row of a 1F1B candidate with p devices and m microbatches, F of 1 s and B of 2 s: the
// iteration takes 3 (m + p - 1) s, of which each device computes for 3 m s.
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

TEST_CASE("the digits of a candidate are its positions on the axes, the last axis fastest") {
  const std::vector<SearchAxis> axes{
      {"a", "a", {"x", "y"}}, {"b", "b", {"0", "1", "2"}}, {"c", "c", {"p", "q"}}};
  std::uint64_t candidate = 0;
  for (std::uint32_t a = 0; a < 2; ++a)
    for (std::uint32_t b = 0; b < 3; ++b)
      for (std::uint32_t c = 0; c < 2; ++c)
        CHECK(choices(axes, candidate++) == std::vector<std::uint32_t>{a, b, c});
}

TEST_CASE("findings count every row once and name the best") {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const SearchRun run = sample_search(seed, 30);
    const Findings found = find(run);
    CHECK(std::accumulate(found.outcomes.begin(), found.outcomes.end(), 0ULL) == run.rows.size());
    REQUIRE(found.best);
    for (const CandidateRow& row : run.rows)
      if (row.outcome == Outcome::simulated) CHECK(row.time_s >= run.rows[*found.best].time_s);
    CHECK(found.ranked.size() == found.outcomes[static_cast<std::size_t>(Outcome::simulated)]);
    for (std::size_t group = 0; group < 2; ++group)
      CHECK(found.fronts[group].back() == found.best_of_group[group]);
    for (const std::size_t i : found.failed_contenders) {
      CHECK(run.rows[i].outcome == Outcome::failed);
      CHECK(run.rows[i].bound_s < run.rows[*found.best].time_s);
    }
  }
}

TEST_CASE("reasons that differ in their numbers are one reason, the most common first") {
  SearchRun run;
  run.axes = {{"a", "a", {"1", "2", "3", "4"}}};
  run.groups = {"g"};
  const char* notes[] = {"it is cursed", "pp 3 does not divide 32 layers of 1.5 GiB",
                         "pp 12 does not divide 8 layers of 20 GiB", ""};
  for (std::uint64_t i = 0; i < 4; ++i) {
    CandidateRow row;
    row.candidate = i;
    row.outcome = i == 3 ? Outcome::failed : Outcome::illegal;
    row.note = notes[i];
    run.rows.push_back(row);
  }
  const Findings found = find(run);
  REQUIRE(found.illegal.size() == 2);
  CHECK(found.illegal[0].rows == 2);
  CHECK(found.illegal[0].example == 1);
  CHECK(found.illegal[1].example == 0);
  CHECK(found.failed.size() == 1);
  CHECK_FALSE(found.best);
}

TEST_CASE("a list at the end of a note counts only by its first element") {
  SearchRun run;
  run.axes = {{"a", "a", {"1", "2", "3"}}};
  const char* notes[] = {"device 0: 2.9 TiB of 80.0 GiB: optimizer state 1.9 TiB, weights 30 GiB",
                         "device 3: 96.0 GiB of 80.0 GiB: optimizer state 512 MiB, logits 1 GiB",
                         "device 3: 96.0 GiB of 80.0 GiB: activations 90.0 GiB"};
  for (std::uint64_t i = 0; i < 3; ++i) {
    CandidateRow row;
    row.candidate = i;
    row.outcome = Outcome::does_not_fit;
    row.note = notes[i];
    run.rows.push_back(row);
  }
  const Findings found = find(run);
  REQUIRE(found.does_not_fit.size() == 2);
  CHECK(found.does_not_fit[0].rows == 2);
  CHECK(found.does_not_fit[1].example == 2);
}

TEST_CASE("the nearest candidate misses its capacity by the least") {
  SearchRun run;
  run.axes = {{"a", "a", {"1", "2"}}};
  run.groups = {"g"};
  run.rows = {simulated_row(0, 1, std::uint64_t{200} << 30),
              simulated_row(1, 1, std::uint64_t{90} << 30)};
  for (CandidateRow& row : run.rows) row.outcome = Outcome::does_not_fit;
  CHECK(find(run).nearest == 1);
}

TEST_CASE("the best by an axis is the best of the rows with each value") {
  const SearchRun run = sample_search(5, 30);
  for (std::size_t axis = 0; axis < run.axes.size(); ++axis) {
    const std::vector<BestForValue> best = best_by(run, axis);
    CHECK(best.size() == run.axes[axis].values.size());
    for (const BestForValue& of : best) {
      double least = INFINITY;
      double bound = INFINITY;
      std::uint64_t rows = 0;
      for (const CandidateRow& row : run.rows) {
        if (choices(run.axes, row.candidate)[axis] != of.value) continue;
        ++rows;
        if (row.outcome == Outcome::simulated) least = std::min(least, row.time_s);
        if (row.outcome == Outcome::bounded_away || row.outcome == Outcome::failed)
          bound = std::min(bound, row.bound_s);
      }
      CHECK(rows == std::accumulate(of.outcomes.begin(), of.outcomes.end(), 0ULL));
      CHECK((of.row ? run.rows[*of.row].time_s : INFINITY) == least);
      CHECK(of.bound.has_value() == (bound < least));
      if (of.bound) CHECK(run.rows[*of.bound].bound_s == bound);
    }
  }
}

TEST_CASE("a relative loss is missing throughput, or additional time, money or memory") {
  Objective objective;
  CHECK(relative_loss(objective, 2.0, 1.0) == 0.5);  // half the throughput
  objective.kind = Objective::Kind::mfu;
  CHECK(relative_loss(objective, 4.0, 2.0) == 0.5);
  for (const auto kind :
       {Objective::Kind::time_to_train, Objective::Kind::price, Objective::Kind::memory}) {
    objective.kind = kind;
    CHECK(relative_loss(objective, 2.0, 1.0) == 1.0);  // twice the price
    CHECK(relative_loss(objective, 1.0, 1.0) == 0);
  }
}

TEST_CASE("1F1B on more devices loses by its bubble alone") {
  // With 8 microbatches, an iteration takes 27 s on 2 devices and 33 s on 4 devices.
  const SearchRun run = run_of({one_f_one_b(0, 2, 8), one_f_one_b(2, 4, 8)});
  const auto lost = runner_up(run, find(run));
  REQUIRE(lost);
  CHECK(lost->better == 0);
  CHECK(lost->worse == 1);
  CHECK(lost->seconds == Approx(6));
  CHECK(lost->behind == Approx(1 - 27.0 / 33));
  CHECK(parts_text(*lost) == "+22.2 % bubble");
  REQUIRE(lost->axes.size() == 1);
  CHECK(axes_text(run, *lost) == "pp 4 (best: 2)");
}

TEST_CASE("iterations of different work are compared for the same work") {
  // With 16 microbatches on 4 devices, an iteration takes 57 s, which is 28.5 s per 8 microbatches.
  const SearchRun run = run_of({one_f_one_b(0, 2, 8), one_f_one_b(3, 4, 16)});
  const Comparison lost = compare_rows(run, 0, 1);
  CHECK(lost.seconds == Approx(1.5));
  CHECK(lost.behind == Approx(1 - 27 / 28.5));
  CHECK(parts_text(lost) == "+5.6 % bubble");
  CHECK(axes_text(run, lost) == "pp 4 (best: 2), schedule zb-1p (best: 1f1b)");
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

TEST_CASE("an equivalent runner-up has no loss") {
  const SearchRun run = run_of({one_f_one_b(0, 2, 8), one_f_one_b(1, 2, 8)});
  const auto lost = runner_up(run, find(run));
  REQUIRE(lost);
  CHECK(lost->behind == 0);
  CHECK(parts_text(*lost) == "the same times");
}

TEST_CASE("a runner-up reaches the objective") {
  SearchRun run = run_of({one_f_one_b(0, 2, 8)});
  CHECK_FALSE(runner_up(run, find(run)));
  run = run_of({one_f_one_b(0, 2, 8), one_f_one_b(2, 4, 8)});
  run.objective = {.kind = Objective::Kind::memory, .floor = 80 / 30.0};
  CHECK_FALSE(runner_up(run, find(run)));
  run.objective.floor = 80 / 40.0;
  CHECK(runner_up(run, find(run)));
}

TEST_CASE("a candidate with the time of the best and half its work is not equivalent to it") {
  SearchRun run = sample_search(1, 2);
  for (CandidateRow& row : run.rows) {
    row.outcome = Outcome::simulated;
    row.work = {.gpus = 8, .samples = 4, .tokens = 4096};
    row.time_s = 1;
    row.peak_bytes = 1;
  }
  run.objective = {};
  run.rows[1].work = {.gpus = 16, .samples = 8, .tokens = 8192};
  const auto lost = runner_up(run, find(run));
  REQUIRE(lost);
  CHECK(lost->better == 1);
  CHECK(lost->behind == Approx(0.5));
  CHECK(lost->equivalents == 0);
}
