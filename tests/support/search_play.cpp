#include "support/search_play.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>

#include <catch2/catch.hpp>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/front.hpp"

namespace pipewright::tests {

using analysis::CandidateRow;
using analysis::Outcome;
using search::Coordinator;
using search::Task;

constexpr std::size_t batch = 16;

search::Candidates candidates_of(const SearchWorld& world, std::set<std::uint64_t> known) {
  auto next = std::make_shared<std::uint64_t>(0);
  return {.total = world.simulated.size(),
          .is_counted = world.is_counted,
          .next =
              [&world, next, known](auto /*promising*/) {
                std::vector<std::uint64_t> numbers;
                for (; *next < world.simulated.size() && numbers.size() < batch; ++*next)
                  if (!known.contains(*next)) numbers.push_back(*next);
                return numbers;
              },
          .group = [&world](std::uint64_t candidate) { return world.simulated[candidate].group; }};
}

namespace {

class Play {
 public:
  Play(const SearchWorld& world, const Crowd& crowd, Random& random, search::Target target,
       std::size_t max_steps)
      : world_(world), crowd_(crowd), random_(random), max_steps_(max_steps) {
    played_.run.groups.resize(world.groups);
    played_.run.objective = world.objective;
    Coordinator coordinator(played_.run, candidates_of(world), target);
    go(coordinator);
    coordinator.conclude();
  }
  SimulatedSearch take() { return std::move(played_); }

 private:
  struct Event {
    double at;
    std::size_t worker;
    bool dies;
    Task task;
    bool operator<(const Event& rhs) const {
      return std::tie(rhs.at, rhs.worker) < std::tie(at, worker);
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
      answer.rows.push_back(task.kind == Task::Kind::assess ? world_.assessed(i, task.basis)
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
    for (std::size_t step = 0; !coordinator.is_done() && step < max_steps_; ++step) {
      while (!idle.empty()) {
        const std::optional<Task> task = coordinator.next(idle.back(), now);
        if (!task) break;
        if (task->kind == Task::Kind::simulate) ++played_.given_to_simulate[task->candidates[0]];
        // Each task is slow at most once: if it is handed out again, it takes the normal time.
        const bool unlucky = random_.real(0, 1) < crowd_.slowness;
        const bool slow = assigned_.insert(task->id).second && unlucky;
        const double takes = slow ? 1e6 : random_.real(0.5, 1.5);
        events.push({now + takes, idle.back(), dies_of(*task), *task});
        idle.pop_back();
      }
      // If there is no task for idle workers now, they ask again after 5 s.
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
        coordinator.lose_worker(event.worker, "it died");
      else
        REQUIRE(coordinator.take_answer(event.worker, answer(event.task), now));
      REQUIRE_FALSE(coordinator.is_busy(event.worker));
      idle.push_back(event.worker);
      note_final(coordinator);
    }
    played_.seconds = now;
  }

  const SearchWorld& world_;
  Crowd crowd_;
  Random& random_;
  std::set<std::uint64_t> assigned_;  // Tasks.
  std::size_t max_steps_;
  SimulatedSearch played_;
};

}  // namespace

SimulatedSearch play(const SearchWorld& world, const Crowd& crowd, Random& random,
                     search::Target target, std::size_t max_steps) {
  return Play(world, crowd, random, target, max_steps).take();
}

std::size_t count(const analysis::SearchRun& run, Outcome outcome) {
  return static_cast<std::size_t>(std::ranges::count(run.rows, outcome, &CandidateRow::outcome));
}

std::vector<std::uint64_t> answers(const analysis::SearchRun& run, bool fronts) {
  std::vector<std::uint64_t> numbers;
  const std::vector<std::size_t> ranked = analysis::ranking(run);
  if (!ranked.empty()) {
    const CandidateRow& best = run.rows[ranked[0]];
    if (std::isfinite(analysis::cost(run.objective, best.work, best.time_s, best.peak_bytes)))
      numbers.push_back(best.candidate);
  }
  if (const auto second = analysis::runner_up(run, analysis::find(run)))
    numbers.push_back(run.rows[second->worse].candidate);
  for (std::uint32_t group = 0; fronts && group < run.groups.size(); ++group)
    for (const std::size_t row : analysis::pareto_front(run, group))
      numbers.push_back(run.rows[row].candidate);
  return numbers;
}

}  // namespace pipewright::tests
