#include "sim/search/coordinator.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <tuple>

#include <catch2/catch.hpp>

#include "analysis/search/front.hpp"
#include "support/search_world.hpp"

using namespace pipewright;
using analysis::CandidateRow;
using analysis::Fate;
using search::Aim;
using search::Coordinator;
using search::Task;
using tests::Random;
using tests::SearchWorld;

namespace {

constexpr std::size_t batch = 16;

search::Candidates candidates_of(const SearchWorld& world, std::set<std::uint64_t> known = {}) {
  auto next = std::make_shared<std::uint64_t>(0);
  return {.total = world.simulated.size(),
          .next =
              [&world, next, known] {
                std::vector<std::uint64_t> numbers;
                for (; *next < world.simulated.size() && numbers.size() < batch; ++*next)
                  if (!known.contains(*next)) numbers.push_back(*next);
                return numbers;
              },
          .group = [&world](std::uint64_t candidate) { return world.simulated[candidate].group; }};
}

// Workers that live in virtual time.
struct Crowd {
  std::size_t workers = 1;
  double death = 0;     // of a worker, for no reason of the task's
  double slowness = 0;  // chance of a task to take very long
};

struct Played {
  analysis::SearchRun run;
  std::vector<CandidateRow> final;  // in the order in which they were told
  std::map<std::uint64_t, int> given_to_simulate;
  double seconds = 0;
};

class Play {
 public:
  Play(const SearchWorld& world, const Crowd& crowd, Random& random, Aim aim,
       std::size_t most_steps)
      : world_(world), crowd_(crowd), random_(random), most_steps_(most_steps) {
    played_.run.groups.resize(world.groups);
    played_.run.objective = world.objective;
    Coordinator coordinator(played_.run, candidates_of(world), aim);
    go(coordinator);
    coordinator.conclude();
    note_final(coordinator);
  }
  Played take() { return std::move(played_); }

 private:
  struct Event {
    double at;
    std::size_t worker;
    bool dies;
    Task task;
    bool operator<(const Event& other) const {
      return std::tie(other.at, other.worker) < std::tie(at, worker);
    }
  };

  bool dies_of(const Task& task) {
    const std::vector<bool>& deadly =
        task.kind == Task::Kind::assess ? world_.deadly_to_assess : world_.deadly;
    return random_.real(0, 1) < crowd_.death ||
           std::ranges::any_of(task.candidates, [&](std::uint64_t i) { return deadly[i]; });
  }

  search::Answer answer(const Task& task) const {
    search::Answer answer{.id = task.id, .rows = {}};
    for (const std::uint64_t i : task.candidates)
      answer.rows.push_back(task.kind == Task::Kind::assess ? world_.assessed(i)
                                                            : world_.simulated[i]);
    return answer;
  }

  void note_final(Coordinator& coordinator) {
    for (CandidateRow& row : coordinator.take_final()) played_.final.push_back(std::move(row));
  }

  void go(Coordinator& coordinator) {
    std::vector<std::size_t> idle;
    for (std::size_t i = 0; i < crowd_.workers; ++i) idle.push_back(i);
    std::priority_queue<Event> events;
    double now = 0;
    for (std::size_t step = 0; !coordinator.is_done() && step < most_steps_; ++step) {
      while (!idle.empty()) {
        const std::optional<Task> task = coordinator.next(idle.back(), now);
        if (!task) break;
        if (task->kind == Task::Kind::simulate) ++played_.given_to_simulate[task->candidates[0]];
        const bool slow = random_.real(0, 1) < crowd_.slowness;
        const double takes = slow ? 1e6 : random_.real(0.5, 1.5);
        events.push({now + takes, idle.back(), dies_of(*task), *task});
        idle.pop_back();
      }
      // Who is idle asks again before long.
      constexpr double look_again = 5;
      if (events.empty() || (!idle.empty() && events.top().at > now + look_again)) {
        now += look_again;
        REQUIRE(now < 1e9);
        continue;
      }
      const Event event = events.top();
      events.pop();
      now = event.at;
      if (event.dies)
        coordinator.lost(event.worker, "it died");
      else
        REQUIRE(coordinator.answered(event.worker, answer(event.task), now));
      REQUIRE_FALSE(coordinator.is_busy(event.worker));
      idle.push_back(event.worker);
      note_final(coordinator);
    }
    played_.seconds = now;
  }

  const SearchWorld& world_;
  Crowd crowd_;
  Random& random_;
  std::size_t most_steps_;
  Played played_;
};

Played play(const SearchWorld& world, const Crowd& crowd, Random& random, Aim aim = {},
            std::size_t most_steps = ~std::size_t{0}) {
  return Play(world, crowd, random, aim, most_steps).take();
}

std::size_t count(const analysis::SearchRun& run, Fate fate) {
  return static_cast<std::size_t>(std::ranges::count(run.rows, fate, &CandidateRow::fate));
}

// By number: the best if there is one, and the fronts.
std::vector<std::uint64_t> answers(const analysis::SearchRun& run, bool fronts = true) {
  std::vector<std::uint64_t> numbers;
  const std::vector<std::size_t> ranked = analysis::ranking(run);
  if (!ranked.empty()) {
    const CandidateRow& best = run.rows[ranked[0]];
    if (std::isfinite(analysis::cost(run.objective, best.work, best.time_s, best.peak_bytes)))
      numbers.push_back(best.candidate);
  }
  for (std::uint32_t group = 0; fronts && group < run.groups.size(); ++group)
    for (const std::size_t row : analysis::pareto_front(run, group))
      numbers.push_back(run.rows[row].candidate);
  return numbers;
}

void check_each_has_one_fate(const SearchWorld& world, const Played& played) {
  REQUIRE(played.run.rows.size() == world.simulated.size());
  REQUIRE(played.final.size() == world.simulated.size());
  for (std::size_t i = 0; i < played.run.rows.size(); ++i) {
    CHECK(played.run.rows[i].candidate == i);
    CHECK(played.run.rows[i].fate != Fate::open);
  }
  std::set<std::uint64_t> told;
  for (const CandidateRow& row : played.final) {
    CHECK(told.insert(row.candidate).second);
    CHECK(row.fate == played.run.rows[row.candidate].fate);
  }
}

}  // namespace

TEST_CASE("a search finds what simulating everything finds, whoever works", "[coordinator]") {
  Random random(1);
  std::size_t simulated = 0;
  std::size_t feasible = 0;
  for (int round = 0; round < 300; ++round) {
    const SearchWorld world = tests::random_world(random, random.whole(0, 200));
    const std::vector<std::uint64_t> expected = answers(tests::everything(world));
    for (const std::size_t workers : {std::size_t{1}, std::size_t{3}, std::size_t{40}}) {
      const Played played = play(world, {.workers = workers}, random);
      check_each_has_one_fate(world, played);
      REQUIRE(answers(played.run) == expected);
      CHECK(played.run.finished);
      CHECK(played.run.gap == 0);
      for (const auto& [candidate, times] : played.given_to_simulate) CHECK(times == 1);
      if (workers == 1) simulated += count(played.run, Fate::simulated);
    }
    feasible += count(tests::everything(world), Fate::simulated);
  }
  // Bounds are loose here, and fronts long: still most are never simulated.
  CHECK(simulated < feasible / 2);
}

TEST_CASE("the best alone takes fewer simulations than the fronts as well", "[coordinator]") {
  Random random(2);
  std::size_t best_alone = 0;
  std::size_t with_fronts = 0;
  for (int round = 0; round < 100; ++round) {
    const SearchWorld world = tests::random_world(random, 150);
    const Played alone = play(world, {}, random, {.front = false});
    CHECK(answers(alone.run, false) == answers(tests::everything(world), false));
    CHECK(alone.run.finished);
    best_alone += count(alone.run, Fate::simulated);
    with_fronts += count(play(world, {}, random).run, Fate::simulated);
  }
  CHECK(best_alone < with_fronts);
}

TEST_CASE("an exhaustive search simulates all that fits", "[coordinator]") {
  Random random(3);
  const SearchWorld world = tests::random_world(random, 200);
  const Played played = play(world, {.workers = 5}, random, {.exhaustive = true});
  check_each_has_one_fate(world, played);
  CHECK(played.run.exhaustive);
  CHECK(count(played.run, Fate::bounded_away) == 0);
  CHECK(count(played.run, Fate::simulated) == count(tests::everything(world), Fate::simulated));
}

TEST_CASE("bounds that are exact leave nothing to simulate but the best", "[coordinator]") {
  Random random(4);
  SearchWorld world = tests::random_world(random, 100);
  world.objective = {};
  for (CandidateRow& row : world.simulated) {
    if (row.fate == Fate::simulated) row.time_s = row.bound_s = 10 + double(row.candidate);
    row.work.gpus = 8;
  }
  const Played played = play(world, {}, random, {.front = false});
  CHECK(count(played.run, Fate::simulated) == 1);
  CHECK(answers(played.run, false) == answers(tests::everything(world), false));
}

TEST_CASE("candidates that kill their workers fail, and are the only ones", "[coordinator]") {
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    SearchWorld world = tests::random_world(random, 120);
    for (std::size_t i = 0; i < world.simulated.size(); ++i) {
      world.deadly[i] = random.whole(0, 9) == 0;
      world.deadly_to_assess[i] = random.whole(0, 29) == 0;
    }
    const Played played = play(world, {.workers = 4}, random, {.exhaustive = true});
    check_each_has_one_fate(world, played);
    CHECK(answers(played.run) == answers(tests::everything(world)));
    for (const CandidateRow& row : played.run.rows) {
      const bool dies =
          world.deadly_to_assess[row.candidate] ||
          (world.deadly[row.candidate] && world.simulated[row.candidate].fate == Fate::simulated);
      CHECK((row.fate == Fate::failed) == dies);
      if (row.fate == Fate::failed) CHECK(row.note == "its worker was lost: it died");
    }
    for (const auto& [candidate, times] : played.given_to_simulate)
      CHECK(times == (world.deadly[candidate] ? 2 : 1));
  }
}

TEST_CASE("workers that die for no reason cost time, and at the worst a candidate",
          "[coordinator]") {
  Random random(6);
  for (int round = 0; round < 100; ++round) {
    SearchWorld world = tests::random_world(random, 120);
    const Played played = play(world, {.workers = 6, .death = 0.2}, random);
    check_each_has_one_fate(world, played);
    for (const CandidateRow& row : played.run.rows)
      if (row.fate == Fate::failed) world.deadly[row.candidate] = true;
    CHECK(answers(played.run) == answers(tests::everything(world)));
    for (const auto& [candidate, times] : played.given_to_simulate) CHECK(times <= 2);
  }
}

TEST_CASE("what failed keeps what was known of it before", "[coordinator]") {
  Random random(7);
  SearchWorld world = tests::random_world(random, 50);
  world.deadly.assign(50, true);
  const Played played = play(world, {}, random, {.exhaustive = true});
  for (const CandidateRow& row : played.run.rows) {
    if (row.fate != Fate::failed) continue;
    CHECK(row.bound_s == world.simulated[row.candidate].bound_s);
    CHECK(row.peak_bytes == world.simulated[row.candidate].peak_bytes);
    CHECK(row.time_s == 0);
  }
  CHECK(count(played.run, Fate::failed) > 30);
}

TEST_CASE("nobody waits for a slow worker where another is idle", "[coordinator]") {
  Random random(8);
  for (int round = 0; round < 50; ++round) {
    const SearchWorld world = tests::random_world(random, 150);
    const Played played = play(world, {.workers = 8, .slowness = 0.02}, random);
    check_each_has_one_fate(world, played);
    CHECK(answers(played.run) == answers(tests::everything(world)));
    CHECK(played.seconds < 1e6);
    for (const auto& [candidate, times] : played.given_to_simulate) CHECK(times <= 2);
  }
}

TEST_CASE("a search that is stopped says how much better others may be", "[coordinator]") {
  Random random(9);
  for (int round = 0; round < 300; ++round) {
    const SearchWorld world = tests::random_world(random, 120);
    const analysis::SearchRun all = tests::everything(world);
    const Played played = play(world, {.workers = 3}, random, {}, random.whole(0, 60));
    const analysis::SearchRun& run = played.run;
    CHECK(std::ranges::is_sorted(run.rows, {}, &CandidateRow::candidate));
    if (run.finished) continue;
    CHECK(count(run, Fate::bounded_away) == 0);
    const std::vector<std::uint64_t> best = answers(run, false);
    if (best.empty() || run.rows.size() < world.simulated.size()) {
      CHECK(run.gap == 1);
      continue;
    }
    const auto cost = [&](const CandidateRow& row) {
      return analysis::cost(run.objective, row.work, row.time_s, row.peak_bytes);
    };
    const double found = cost(world.simulated[best[0]]);
    const double possible = cost(world.simulated[answers(all, false)[0]]);
    CHECK(possible >= found * (1 - run.gap) * (1 - 1e-9));
    CHECK(run.gap >= 0);
    CHECK(run.gap < 1);
  }
}

TEST_CASE("a search goes on with earlier rows, and does none of them again", "[coordinator]") {
  Random random(10);
  for (int round = 0; round < 100; ++round) {
    const SearchWorld world = tests::random_world(random, 120);
    const Played first = play(world, {.workers = 3}, random, {}, random.whole(0, 80));

    Played second;
    second.run = first.run;
    std::set<std::uint64_t> known;
    for (const CandidateRow& row : first.run.rows) known.insert(row.candidate);
    Coordinator coordinator(second.run, candidates_of(world, known), {});
    double now = 0;
    while (const std::optional<Task> task = coordinator.next(0, now)) {
      search::Answer answer{.id = task->id, .rows = {}};
      for (const std::uint64_t i : task->candidates) {
        const bool assess = task->kind == Task::Kind::assess;
        CHECK_FALSE((assess && known.contains(i)));
        answer.rows.push_back(assess ? world.assessed(i) : world.simulated[i]);
      }
      REQUIRE(coordinator.answered(0, answer, now += 1));
    }
    REQUIRE(coordinator.is_done());
    coordinator.conclude();
    CHECK(answers(second.run) == answers(tests::everything(world)));
    // Those that are told as final now were not before, but for bounds that are drawn anew.
    for (const CandidateRow& row : coordinator.take_final())
      for (const CandidateRow& before : first.final)
        if (before.candidate == row.candidate) CHECK(before.fate == Fate::bounded_away);
  }
}

TEST_CASE("an answer to another question is none", "[coordinator]") {
  Random random(11);
  SearchWorld world = tests::random_world(random, 3);
  for (CandidateRow& row : world.simulated) {
    row.fate = Fate::simulated;
    row.time_s = row.bound_s = 1;
  }
  analysis::SearchRun run;
  run.groups.resize(world.groups);
  Coordinator coordinator(run, candidates_of(world), {});
  const std::optional<Task> task = coordinator.next(7, 0);
  REQUIRE(task);
  search::Answer answer{.id = task->id, .rows = {}};
  for (const std::uint64_t i : task->candidates) answer.rows.push_back(world.assessed(i));

  search::Answer wrong = answer;
  SECTION("too few rows") { wrong.rows.pop_back(); }
  SECTION("another candidate") { wrong.rows[0].candidate = 2; }
  SECTION("another group") { wrong.rows[0].group = 99; }
  SECTION("a time that was not asked for") { wrong.rows[0].fate = Fate::simulated; }
  SECTION("a bound that is no number") { wrong.rows[0].bound_s = std::nan(""); }
  CHECK_FALSE(coordinator.answered(7, wrong, 1));
  CHECK(coordinator.is_busy(7));

  // Nor is that of a worker who was taken for lost.
  coordinator.lost(7, "it was silent");
  CHECK_FALSE(coordinator.answered(7, answer, 2));
  CHECK(run.rows.empty());
  const std::optional<Task> again = coordinator.next(8, 3);
  REQUIRE(again);
  CHECK(again->candidates == task->candidates);
  answer.id = again->id;
  CHECK(coordinator.answered(8, answer, 4));
  CHECK(run.rows.size() == 3);
}

TEST_CASE("a bound that is above a time is told as a gap", "[coordinator]") {
  Random random(12);
  SearchWorld world = tests::random_world(random, 20);
  world.objective = {};
  for (CandidateRow& row : world.simulated) {
    row.fate = Fate::simulated;
    row.work = {.gpus = 8, .samples = 4, .tokens = 100};
    row.bound_s = 1 + double(row.candidate);
    row.time_s = row.bound_s / 1.25;
  }
  CHECK(play(world, {}, random).run.gap == Approx(0.2));
}
