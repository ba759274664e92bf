#include "analysis/report/search/why_not.hpp"

#include <catch2/catch.hpp>

#include "analysis/report/search/search_runs.hpp"

using namespace pipewright::analysis;
using namespace pipewright::tests;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

SearchRun run_of(std::vector<CandidateRow> rows) {
  SearchRun run;
  run.axes = {{"parallel.tp", "tp", {"1", "2", "4", "8"}}};
  run.groups = {"a model on a cluster"};
  run.finished = true;
  run.rows = std::move(rows);
  return run;
}

CandidateRow misfit(std::uint64_t candidate) {
  CandidateRow row = simulated_row(candidate, 1, 99 * gib);
  row.outcome = Outcome::does_not_fit;
  row.note = "device 0 would hold 99.0 GiB of 80.0 GiB";
  return row;
}

}  // namespace

TEST_CASE("the best match of a condition is compared with the best candidate", "[winner]") {
  const SearchRun run = run_of({simulated_row(0, 1, 60 * gib), simulated_row(1, 1.25, 40 * gib)});
  const std::string text =
      why_not_answer(run, {"tp == 2", run_of({run.rows[1], misfit(2)}), ""}).text();
  CHECK_THAT(text, Contains("why not tp == 2?\n"
                            "  2 candidates\n"
                            "  best that meets it: tp 2 (best: 1)\n"
                            "  20.0 % behind, +250.0 ms for the same work, -20.0 GiB memory\n"));
}

TEST_CASE("the best candidate may meet the condition itself", "[winner]") {
  const SearchRun run = run_of({simulated_row(0, 1, 60 * gib)});
  CHECK_THAT(why_not_answer(run, {"tp == 1", run, ""}).text(),
             Contains("  the best meets the condition\n"));
  CHECK(why_not_json(run, {"tp == 1", run, ""})["loses"].is_null());
}

TEST_CASE("without a match that fits, the nearest match and the reason are named", "[winner]") {
  const SearchRun run = run_of({simulated_row(0, 1, 60 * gib)});
  const std::string text = why_not_answer(run, {"tp == 4", run_of({misfit(2)}), ""}).text();
  CHECK_THAT(text, Contains("nothing was found: no candidate fits; the nearest, tp 4, holds 99"));
  CHECK_THAT(text, Contains("device 0 would hold 99.0 GiB of 80.0 GiB"));
}

TEST_CASE("a match that is better than the best of a stopped search is reported", "[winner]") {
  const SearchRun run = run_of({simulated_row(0, 1, 60 * gib)});
  CHECK_THAT(why_not_answer(run, {"tp == 2", run_of({simulated_row(1, 0.5, 40 * gib)}), ""}).text(),
             Contains("better than the best that the search had found"));
}
