#include "sim/search/coordinator.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <catch2/catch.hpp>

#include "analysis/report/search/front.hpp"
#include "analysis/report/search/row_json.hpp"
#include "support/search_play.hpp"

using namespace pipewright;
using analysis::Basis;
using analysis::CandidateRow;
using analysis::Outcome;
using search::Coordinator;
using search::Task;
using tests::answers;
using tests::candidates_of;
using tests::count;
using tests::play;
using tests::Random;
using tests::SearchWorld;
using tests::SimulatedSearch;

namespace {

void check_each_has_one_outcome(const SearchWorld& world, const SimulatedSearch& played) {
  REQUIRE(played.run.rows.size() == world.simulated.size());
  REQUIRE(played.final.size() + count(played.run, Outcome::bounded_away) == world.simulated.size());
  for (std::size_t i = 0; i < played.run.rows.size(); ++i) {
    CHECK(played.run.rows[i].candidate == i);
    CHECK(played.run.rows[i].outcome != Outcome::open);
  }
  std::set<std::uint64_t> reported;
  for (const CandidateRow& row : played.final) {
    CHECK(reported.insert(row.candidate).second);
    CHECK(row.outcome == played.run.rows[row.candidate].outcome);
  }
}

}  // namespace

TEST_CASE("a search with any number of workers finds what simulating everything finds",
          "[coordinator]") {
  Random random(1);
  std::size_t simulated = 0;
  std::size_t feasible = 0;
  for (int round = 0; round < 300; ++round) {
    const SearchWorld world = tests::random_world(random, random.whole(0, 200));
    const std::vector<std::uint64_t> expected = answers(tests::exhaustive_search(world));
    for (const std::size_t workers : {std::size_t{1}, std::size_t{3}, std::size_t{40}}) {
      const SimulatedSearch played = play(world, {.workers = workers}, random);
      check_each_has_one_outcome(world, played);
      REQUIRE(answers(played.run) == expected);
      CHECK(played.run.finished);
      CHECK(played.run.gap == 0);
      for (const auto& [candidate, times] : played.given_to_simulate) CHECK(times == 1);
      if (workers == 1) simulated += count(played.run, Outcome::simulated);
    }
    feasible += count(tests::exhaustive_search(world), Outcome::simulated);
  }
  // Although bounds are loose and Pareto fronts are long in these worlds, fewer than half of the
  // feasible candidates are simulated.
  CHECK(simulated < feasible / 2);
}

TEST_CASE("a single worker simulates the same candidates of a small sweep however fast it is",
          "[coordinator]") {
  Random random(11);
  for (int round = 0; round < 100; ++round) {
    SearchWorld world = tests::random_world(random, random.whole(0, 256));
    world.is_counted = true;
    const SimulatedSearch first = play(world, {}, random);
    const SimulatedSearch second = play(world, {.slowness = 0.3}, random);
    CHECK(first.given_to_simulate == second.given_to_simulate);
  }
}

TEST_CASE("proving the best takes fewer simulations than proving the fronts, too",
          "[coordinator]") {
  Random random(2);
  std::size_t best_alone = 0;
  std::size_t with_fronts = 0;
  for (int round = 0; round < 100; ++round) {
    const SearchWorld world = tests::random_world(random, 150);
    const SimulatedSearch alone = play(world, {}, random, {.front = false});
    CHECK(answers(alone.run, false) == answers(tests::exhaustive_search(world), false));
    CHECK(alone.run.finished);
    best_alone += count(alone.run, Outcome::simulated);
    with_fronts += count(play(world, {}, random).run, Outcome::simulated);
  }
  CHECK(best_alone < with_fronts);
}

TEST_CASE("an exhaustive search simulates every candidate that fits", "[coordinator]") {
  Random random(3);
  const SearchWorld world = tests::random_world(random, 200);
  const SimulatedSearch played = play(world, {.workers = 5}, random, {.exhaustive = true});
  check_each_has_one_outcome(world, played);
  CHECK(played.run.exhaustive);
  CHECK(count(played.run, Outcome::bounded_away) == 0);
  CHECK(count(played.run, Outcome::simulated) ==
        count(tests::exhaustive_search(world), Outcome::simulated));
}

TEST_CASE("with exact bounds only the best two candidates are simulated", "[coordinator]") {
  Random random(4);
  SearchWorld world = tests::random_world(random, 100);
  world.objective = {};
  for (CandidateRow& row : world.simulated) {
    if (row.outcome == Outcome::simulated) row.time_s = row.bound_s = 10 + double(row.candidate);
    row.work.gpus = 8;
  }
  const SimulatedSearch played = play(world, {}, random, {.front = false});
  CHECK(count(played.run, Outcome::simulated) == 2);
  CHECK(answers(played.run, false) == answers(tests::exhaustive_search(world), false));
}

TEST_CASE("exactly the candidates that kill their workers fail", "[coordinator]") {
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    SearchWorld world = tests::random_world(random, 120);
    for (std::size_t i = 0; i < world.simulated.size(); ++i) {
      world.deadly[i] = random.whole(0, 9) == 0;
      world.deadly_to_assess[i] = random.whole(0, 29) == 0;
    }
    const SimulatedSearch played = play(world, {.workers = 4}, random, {.exhaustive = true});
    check_each_has_one_outcome(world, played);
    CHECK(answers(played.run) == answers(tests::exhaustive_search(world)));
    for (const CandidateRow& row : played.run.rows) {
      const bool dies = world.deadly_to_assess[row.candidate] ||
                        (world.deadly[row.candidate] &&
                         world.simulated[row.candidate].outcome == Outcome::simulated);
      CHECK((row.outcome == Outcome::failed) == dies);
      if (row.outcome == Outcome::failed)
        CHECK(row.note == "the worker that evaluated it was lost: it died");
    }
    for (const auto& [candidate, times] : played.given_to_simulate)
      CHECK(times == (world.deadly[candidate] ? 2 : 1));
  }
}

TEST_CASE("workers that die at random cost time and at worst a candidate", "[coordinator]") {
  Random random(6);
  for (int round = 0; round < 100; ++round) {
    SearchWorld world = tests::random_world(random, 120);
    const SimulatedSearch played = play(world, {.workers = 6, .death = 0.2}, random);
    check_each_has_one_outcome(world, played);
    for (const CandidateRow& row : played.run.rows)
      if (row.outcome == Outcome::failed) world.deadly[row.candidate] = true;
    CHECK(answers(played.run) == answers(tests::exhaustive_search(world)));
    for (const auto& [candidate, times] : played.given_to_simulate) CHECK(times <= 2);
  }
}

TEST_CASE("a failed candidate keeps its bound and its memory", "[coordinator]") {
  Random random(7);
  SearchWorld world = tests::random_world(random, 50);
  world.deadly.assign(50, true);
  const SimulatedSearch played = play(world, {}, random, {.exhaustive = true});
  for (const CandidateRow& row : played.run.rows) {
    if (row.outcome != Outcome::failed) continue;
    CHECK(row.bound_s == world.simulated[row.candidate].bound_s);
    CHECK(row.peak_bytes == world.simulated[row.candidate].peak_bytes);
    CHECK(row.time_s == 0);
  }
  CHECK(count(played.run, Outcome::failed) > 30);
}

TEST_CASE("an idle worker takes over the task of a slow one", "[coordinator]") {
  Random random(8);
  for (int round = 0; round < 50; ++round) {
    const SearchWorld world = tests::random_world(random, 150);
    const SimulatedSearch played = play(world, {.workers = 8, .slowness = 0.02}, random);
    check_each_has_one_outcome(world, played);
    CHECK(answers(played.run) == answers(tests::exhaustive_search(world)));
    CHECK(played.seconds < 1e6);
    for (const auto& [candidate, times] : played.given_to_simulate) CHECK(times <= 2);
  }
}

TEST_CASE("a search that is stopped bounds how much better other candidates can be",
          "[coordinator]") {
  Random random(9);
  for (int round = 0; round < 300; ++round) {
    const SearchWorld world = tests::random_world(random, 120);
    const analysis::SearchRun all = tests::exhaustive_search(world);
    const SimulatedSearch played = play(world, {.workers = 3}, random, {}, random.whole(0, 60));
    const analysis::SearchRun& run = played.run;
    CHECK(std::ranges::is_sorted(run.rows, {}, &CandidateRow::candidate));
    if (run.finished) continue;
    CHECK(count(run, Outcome::bounded_away) == 0);
    const std::vector<std::uint64_t> best = answers(run, false);
    if (best.empty() || run.rows.size() < world.simulated.size()) {
      CHECK(run.gap == 1);
      continue;
    }
    const auto cost = [&](const CandidateRow& row) {
      return analysis::cost(run.objective, row.work, row.time_s, row.peak_bytes);
    };
    const double best_cost = cost(world.simulated[best[0]]);
    const double possible = cost(world.simulated[answers(all, false)[0]]);
    CHECK(possible >= best_cost * (1 - run.gap) * (1 - 1e-9));
    CHECK(run.gap >= 0);
    CHECK((run.gap < 1 || !world.is_counted));
  }
}

TEST_CASE("a search continues with earlier rows and repeats none of them", "[coordinator]") {
  Random random(10);
  for (int round = 0; round < 100; ++round) {
    const SearchWorld world = tests::random_world(random, 120);
    const SimulatedSearch first = play(world, {.workers = 3}, random, {}, random.whole(0, 80));

    SimulatedSearch second;
    second.run = first.run;
    std::set<std::uint64_t> known_candidates;
    for (const CandidateRow& row : first.run.rows) known_candidates.insert(row.candidate);
    Coordinator coordinator(second.run, candidates_of(world, known_candidates), {});
    double now = 0;
    while (const std::optional<Task> task = coordinator.next(0, now)) {
      search::Answer answer{.id = task->id, .rows = {}};
      for (const std::uint64_t i : task->candidates) {
        const bool assess = task->kind == Task::Kind::assess;
        const bool is_new = assess && task->basis == analysis::Basis::passes;
        CHECK_FALSE((is_new && known_candidates.contains(i)));
        answer.rows.push_back(assess ? world.assessed(i, task->basis) : world.simulated[i]);
      }
      REQUIRE(coordinator.take_answer(0, answer, now += 1));
    }
    REQUIRE(coordinator.is_done());
    coordinator.conclude();
    CHECK(answers(second.run) == answers(tests::exhaustive_search(world)));
    // No row is reported as final that was already final before the interruption.
    for (const CandidateRow& row : coordinator.take_final())
      for (const CandidateRow& before : first.final) CHECK(before.candidate != row.candidate);
  }
}

TEST_CASE("an answer that does not fit the task is refused", "[coordinator]") {
  Random random(11);
  SearchWorld world = tests::random_world(random, 3);
  for (CandidateRow& row : world.simulated) {
    row.outcome = Outcome::simulated;
    row.time_s = row.bound_s = 1;
  }
  analysis::SearchRun run;
  run.groups.resize(world.groups);
  Coordinator coordinator(run, candidates_of(world), {});
  const std::optional<Task> task = coordinator.next(7, 0);
  REQUIRE(task);
  search::Answer answer{.id = task->id, .rows = {}};
  for (const std::uint64_t i : task->candidates)
    answer.rows.push_back(world.assessed(i, task->basis));

  search::Answer wrong = answer;
  SECTION("too few rows") { wrong.rows.pop_back(); }
  SECTION("another candidate") { wrong.rows[0].candidate = 2; }
  SECTION("another group") { wrong.rows[0].group = 99; }
  SECTION("a time instead of a bound") { wrong.rows[0].outcome = Outcome::simulated; }
  SECTION("a bound that is not a number") { wrong.rows[0].bound_s = std::nan(""); }
  CHECK_FALSE(coordinator.take_answer(7, wrong, 1));
  CHECK(coordinator.is_busy(7));

  // An answer is also refused if it comes from a worker that was declared lost.
  coordinator.lose_worker(7, "it was silent");
  CHECK_FALSE(coordinator.take_answer(7, answer, 2));
  CHECK(run.rows.empty());
  const std::optional<Task> again = coordinator.next(8, 3);
  REQUIRE(again);
  CHECK(again->candidates == task->candidates);
  answer.id = again->id;
  CHECK(coordinator.take_answer(8, answer, 4));
  CHECK(run.rows.size() == 3);
}

TEST_CASE("a bound above its time is reported as a gap", "[coordinator]") {
  Random random(12);
  SearchWorld world = tests::random_world(random, 20);
  world.objective = {};
  for (CandidateRow& row : world.simulated) {
    row.outcome = Outcome::simulated;
    row.work = {.gpus = 8, .samples = 4, .tokens = 100};
    row.bound_s = 1 + double(row.candidate);
    row.time_s = row.bound_s / 1.25;
  }
  CHECK(play(world, {}, random).run.gap == Approx(0.2));
}

TEST_CASE("a candidate keeps the reason why it is illegal, in whatever step that is found out",
          "[coordinator]") {
  Random random(13);
  SearchWorld world = tests::random_world(random, 1);
  world.objective = {};
  CandidateRow& row = world.simulated[0];
  row.outcome = Outcome::simulated;
  row.work = {.gpus = 8, .samples = 4, .tokens = 100};
  row.time_s = row.bound_s = 1;
  const CandidateRow illegal{.candidate = row.candidate,
                             .group = row.group,
                             .outcome = Outcome::illegal,
                             .note = "two would shard a stage"};
  const auto found_out_at = GENERATE(std::optional(Basis::passes), std::optional(Basis::network),
                                     std::optional(Basis::order), std::optional<Basis>());
  analysis::SearchRun run;
  run.groups.resize(world.groups);
  Coordinator coordinator(run, candidates_of(world), {});
  while (const std::optional<Task> task = coordinator.next(0, 0)) {
    CandidateRow answer = world.simulated[0];
    answer.outcome = task->kind == Task::Kind::assess ? Outcome::open : Outcome::simulated;
    answer.basis = task->basis;
    const bool is_now = found_out_at
                            ? task->kind == Task::Kind::assess && task->basis == *found_out_at
                            : task->kind == Task::Kind::simulate;
    REQUIRE(coordinator.take_answer(0, {.id = task->id, .rows = {is_now ? illegal : answer}}, 0));
  }
  coordinator.conclude();
  REQUIRE(run.rows.size() == 1);
  CHECK(analysis::to_json_line(run.rows[0]) == analysis::to_json_line(illegal));
  CHECK(run.finished);
  CHECK(run.gap == 0);
  REQUIRE(coordinator.take_final().size() == 1);
}

// A space that is too large to list has two legal candidates. Simulating the first takes a minute.
TEST_CASE("a first simulation takes no longer than the search has lasted", "[coordinator]") {
  constexpr double minute = 1.2e7;  // activities
  const auto row = [](const Task& task, std::uint64_t candidate) {
    CandidateRow answer{.candidate = candidate, .work = {.gpus = 8, .samples = 4, .tokens = 100}};
    answer.bound_s = 1 + double(candidate);
    answer.basis = task.basis;
    answer.activities = candidate == 0 ? minute : 1000;
    if (task.kind == Task::Kind::assess) {
      answer.outcome = candidate < 2 ? Outcome::open : Outcome::illegal;
    } else {
      answer.outcome = Outcome::simulated;
      answer.time_s = answer.bound_s;
    }
    return answer;
  };
  std::uint64_t next_candidate = 0;
  analysis::SearchRun run;
  run.groups.resize(1);
  Coordinator coordinator(run,
                          {.total = 1000,
                           .is_counted = false,
                           .next =
                               [&](auto) {
                                 return std::vector{next_candidate++, next_candidate++};
                               },
                           .group = [](std::uint64_t) { return 0U; }},
                          {.front = false});
  std::vector<std::pair<std::uint64_t, double>> simulated;
  for (double now = 0; now < 200; now += 0.25) {
    const std::optional<Task> task = coordinator.next(0, now);
    REQUIRE(task);
    if (task->kind == Task::Kind::simulate) simulated.emplace_back(task->candidates[0], now);
    std::vector<CandidateRow> rows;
    for (const std::uint64_t candidate : task->candidates) rows.push_back(row(*task, candidate));
    REQUIRE(coordinator.take_answer(0, {.id = task->id, .rows = rows}, now + 0.1));
  }
  REQUIRE(simulated.size() == 2);
  CHECK(simulated[0].first == 1);
  CHECK(simulated[0].second < 5);
  CHECK(simulated[1].first == 0);
  CHECK(simulated[1].second > 60);
}
