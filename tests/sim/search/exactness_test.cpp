// Tests that searches of randomly drawn sweeps give the same results as simulating all of their
// candidates.

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/process/run.hpp"
#include "sim/search/search.hpp"
#include "support/brute_force.hpp"
#include "support/forked_workers.hpp"
#include "support/random_sweep.hpp"
#include "tests/sim/config/support.hpp"

using namespace pipewright;
using analysis::CandidateRow;
using analysis::Outcome;
using tests::Random;
using tests::RandomSweep;

namespace {

constexpr std::uint32_t max_candidates = 9;
constexpr std::uint32_t max_candidates_of_catalog = 40;  // with a whole catalog of schedules
constexpr int max_draws = 400;  // attempts to draw a sweep with few candidates

// A sweep and the platform file of its cluster. Tests can add entries to the section `search`.
class PlacedSweep {
 public:
  explicit PlacedSweep(RandomSweep sweep)
      : sweep_(std::move(sweep)), file_(folder_.write("cluster.xml", sweep_.platform)) {}

  std::string text() const {
    return fmt::format("cluster: {}\n{}search: {{{}}}\n", file_, sweep_.text,
                       fmt::join(sweep_.search, ", "));
  }
  search::Space space() const {
    return {search::read_sweep(config::read_yaml_text(text(), "sweep.yaml")), facts()};
  }
  std::vector<search::ClusterFacts> facts() const {
    return {{file_, sweep_.gpus, sweep_.gpus_per_node, sweep_.gpu, std::uint64_t{80} << 30U}};
  }
  void add(const std::string& entry) { sweep_.search.push_back(entry); }
  const RandomSweep& sweep() const { return sweep_; }

 private:
  config::test::Folder folder_;
  RandomSweep sweep_;
  std::string file_;
};

// Returns true if a sweep is valid and has at least one candidate, but few enough to simulate all
// of them.
bool is_small(const PlacedSweep& placed) {
  const std::uint32_t limit = placed.sweep().text.find("schedule: auto") == std::string::npos
                                  ? max_candidates
                                  : max_candidates_of_catalog;
  try {
    std::uint64_t count = 0;
    placed.space().for_each_layout([&](std::uint64_t, std::span<const std::uint32_t> schedules) {
      count += schedules.size();
      return count <= limit;
    });
    return count > 0 && count <= limit;
  } catch (const config::Error&) {
    return false;
  }
}

// Returns the scenario of the first valid combination of a space, if any.
std::optional<config::Scenario> first_of(const search::Space& space) {
  std::optional<config::Scenario> first;
  space.for_each_layout([&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
    try {
      first =
          config::read_scenario(space.candidate(layout * space.schedules() + schedules.front()));
    } catch (const config::Error&) {
      return true;
    }
    return false;
  });
  return first;
}

double throughput(const CandidateRow& row) { return row.work.tokens / row.time_s; }

// Returns a memory limit equal to the peak of some candidate, so that the limit separates
// candidates that fit from others.
std::string memory_limit(Random& random, const search::Space& space,
                         const config::Scenario& first) {
  evaluation::Evaluator evaluator(first, 0);
  std::vector<std::uint64_t> peaks;
  space.for_each_layout([&](std::uint64_t layout, std::span<const std::uint32_t> schedules) {
    for (const CandidateRow& row : evaluator.assess(space.layout(layout, schedules)))
      if (row.peak_bytes > 0) peaks.push_back(row.peak_bytes);
    return true;
  });
  if (peaks.empty()) return "memory: 80 GiB";
  return fmt::format("memory: {}", peaks[random.whole(0, std::uint32_t(peaks.size() - 1))]);
}

// Returns a random objective. If it needs a throughput, this is the throughput of some candidate.
std::string objective(Random& random, const std::vector<CandidateRow>& all) {
  switch (random.whole(0, 5)) {
    case 0:
      return "objective: mfu";
    case 1:
      return "objective: {time_to_train: 1B tokens}";
    case 2:
      return "objective: {price: 2.5, tokens: 1B}";
    case 3: {
      const CandidateRow& row = all[random.whole(0, std::uint32_t(all.size() - 1))];
      if (row.outcome != Outcome::simulated) return "objective: memory";
      return fmt::format("objective: {{memory: {} tokens/s}}", throughput(row));
    }
    default:
      return "objective: throughput";
  }
}

std::string differences(const tests::BestCandidates& searched,
                        const tests::BestCandidates& sorted) {
  const auto shown = [](const tests::BestCandidates& result) {
    const auto number = [](std::optional<std::uint64_t> candidate) {
      return candidate ? std::to_string(*candidate) : "none";
    };
    return fmt::format("best {}, runner-up {}, fronts {}", number(result.best),
                       number(result.runner_up), result.fronts);
  };
  if (searched == sorted) return {};
  return fmt::format("searched: {}\nsorted: {}\n", shown(searched), shown(sorted));
}

// Draws a sweep, searches it and simulates all of its candidates. Returns the differences between
// both as JSON.
std::string compare(std::uint32_t seed) {
  Random random(seed);
  for (int draw = 0; draw < max_draws; ++draw) {
    PlacedSweep placed(tests::random_sweep(random, seed));
    if (!is_small(placed)) continue;
    const std::optional<config::Scenario> first = first_of(placed.space());
    if (!first) continue;
    if (random.whole(0, 2) == 0) placed.add(memory_limit(random, placed.space(), *first));
    const search::Space without_objective = placed.space();
    evaluation::Evaluator evaluator(*first, without_objective.sweep().memory.value_or(0));
    const std::vector<CandidateRow> all = tests::simulate_all(without_objective, evaluator);
    placed.add(objective(random, all));
    const search::Space space = placed.space();
    std::string faults = tests::faults_of_bounds(space, evaluator, all);

    const search::Target target{.exhaustive = false, .front = random.whole(0, 3) > 0};
    tests::ForkedWorkers workers(space, random.whole(1, 2));
    const analysis::SearchRun run =
        search::run_search(space, workers, {.facts = placed.facts(), .target = target}, {});
    faults += tests::faults_of_rows(run, all);
    tests::BestCandidates sorted = tests::best_by_simulation(run, all);
    if (!target.front)
      for (auto& front : sorted.fronts) front.clear();
    faults += differences(tests::reported_best(run, target.front), sorted);
    return nlohmann::json{
        {"faults", faults},
        {"text", placed.text()},
        {"traits", placed.sweep().traits},
        {"candidates", all.size()},
        {"could be", std::ranges::count(all, Outcome::simulated, &CandidateRow::outcome)},
        {"simulated", std::ranges::count(run.rows, Outcome::simulated, &CandidateRow::outcome)}}
        .dump();
  }
  throw std::logic_error("no sweep of this seed has candidates");
}

}  // namespace

// The spaces are divided among four test cases, and each is searched in a child process.
TEMPLATE_TEST_CASE_SIG("a search of a random space finds what simulating all of it does",
                       "[exactness]", ((int part), part), 0, 1, 2, 3) {
  constexpr std::uint32_t spaces = 125;
  std::vector<process::Body> bodies;
  for (std::uint32_t i = 0; i < spaces; ++i)
    bodies.emplace_back([i] { return compare(1 + i + spaces * part); });
  std::map<std::string, int> count_of_trait;
  int could_be = 0;
  int simulated = 0;
  process::run_all(
      bodies, 1, [](std::size_t) {},
      [&](std::size_t i, const process::Result& result) {
        CAPTURE(1 + i + spaces * part, result.text);
        CHECK_FALSE(result.failed);
        if (result.failed) return;
        const auto report = nlohmann::json::parse(result.text);
        INFO(report["text"].get<std::string>() << '\n' << report["faults"].get<std::string>());
        CHECK(report["faults"].get<std::string>().empty());
        could_be += report["could be"].get<int>();
        simulated += report["simulated"].get<int>();
        if (report["could be"] > 0)
          for (const auto& trait : report["traits"]) ++count_of_trait[trait.get<std::string>()];
      });
  for (const std::string_view trait : tests::trait_names()) {
    CAPTURE(trait);
    CHECK(count_of_trait[std::string(trait)] >= 1);
  }
  // Checks that the spaces have enough candidates that their stacks accept, and that bounds saved
  // at least a fifth of the simulations.
  CHECK(could_be > 3 * int(spaces) / 2);
  CHECK(simulated < could_be * 4 / 5);
}
