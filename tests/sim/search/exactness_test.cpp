// What a search proves of real sweeps, against simulating all of their candidates.

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

// Those with a whole catalog of schedules are larger.
constexpr std::uint32_t most_candidates = 9;
constexpr std::uint32_t most_of_catalog = 40;
constexpr int most_draws = 400;  // until a sweep has candidates, and no more than these

// A sweep on its cluster, whose section `search` may still grow.
class Placed {
 public:
  explicit Placed(RandomSweep sweep)
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

// A sweep none of whose candidates can be is refused as it is read.
bool is_small(const Placed& placed) {
  const std::uint32_t most = placed.sweep().text.find("schedule: auto") == std::string::npos
                                 ? most_candidates
                                 : most_of_catalog;
  try {
    std::uint64_t all = 0;
    placed.space().for_each_layout([&](std::uint64_t, std::span<const std::uint32_t> schedules) {
      all += schedules.size();
      return all <= most;
    });
    return all > 0 && all <= most;
  } catch (const config::Error&) {
    return false;
  }
}

// The first scenario that can be read: of others, values do not go together.
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

// What some candidate just holds, so that it decides who fits.
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

// Of throughput, what some candidate just reaches.
std::string objective(Random& random, const std::vector<CandidateRow>& all) {
  switch (random.whole(0, 5)) {
    case 0:
      return "objective: mfu";
    case 1:
      return "objective: {time_to_train: 1B tokens}";
    case 2:
      return "objective: {price: 2.5, tokens: 1B}";
    case 3: {
      const CandidateRow& one = all[random.whole(0, std::uint32_t(all.size() - 1))];
      if (one.outcome != Outcome::simulated) return "objective: memory";
      return fmt::format("objective: {{memory: {} tokens/s}}", throughput(one));
    }
    default:
      return "objective: throughput";
  }
}

std::string differences(const tests::Found& searched, const tests::Found& sorted) {
  const auto shown = [](const tests::Found& found) {
    const auto number = [](std::optional<std::uint64_t> of) {
      return of ? std::to_string(*of) : "none";
    };
    return fmt::format("best {}, runner-up {}, fronts {}", number(found.best),
                       number(found.runner_up), found.fronts);
  };
  if (searched == sorted) return {};
  return fmt::format("searched: {}\nsorted: {}\n", shown(searched), shown(sorted));
}

// A sweep of a seed, searched and worked out by brute force, as JSON.
std::string compare(std::uint32_t seed) {
  Random random(seed);
  for (int draw = 0; draw < most_draws; ++draw) {
    Placed placed(tests::random_sweep(random, seed));
    if (!is_small(placed)) continue;
    const std::optional<config::Scenario> first = first_of(placed.space());
    if (!first) continue;
    if (random.whole(0, 2) == 0) placed.add(memory_limit(random, placed.space(), *first));
    const search::Space unaimed = placed.space();
    evaluation::Evaluator evaluator(*first, unaimed.sweep().memory.value_or(0));
    const std::vector<CandidateRow> all = tests::simulate_all(unaimed, evaluator);
    placed.add(objective(random, all));
    const search::Space space = placed.space();
    std::string faults = tests::faults_of_bounds(space, evaluator, all);

    const search::Aim aim{.exhaustive = false, .front = random.whole(0, 3) > 0};
    tests::ForkedWorkers workers(space, random.whole(1, 2));
    const analysis::SearchRun run =
        search::run_search(space, workers, {.facts = placed.facts(), .aim = aim}, {});
    faults += tests::faults_of_rows(run, all);
    tests::Found sorted = tests::sorted_out(run, all);
    if (!aim.front)
      for (auto& front : sorted.fronts) front.clear();
    faults += differences(tests::found_in(run, aim.front), sorted);
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

// Each space in a process of its own, a part of them in each case.
TEMPLATE_TEST_CASE_SIG("a search of a random space finds what simulating all of it does",
                       "[exactness]", ((int part), part), 0, 1, 2, 3) {
  constexpr std::uint32_t spaces = 125;
  std::vector<process::Body> bodies;
  for (std::uint32_t i = 0; i < spaces; ++i)
    bodies.emplace_back([i] { return compare(1 + i + spaces * part); });
  std::map<std::string, int> met;
  int could_be = 0;
  int simulated = 0;
  process::run_all(
      bodies, 1, [](std::size_t) {},
      [&](std::size_t i, const process::Result& result) {
        CAPTURE(1 + i + spaces * part, result.text);
        CHECK_FALSE(result.failed);
        if (result.failed) return;
        const auto found = nlohmann::json::parse(result.text);
        INFO(found["text"].get<std::string>() << '\n' << found["faults"].get<std::string>());
        CHECK(found["faults"].get<std::string>().empty());
        could_be += found["could be"].get<int>();
        simulated += found["simulated"].get<int>();
        if (found["could be"] > 0)
          for (const auto& trait : found["traits"]) ++met[trait.get<std::string>()];
      });
  for (const std::string_view trait : tests::trait_names()) {
    CAPTURE(trait);
    CHECK(met[std::string(trait)] >= 1);
  }
  // Bounds keep many away, and there is something to keep away.
  CHECK(could_be > 3 * int(spaces));
  CHECK(simulated < could_be * 3 / 4);
}
