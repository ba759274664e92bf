#include "sim/search/why_not.hpp"

#include <catch2/catch.hpp>

#include "support/fake_workers.hpp"
#include "tests/sim/sweep/spaces.hpp"

namespace pipewright::search::test {
namespace {

config::Value huge_tree() { return config::read_yaml_text(huge_sweep(), "s.yaml"); }

// Returns the results of a search that was stopped early and has only two candidates, both with one
// iteration.
analysis::SearchRun stopped_run(const Space& space) {
  analysis::SearchRun run{.axes = space.axes(), .combinations = space.combinations()};
  for (const std::uint32_t microbatches : {3U, 7U})
    run.rows.push_back(tests::made_up_row(
        space, space.index_of(std::vector<std::uint32_t>{1, microbatches, 0, 0, 0})));
  return run;
}

}  // namespace

TEST_CASE("a condition on very many combinations keeps to the budget and to known rows",
          "[search][why-not]") {
  const Space space = space_of(huge_sweep());
  const analysis::SearchRun whole = stopped_run(space);
  const Space part =
      part_with_constraint(huge_tree(), {{}}, "microbatches == 4 and iterations < 9", "test");
  tests::FakeWorkers workers(part, 1);
  const analysis::WhyNot answer =
      why_not(whole, part, "microbatches == 4", workers, {.budget_s = 0.0}, SearchCalls{});
  CHECK(answer.refusal.empty());
  CHECK_FALSE(answer.matches.finished);
  REQUIRE(answer.matches.rows.size() == 1);
  CHECK(answer.matches.rows.front().candidate == whole.rows.front().candidate);
}

TEST_CASE("looking for a candidate that meets a condition ends with the budget",
          "[search][why-not]") {
  const Space space = space_of(huge_sweep());
  const Space part =
      part_with_constraint(huge_tree(), {{}}, "microbatches * iterations * pp == 0", "test");
  tests::FakeWorkers workers(part, 1);
  const analysis::WhyNot answer =
      why_not(stopped_run(space), part, "nothing", workers, {.budget_s = 0.0}, SearchCalls{});
  CHECK(answer.refusal.empty());
  CHECK(answer.matches.rows.empty());
}

TEST_CASE("a condition that no combination meets is explained", "[search][why-not]") {
  const Space space = space_of(huge_sweep());
  const Space part = part_with_constraint(huge_tree(), {{}}, "pp > 300", "test");
  tests::FakeWorkers workers(part, 1);
  const analysis::WhyNot answer =
      why_not(stopped_run(space), part, "pp > 300", workers, {.budget_s = 0.0}, SearchCalls{});
  CHECK_THAT(answer.refusal, Catch::Contains("no combination meets `pp > 300`"));
}

}  // namespace pipewright::search::test
