#include "sim/search/reuse.hpp"

#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "tests/sim/sweep/spaces.hpp"

namespace pipewright::search::test {
namespace {

using analysis::CandidateRow;
using analysis::Outcome;

// Returns results of a search in which every candidate is simulated and takes as many seconds as
// its number.
analysis::SearchRun all_simulated(const Space& space) {
  analysis::SearchRun run{.sweep = space.sweep().text, .axes = space.axes()};
  for (const std::uint64_t candidate : candidates_of(space))
    run.rows.push_back({.candidate = candidate,
                        .outcome = Outcome::simulated,
                        .time_s = static_cast<double>(candidate)});
  return run;
}

// Returns the scenario of a candidate as text, without keys that have their default value.
std::string scenario_of(const Space& space, std::uint64_t candidate) {
  config::Value value = space.candidate(candidate);
  std::erase_if(value.entries, [](const config::Entry& entry) {
    return entry.key == "search" || (entry.key == "p2p" && entry.value.text == "eager") ||
           (entry.key == "iterations" && entry.value.text == "1");
  });
  std::ranges::sort(value.entries, {}, &config::Entry::key);
  return config::to_yaml(value);
}

// Checks that the sweep `later` reuses exactly those results of `earlier` that have the same
// scenario, and that they are `expected` many.
void check_reused(const Space& earlier, const Space& later, std::size_t expected) {
  std::map<std::string, std::uint64_t> numbers;
  for (const std::uint64_t candidate : candidates_of(earlier))
    numbers[scenario_of(earlier, candidate)] = candidate;
  std::size_t same_scenarios = 0;
  for (const std::uint64_t candidate : candidates_of(later))
    same_scenarios += numbers.contains(scenario_of(later, candidate)) ? 1 : 0;
  CHECK(same_scenarios == expected);
  const std::vector<CandidateRow> rows = reuse(all_simulated(earlier), later);
  CHECK(rows.size() == expected);
  CHECK(std::ranges::is_sorted(rows, {}, &CandidateRow::candidate));
  for (const CandidateRow& row : rows)
    CHECK(row.time_s == static_cast<double>(numbers.at(scenario_of(later, row.candidate))));
}

const std::string sizes = "devices: [2, 4, 8]\nmicrobatches: [8, 16]\n";
const std::string passes = "forward_times: 1 ms\nbackward_times: 2 ms\n";
const std::string three = "schedule: [1f1b, gpipe, {name: interleaved-1f1b, chunks: [2, 3]}]\n";

}  // namespace

TEST_CASE("a narrower sweep reuses rows", "[search][reuse]") {
  const Space earlier = space_of(sizes + passes + three);
  check_reused(earlier, space_of(sizes + passes + three + "search: {constraints: [pp <= 4]}"), 16);
  check_reused(earlier, space_of("devices: 4\nmicrobatches: 16\n" + passes + "schedule: gpipe"), 1);
  check_reused(earlier,
               space_of(sizes + passes + "schedule: [{name: interleaved-1f1b, chunks: 3}]"), 6);
}

TEST_CASE("a wider sweep reuses rows", "[search][reuse]") {
  const Space earlier = space_of(sizes + passes + three);
  check_reused(earlier,
               space_of("microbatches: [4, 8, 16, 32]\ndevices: [8, 4, 2, 16]\n" + passes + three),
               24);
  // The new axis contains the default value, which all candidates of the earlier sweep had.
  check_reused(earlier, space_of(sizes + passes + three + "p2p: [blocking, eager]"), 24);
  check_reused(earlier, space_of(sizes + passes + three + "search: {objective: memory}"), 24);
}

TEST_CASE("no row is reused with another workload, other memory, other rules, or a goodput run",
          "[search][reuse]") {
  const Space earlier = space_of(sizes + passes + three);
  analysis::SearchRun run = all_simulated(earlier);
  run.objective = {.kind = analysis::Objective::Kind::tokens_a_day};
  CHECK(reuse(run, earlier).empty());
  check_reused(earlier, space_of(sizes + "forward_times: 2 ms\nbackward_times: 2 ms\n" + three), 0);
  CHECK(reuse(all_simulated(earlier), space_of(sizes + passes + three + "search: {memory: 40 GiB}"))
            .empty());
  const Space unruled = space_of(sizes + passes + three + "search: {rules: off}");
  CHECK(reuse(all_simulated(earlier), unruled).empty());
  CHECK(reuse(all_simulated(unruled), earlier).empty());
  check_reused(unruled, unruled, 24);
  check_reused(earlier, space_of(sizes + passes + three + "search: {rules: on}"), 24);
}

TEST_CASE("a shard reuses the rows of its own part", "[search][reuse]") {
  const Space earlier = space_of(sizes + passes + three);
  std::size_t reused = 0;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    const Space part = space_of(sizes + passes + three + "search: {shard: " + shard + "}");
    const std::vector<CandidateRow> rows = reuse(all_simulated(earlier), part);
    for (const CandidateRow& row : rows) CHECK(part.is_of_shard(row.candidate / part.schedules()));
    reused += rows.size();
  }
  CHECK(reused == 24);
}

TEST_CASE("a few known rows are reused in a sweep of very many combinations", "[search][reuse]") {
  const Space earlier = space_of(sizes + passes + "p2p: [eager, blocking]\nschedule: 1f1b");
  const Space later = space_of(huge_sweep("{constraints: [iterations < 9]}"));
  const std::vector<CandidateRow> rows = reuse(all_simulated(earlier), later);
  REQUIRE(rows.size() == 12);
  for (const CandidateRow& row : rows)
    CHECK(scenario_of(later, row.candidate) ==
          scenario_of(earlier, static_cast<std::uint64_t>(row.time_s)));
}

TEST_CASE("bounds are reused as rough ones, and failures not at all", "[search][reuse]") {
  const Space space = space_of("devices: [2, 4, 8]\nmicrobatches: 8\n" + passes);
  analysis::SearchRun run = all_simulated(space);
  run.rows[0].outcome = Outcome::failed;
  run.rows[1].outcome = Outcome::bounded_away;
  const std::vector<CandidateRow> rows = reuse(run, space);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].candidate == 1);
  CHECK(rows[0].outcome == Outcome::open);
  CHECK(rows[0].basis == analysis::Basis::passes);
  CHECK(rows[1].outcome == Outcome::simulated);
}

}  // namespace pipewright::search::test
